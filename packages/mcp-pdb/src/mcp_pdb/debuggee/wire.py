"""Length-delimited JSON over a stream socket.

A message is four bytes, the length of its body in big-endian order, and the
body: one JSON object in ASCII. Requests carry ``id`` and ``method``, answers
``id`` and ``result`` or ``error``, events ``event``.
"""

from __future__ import annotations

import errno
import json
import os
import struct
from _thread import allocate_lock

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

MAX_BYTES = 64 * 1024 * 1024
_HEADER = struct.Struct(">I")
_DESCRIPTOR_GONE = (errno.EBADF, errno.ENOTSOCK)


class ChannelClosed(Exception):
    """The other side is gone."""


def encode(message: dict[str, Any]) -> bytes:
    """The bytes of one message."""
    body = json.dumps(message, separators=(",", ":")).encode("ascii")
    return _HEADER.pack(len(body)) + body


class Decoder:
    """Turns bytes in any chunking into messages."""

    def __init__(self) -> None:
        self._buffer = bytearray()

    def feed(self, data: bytes) -> list[dict[str, Any]]:
        """The messages completed by ``data``; raises ValueError on a length over the limit."""
        self._buffer += data
        messages: list[dict[str, Any]] = []
        while len(self._buffer) >= _HEADER.size:
            (length,) = _HEADER.unpack_from(self._buffer)
            if length > MAX_BYTES:
                raise ValueError("a message of %d bytes is over the limit" % length)
            end = _HEADER.size + length
            if len(self._buffer) < end:
                break
            messages.append(json.loads(bytes(self._buffer[_HEADER.size : end])))
            del self._buffer[:end]
        return messages


class Channel:
    """The debuggee's blocking end; any thread may send."""

    def __init__(self, sock):
        self._socket = sock
        self.is_lost = False
        """True once the program has closed our descriptor, as daemons close all they can."""
        self._lock = allocate_lock()
        self._decoder = Decoder()
        self._ready = []

    def send(self, message):
        """Send one message; the other side being gone is not an error here, its end will kill us."""
        data = encode(message)
        with self._lock:
            try:
                self._socket.sendall(data)
            except OSError as error:
                self.is_lost = error.errno in _DESCRIPTOR_GONE

    def receive(self):
        """The next message. Raises ChannelClosed at the end."""
        while not self._ready:
            data = self._socket.recv(65536)
            if not data:
                raise ChannelClosed
            self._ready = self._decoder.feed(data)
        return self._ready.pop(0)

    def close(self):
        """Close this process's end."""
        self._socket.close()


def open_socket(place):
    """The socket to the server: an inherited one by its number, or a connection to an address."""
    if ":" in place:
        from . import loopback  # only where descriptors cannot be inherited

        return loopback.connect(place)
    from socket import socket  # only in the program: the server has streams of its own

    os.set_inheritable(int(place), False)
    return socket(fileno=int(place))
