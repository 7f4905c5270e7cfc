"""MCP over the process's own pipes, read and written by the event loop itself.

About three times faster than the SDK's transport, which hops through threads
for every line, and able to end: signals and end-of-file close every session.
Windows lacks what this needs and has ``windows_stdio``; ``serve_pipes`` is both's.
While serving, descriptor 0 is the null device and 1 is standard error, so
that nothing a library prints can reach the protocol.
"""

import asyncio
import io
import os
import signal
import stat
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from types import TracebackType
from typing import Any, Protocol

import anyio
import mcp_types as types
from anyio.abc import TaskStatus
from mcp.server.lowlevel.server import Server
from mcp.server.runner import serve_dual_era_loop
from mcp.shared.message import SessionMessage

if sys.platform != "win32":
    import fcntl

LONGEST_MESSAGE_BYTES = 16 * 1024 * 1024


async def serve_stdio(server: Server[Any]) -> int:
    """Serve one client until it leaves, a signal comes or the parent is gone; the exit status."""
    received: list[int] = []
    async with anyio.create_task_group() as group:
        await group.start(_await_signal, group.cancel_scope, received)
        group.start_soon(_await_orphanhood, group.cancel_scope)
        async with open_pipes() as pipes, server.lifespan(server) as state:
            await serve_pipes(server, pipes, state)
        group.cancel_scope.cancel()
    return 128 + received[0] if received else 0


async def serve_pipes(server: Server[Any], pipes: "MessagePipes", state: object) -> None:
    """Serve connections over one pair of pipes, one after the other.

    A client that asks ``server/discover`` first and then falls back to
    ``initialize`` changes its protocol's era, which the SDK refuses within a
    connection: the handshake opens a second one on the same pipes.
    """
    while True:
        messages = Messages(pipes)
        await serve_dual_era_loop(
            server,
            messages,
            Answers(pipes),
            lifespan_state=state,
            init_options=server.create_initialization_options(),
        )
        if not messages.reopens:
            return


class MessagePipes(Protocol):
    """Whole messages in, whole messages out."""

    def unread(self, message: SessionMessage) -> None:
        """Deliver ``message`` again to whoever receives next."""
        ...

    async def receive(self) -> SessionMessage | Exception:
        """The next message, or what was wrong with it. Raises EndOfStream."""
        ...

    async def send(self, item: SessionMessage) -> None:
        """Write one message. Raises BrokenResourceError when the client is gone."""
        ...


class Pipes:
    """Whole lines in, whole lines out (meets ``MessagePipes``)."""

    def __init__(self, reader: asyncio.StreamReader, writer: "asyncio.StreamWriter | io.FileIO") -> None:
        self._reader = reader
        self._writer = writer
        self._unread: list[SessionMessage] = []

    def unread(self, message: SessionMessage) -> None:
        """Deliver ``message`` again to whoever receives next."""
        self._unread.append(message)

    async def receive(self) -> SessionMessage | Exception:
        """The next message, or what was wrong with it. Raises EndOfStream."""
        if self._unread:
            return self._unread.pop()
        while True:
            try:
                line = await self._reader.readline()
            except ValueError as error:
                return error
            except OSError:
                raise anyio.EndOfStream from None
            if not line:
                raise anyio.EndOfStream
            if line.isspace():
                continue
            try:
                return SessionMessage(types.jsonrpc_message_adapter.validate_json(line, by_name=False))
            except ValueError as error:
                return error

    async def send(self, item: SessionMessage) -> None:
        """Write one message. Raises BrokenResourceError when the client is gone."""
        text = item.message.model_dump_json(by_alias=True, exclude_unset=True)
        try:
            self._writer.write(text.encode() + b"\n")
            if isinstance(self._writer, asyncio.StreamWriter):
                await self._writer.drain()
        except OSError:
            raise anyio.BrokenResourceError from None


class Messages:
    """What the client sends within one era of the protocol (the SDK's ``ReadStream``)."""

    def __init__(self, pipes: MessagePipes) -> None:
        self._pipes = pipes
        self._has_request = False
        self.reopens = False
        """True when it ended because the client began a handshake after other requests."""

    async def receive(self) -> SessionMessage | Exception:
        """The next message of this era. Raises EndOfStream."""
        message = await self._pipes.receive()
        if isinstance(message, SessionMessage) and isinstance(message.message, types.JSONRPCRequest):
            if self._has_request and message.message.method == "initialize":
                self._pipes.unread(message)
                self.reopens = True
                raise anyio.EndOfStream
            self._has_request = True
        return message

    async def aclose(self) -> None:
        """The pipes outlive an era."""

    def __aiter__(self) -> "Messages":
        return self

    async def __anext__(self) -> SessionMessage | Exception:
        try:
            return await self.receive()
        except anyio.EndOfStream:
            raise StopAsyncIteration from None

    async def __aenter__(self) -> "Messages":
        return self

    async def __aexit__(
        self,
        exc_type: type[BaseException] | None,
        exc_val: BaseException | None,
        exc_tb: TracebackType | None,
    ) -> None:
        await self.aclose()


class Answers:
    """What goes back to the client (the SDK's ``WriteStream``)."""

    def __init__(self, pipes: MessagePipes) -> None:
        self._pipes = pipes

    async def send(self, item: SessionMessage, /) -> None:
        """Write one message. Raises BrokenResourceError when the client is gone."""
        await self._pipes.send(item)

    async def aclose(self) -> None:
        """The pipes outlive an era."""

    async def __aenter__(self) -> "Answers":
        return self

    async def __aexit__(
        self,
        exc_type: type[BaseException] | None,
        exc_val: BaseException | None,
        exc_tb: TracebackType | None,
    ) -> None:
        await self.aclose()


@asynccontextmanager
async def open_pipes() -> AsyncGenerator[Pipes]:
    """The process's standard input and output, taken away from everybody else meanwhile."""
    incoming = _divert(0, os.open(os.devnull, os.O_RDONLY))
    outgoing = _divert(1, os.dup(2))
    reader, input_transport = await _open_reader(incoming)
    writer = await _open_writer(outgoing)
    try:
        yield Pipes(reader, writer)
    finally:
        if input_transport is not None:
            input_transport.close()
        writer.close()
        for descriptor in (0, 1, 2):
            os.set_blocking(descriptor, True)


def _divert(descriptor: int, replacement: int) -> int:
    """Point ``descriptor`` elsewhere; a private duplicate of what it was."""
    private = fcntl.fcntl(descriptor, fcntl.F_DUPFD_CLOEXEC, 3)
    os.dup2(replacement, descriptor)
    os.close(replacement)
    return private


async def _open_reader(descriptor: int) -> tuple[asyncio.StreamReader, asyncio.ReadTransport | None]:
    reader = asyncio.StreamReader(limit=LONGEST_MESSAGE_BYTES)
    if _is_plain_file(descriptor):
        with open(descriptor, "rb") as file:  # noqa: ASYNC230 - a plain file never blocks for long
            reader.feed_data(file.read())
        reader.feed_eof()
        return reader, None
    loop = asyncio.get_running_loop()
    pipe = os.fdopen(descriptor, "rb", buffering=0)
    transport, _ = await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), pipe)
    return reader, transport


async def _open_writer(descriptor: int) -> asyncio.StreamWriter | io.FileIO:
    if _is_plain_file(descriptor):
        return io.FileIO(descriptor, "wb")
    loop = asyncio.get_running_loop()
    pipe = os.fdopen(descriptor, "wb", buffering=0)
    transport, protocol = await loop.connect_write_pipe(asyncio.streams.FlowControlMixin, pipe)
    return asyncio.StreamWriter(transport, protocol, None, loop)


def _is_plain_file(descriptor: int) -> bool:
    """True for what an event loop cannot watch: files and the null device."""
    mode = os.fstat(descriptor).st_mode
    return stat.S_ISREG(mode) or (stat.S_ISCHR(mode) and not os.isatty(descriptor))


async def _await_signal(
    scope: anyio.CancelScope, received: list[int], *, task_status: TaskStatus[None]
) -> None:
    with anyio.open_signal_receiver(signal.SIGTERM, signal.SIGINT, signal.SIGHUP) as signals:
        task_status.started()
        async for number in signals:
            if received:
                os._exit(128 + number)
            received.append(number)
            scope.cancel()


async def _await_orphanhood(scope: anyio.CancelScope) -> None:
    """End with the parent, which may die while somebody else holds our input open."""
    if sys.platform != "linux":
        return
    try:
        parent = os.pidfd_open(os.getppid())
    except OSError:
        return
    try:
        await anyio.wait_readable(parent)
    finally:
        os.close(parent)
    sys.stderr.write("mcp-pdb: the client is gone\n")
    scope.cancel()
