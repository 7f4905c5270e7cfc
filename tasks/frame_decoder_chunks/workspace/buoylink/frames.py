"""Frames: found in a stream of chunks, checked, and made."""

from collections.abc import Iterator

from buoylink.stuffing import END, IDLE, START, Unstuffer, stuff

MARKERS = frozenset({START, END, IDLE})
LONGEST_CONTENT = 255


def checksum(body: bytes) -> int:
    """The byte that closes a body."""
    return sum(body) % 256


def make_frame(body: bytes) -> bytes:
    """The body as a frame, ready for the line."""
    return bytes([START]) + stuff(body + bytes([checksum(body)])) + bytes([END])


def split_at_markers(chunk: bytes) -> Iterator[tuple[bytes, int | None]]:
    """The runs of a chunk, each with the marker that ends it; None for the last."""
    begin = 0
    for index, byte in enumerate(chunk):
        if byte in MARKERS:
            yield chunk[begin:index], byte
            begin = index + 1
    yield chunk[begin:], None


class FrameReader:
    """Finds the frames in a stream that comes in chunks."""

    def __init__(self) -> None:
        self.damaged = 0
        self._unstuffer = Unstuffer()
        self._content: bytearray | None = None

    def feed(self, chunk: bytes) -> list[bytes]:
        """The bodies of the frames that the chunk completes."""
        bodies: list[bytes] = []
        for run, marker in split_at_markers(chunk):
            if self._content is not None:
                self._content += self._unstuffer.take(run)
                self._give_up_if_too_long()
            if marker == START:
                self._begin()
            elif marker == END:
                bodies.extend(self._finish())
        return bodies

    def _begin(self) -> None:
        if self._content is not None:
            self.damaged += 1
        self._content = bytearray()
        self._unstuffer.reset()

    def _give_up_if_too_long(self) -> None:
        if self._content is not None and len(self._content) > LONGEST_CONTENT:
            self.damaged += 1
            self._content = None

    def _finish(self) -> list[bytes]:
        content, self._content = self._content, None
        if content is None:
            return []
        if not content or content[-1] != checksum(content[:-1]):
            self.damaged += 1
            return []
        return [bytes(content[:-1])]
