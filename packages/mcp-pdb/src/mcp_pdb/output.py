"""What the program prints: the newest part of it, in order of arrival, behind absolute cursors."""

import codecs
from collections import deque
from typing import Protocol

import anyio

CAPACITY_CHARS = 256 * 1024
_COLLECT_BYTES = 1 << 20
_READ_BYTES = 65536
_PIECE_CHARS = 4096
"""Shorter pieces are joined, so that a program which prints single characters costs little."""
_LINE_SEARCH_CHARS = 200


class OutputStream(Protocol):
    """A byte stream that can also be asked for what has arrived already."""

    async def receive(self, max_bytes: int = ...) -> bytes:
        """What has arrived, once something has. Raises anyio's EndOfStream, ClosedResourceError."""
        ...

    def receive_nowait(self, max_bytes: int = ...) -> bytes | None:
        """What has arrived already, None for nothing. Raises like ``receive``."""
        ...

    async def aclose(self) -> None:
        """Close; a waiting ``receive`` raises ClosedResourceError."""
        ...


class OutputBuffer:
    """The last ``capacity_chars`` characters of a program's output.

    A cursor counts characters from the program's first one. Run one ``pump``
    per stream in a task group; ``take`` also fetches what the program wrote
    just now, so that an answer holds all that was printed before a stop.
    """

    def __init__(self, capacity_chars: int = CAPACITY_CHARS) -> None:
        self._capacity_chars = capacity_chars
        self._pieces: deque[str] = deque()
        self._start = 0
        self._end = 0
        self._taken = 0
        self._sources: list[_Source] = []

    @property
    def end(self) -> int:
        """The cursor after the last character so far."""
        return self._end

    def attach(self, *streams: OutputStream) -> None:
        """Make ``collect`` and ``take`` fetch from these streams too."""
        self._sources.extend(_Source(stream) for stream in streams)

    async def pump(self, stream: OutputStream) -> None:
        """Move ``stream`` into the buffer until it ends or is closed."""
        source = next((source for source in self._sources if source.stream is stream), None)
        if source is None:
            source = _Source(stream)
            self._sources.append(source)
        try:
            while True:
                self.feed(source.decode(await stream.receive(_READ_BYTES)))
        except (anyio.EndOfStream, anyio.ClosedResourceError):
            self._end_source(source)

    def collect(self) -> None:
        """Fetch what the streams hold at this moment, within a bound."""
        for source in tuple(self._sources):
            fetched = 0
            try:
                while fetched < _COLLECT_BYTES:
                    data = source.stream.receive_nowait(_READ_BYTES)
                    if data is None:
                        break
                    fetched += len(data)
                    self.feed(source.decode(data))
            except (anyio.EndOfStream, anyio.ClosedResourceError):
                self._end_source(source)

    def feed(self, text: str) -> None:
        """Append ``text`` and let the oldest characters go."""
        self._end += len(text)
        if self._pieces and len(self._pieces[-1]) < _PIECE_CHARS:
            text = self._pieces.pop() + text
        self._pieces.append(text[-self._capacity_chars :])
        self._start += len(text) - len(self._pieces[-1])
        while (surplus := self._end - self._start - self._capacity_chars) > 0:
            oldest = self._pieces.popleft()
            if len(oldest) > surplus:
                self._pieces.appendleft(oldest[surplus:])
            self._start += min(surplus, len(oldest))

    def take(self, cursor: int | None, limit_chars: int) -> tuple[str, int, int]:
        """Output as (text, next cursor, characters left out before the text).

        With ``cursor`` None: what came since the last such call, the newest
        ``limit_chars`` of it, cut at a line where that costs little. With a
        cursor: the first ``limit_chars`` from there on; characters that the
        buffer no longer holds count as left out.
        """
        self.collect()
        if cursor is None:
            begin = max(self._taken, self._start, self._end - limit_chars)
            text = self._slice(begin, self._end)
            if begin > self._taken and self._slice(begin - 1, begin) != "\n":
                text = _from_next_line(text)
            omitted = self._end - len(text) - self._taken
            self._taken = self._end
            return text, self._end, omitted
        cursor = min(max(cursor, 0), self._end)
        begin = max(cursor, self._start)
        text = self._slice(begin, min(begin + limit_chars, self._end))
        return text, begin + len(text), begin - cursor

    def _slice(self, begin: int, end: int) -> str:
        return "".join(self._pieces)[max(begin - self._start, 0) : end - self._start]

    def _end_source(self, source: "_Source") -> None:
        if source in self._sources:
            self._sources.remove(source)
            self.feed(source.finish())


class _Source:
    """A stream with the decoder that holds its unfinished character."""

    def __init__(self, stream: OutputStream) -> None:
        self.stream = stream
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")

    def decode(self, data: bytes) -> str:
        return self._decoder.decode(data)

    def finish(self) -> str:
        return self._decoder.decode(b"", final=True)


def _from_next_line(text: str) -> str:
    newline = text.find("\n", 0, _LINE_SEARCH_CHARS)
    return text[newline + 1 :] if 0 <= newline < len(text) - 1 else text
