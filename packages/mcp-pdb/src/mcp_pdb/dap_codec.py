"""The Debug Adapter Protocol's base layer: messages behind a Content-Length header. Pure."""

import json
from typing import Any

MAX_BODY_BYTES = 64 * 1024 * 1024
_SEPARATOR = b"\r\n\r\n"
_LENGTH = b"content-length"
_MAX_HEADER_BYTES = 4096

Message = dict[str, Any]


class DapFormatError(ValueError):
    """The bytes are not the Debug Adapter Protocol."""


def encode(message: Message) -> bytes:
    """The bytes of one message."""
    body = json.dumps(message, separators=(",", ":")).encode("utf-8")
    return b"Content-Length: %d\r\n\r\n" % len(body) + body


class Decoder:
    """Turns bytes in any chunking into messages."""

    def __init__(self) -> None:
        self._buffer = bytearray()
        self._body_bytes: int | None = None

    def feed(self, data: bytes) -> list[Message]:
        """The messages completed by ``data``. Raises DapFormatError."""
        self._buffer += data
        messages: list[Message] = []
        while (body := self._take_body()) is not None:
            messages.append(_parse(body))
        return messages

    def _take_body(self) -> bytes | None:
        if self._body_bytes is None:
            self._body_bytes = self._take_header()
        if self._body_bytes is None or len(self._buffer) < self._body_bytes:
            return None
        body = bytes(self._buffer[: self._body_bytes])
        del self._buffer[: self._body_bytes]
        self._body_bytes = None
        return body

    def _take_header(self) -> int | None:
        end = self._buffer.find(_SEPARATOR)
        if end < 0:
            if len(self._buffer) > _MAX_HEADER_BYTES:
                raise DapFormatError("a header without an end")
            return None
        header = bytes(self._buffer[:end])
        del self._buffer[: end + len(_SEPARATOR)]
        return _body_bytes(header)


def _body_bytes(header: bytes) -> int:
    for line in header.split(b"\r\n"):
        name, _, value = line.partition(b":")
        if name.strip().lower() == _LENGTH and value.strip().isdigit():
            length = int(value)
            if length > MAX_BODY_BYTES:
                raise DapFormatError(f"a message of {length} bytes is over the limit")
            return length
    raise DapFormatError("a header without Content-Length")


def _parse(body: bytes) -> Message:
    try:
        message = json.loads(body)
    except ValueError as error:
        raise DapFormatError("a body that is not JSON") from error
    if not isinstance(message, dict):
        raise DapFormatError("a body that is not an object")
    return message  # pyright: ignore[reportUnknownVariableType] - checked right above
