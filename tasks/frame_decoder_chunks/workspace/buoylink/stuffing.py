"""The bytes with a meaning on the line, and how a body goes around them."""

START = 0x02
END = 0x03
ESCAPE = 0x10
IDLE = 0x16

RESERVED = frozenset({START, END, ESCAPE, IDLE})
FLIPPED_BIT = 0x40


def stuff(plain: bytes) -> bytes:
    """The bytes as they go over the line, free of START, END and IDLE."""
    line = bytearray()
    for byte in plain:
        if byte in RESERVED:
            line.append(ESCAPE)
            line.append(byte ^ FLIPPED_BIT)
        else:
            line.append(byte)
    return bytes(line)


class Unstuffer:
    """Turns what came over the line into plain bytes again, run by run."""

    def __init__(self) -> None:
        self._escaped = False

    def reset(self) -> None:
        """Begin with another frame."""
        self._escaped = False

    def take(self, run: bytes) -> bytes:
        """The plain bytes of the next run of a frame."""
        plain = bytearray()
        escaped = self._escaped
        for byte in run:
            if escaped:
                plain.append(byte ^ FLIPPED_BIT)
                escaped = False
            elif byte == ESCAPE:
                escaped = True
            else:
                plain.append(byte)
        self._escaped = run[-1:] == bytes([ESCAPE])
        return bytes(plain)
