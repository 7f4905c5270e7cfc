"""anyio byte streams over non-blocking pipes and sockets, without tasks or threads of their own."""

import os
import socket

import anyio
import anyio.abc
import anyio.lowlevel

RECEIVE_BYTES = 65536


class PipeReader(anyio.abc.ByteReceiveStream):
    """The reading end of a pipe; it owns the descriptor."""

    def __init__(self, descriptor: int) -> None:
        os.set_blocking(descriptor, False)
        self._descriptor = descriptor

    async def receive(self, max_bytes: int = RECEIVE_BYTES) -> bytes:
        """What has arrived, once something has. Raises EndOfStream, ClosedResourceError."""
        while True:
            self._check_open()
            await anyio.wait_readable(self._descriptor)
            data = self.receive_nowait(max_bytes)
            if data is not None:
                return data

    def receive_nowait(self, max_bytes: int = RECEIVE_BYTES) -> bytes | None:
        """What has arrived already, None for nothing. Raises EndOfStream, ClosedResourceError."""
        self._check_open()
        try:
            data = os.read(self._descriptor, max_bytes)
        except BlockingIOError:
            return None
        if not data:
            raise anyio.EndOfStream
        return data

    async def aclose(self) -> None:
        """Close; a waiting ``receive`` raises ClosedResourceError."""
        self.close()

    def close(self) -> None:
        """Like ``aclose``, where nothing can be awaited."""
        if self._descriptor >= 0:
            descriptor, self._descriptor = self._descriptor, -1
            close_descriptor(descriptor)

    def _check_open(self) -> None:
        if self._descriptor < 0:
            raise anyio.ClosedResourceError


class PipeWriter(anyio.abc.ByteSendStream):
    """The writing end of a pipe; it owns the descriptor. A cancelled ``send`` may have sent a part."""

    def __init__(self, descriptor: int) -> None:
        os.set_blocking(descriptor, False)
        self._descriptor = descriptor

    async def send(self, item: bytes) -> None:
        """Send all of ``item``. Raises BrokenResourceError, ClosedResourceError."""
        if self._descriptor < 0:
            raise anyio.ClosedResourceError
        try:
            await write_all(self._descriptor, item)
        except ConnectionError as error:
            raise anyio.BrokenResourceError from error

    async def aclose(self) -> None:
        """Close; a waiting ``send`` raises ClosedResourceError."""
        self.close()

    def close(self) -> None:
        """Like ``aclose``, where nothing can be awaited."""
        if self._descriptor >= 0:
            descriptor, self._descriptor = self._descriptor, -1
            close_descriptor(descriptor)


class SocketStream(anyio.abc.ByteStream):
    """One end of a stream socket; it owns the socket. A cancelled ``send`` may have sent a part."""

    def __init__(self, connection: socket.socket) -> None:
        connection.setblocking(False)
        self._connection = connection

    async def receive(self, max_bytes: int = RECEIVE_BYTES) -> bytes:
        """What has arrived, once something has. Raises EndOfStream, ClosedResourceError."""
        while True:
            self._check_open()
            await anyio.wait_readable(self._connection)
            self._check_open()
            try:
                data = self._connection.recv(max_bytes)
            except BlockingIOError:
                continue
            except ConnectionError:
                data = b""
            if not data:
                raise anyio.EndOfStream
            return data

    async def send(self, item: bytes) -> None:
        """Send all of ``item``. Raises BrokenResourceError, ClosedResourceError."""
        self._check_open()
        try:
            await write_all(self._connection.fileno(), item)
        except ConnectionError as error:
            raise anyio.BrokenResourceError from error

    async def send_eof(self) -> None:
        """Let the other end see the end of what we send."""
        self._check_open()
        self._connection.shutdown(socket.SHUT_WR)

    async def aclose(self) -> None:
        """Close; a waiting ``receive`` raises ClosedResourceError."""
        self.close()

    def close(self) -> None:
        """Like ``aclose``, where nothing can be awaited."""
        if self._connection.fileno() >= 0:
            close_descriptor(self._connection.detach())

    def _check_open(self) -> None:
        if self._connection.fileno() < 0:
            raise anyio.ClosedResourceError


async def write_all(descriptor: int, data: bytes) -> None:
    """Write all of ``data`` to a non-blocking descriptor. Raises ConnectionError."""
    await anyio.lowlevel.checkpoint_if_cancelled()
    rest = memoryview(data)
    while rest := rest[_write_now(descriptor, rest) :]:
        await anyio.wait_writable(descriptor)


def _write_now(descriptor: int, data: memoryview) -> int:
    try:
        return os.write(descriptor, data)
    except BlockingIOError:
        return 0


def close_descriptor(descriptor: int) -> None:
    """Close a descriptor, waking whoever waits for it."""
    anyio.notify_closing(descriptor)
    os.close(descriptor)
