"""A program whose pipes the event loop itself reads and writes, on any system that asyncio knows."""

import asyncio
from collections.abc import Callable, Mapping
from typing import Any, Protocol, cast

import anyio
import anyio.abc
import anyio.lowlevel

from mcp_pdb.errors import EngineError

KILL_SECONDS = 5.0
_HELD_BYTES = 1 << 20
"""What a pipe takes in ahead of its reader; the program then waits, as it would for any reader."""
_POLL_SECONDS = 0.01


class Hold(Protocol):
    """What makes one program and all its descendants killable together."""

    def start_options(self) -> Mapping[str, Any]:
        """How ``subprocess.Popen`` must start the program, so that ``take`` comes in time."""
        ...

    def take(self, pid: int) -> None:
        """Take hold of the program, which has just started, and let it run. Raises OSError."""
        ...

    def kill(self) -> None:
        """Begin to kill the program and all its descendants; idempotent."""
        ...

    def is_empty(self) -> bool:
        """True when none of them is left."""
        ...

    def close(self) -> None:
        """Give back what the system lent; idempotent."""
        ...


class OutputPipe:
    """What arrives from one output of the program (meets ``mcp_pdb.output.OutputStream``)."""

    def __init__(self) -> None:
        self.transport: asyncio.ReadTransport | None = None
        self._held = bytearray()
        self._news = anyio.Event()
        self._has_ended = False
        self._is_closed = False
        self._is_paused = False

    def feed(self, data: bytes) -> None:
        """Take in what the event loop has read."""
        self._held += data
        if len(self._held) >= _HELD_BYTES and self.transport is not None:
            self.transport.pause_reading()
            self._is_paused = True
        self._news.set()

    def end(self) -> None:
        """Nothing more will come."""
        self._has_ended = True
        self._news.set()

    async def receive(self, max_bytes: int = 65536) -> bytes:
        """What has arrived, once something has. Raises EndOfStream, ClosedResourceError."""
        await anyio.lowlevel.checkpoint()
        while (data := self.receive_nowait(max_bytes)) is None:
            if self._news.is_set():
                self._news = anyio.Event()
            await self._news.wait()
        return data

    def receive_nowait(self, max_bytes: int = 65536) -> bytes | None:
        """What has arrived already, None for nothing. Raises EndOfStream, ClosedResourceError."""
        if self._is_closed:
            raise anyio.ClosedResourceError
        data = bytes(self._held[:max_bytes])
        del self._held[:max_bytes]
        if self._is_paused and self.transport is not None and len(self._held) < _HELD_BYTES:
            self._is_paused = False
            self.transport.resume_reading()
        if not data and self._has_ended:
            raise anyio.EndOfStream
        return data or None

    async def aclose(self) -> None:
        """Close; a waiting ``receive`` raises ClosedResourceError."""
        self.close()

    def close(self) -> None:
        """Like ``aclose``, where nothing can be awaited."""
        self._is_closed = True
        self._news.set()


class ProgramPipes(asyncio.SubprocessProtocol):
    """What the event loop reports of a program; ``transport`` is set once that has started."""

    transport: asyncio.SubprocessTransport

    def __init__(self) -> None:
        self.stdout = OutputPipe()
        self.stderr = OutputPipe()
        self.exited = anyio.Event()
        self.closed = anyio.Event()
        self.stdin_is_open = True
        self._writable = anyio.Event()
        self._writable.set()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """All pipes are connected."""
        self.transport = cast("asyncio.SubprocessTransport", transport)
        self.stdin.set_write_buffer_limits(0)
        self.stdout.transport = cast("asyncio.ReadTransport", self.transport.get_pipe_transport(1))
        self.stderr.transport = cast("asyncio.ReadTransport", self.transport.get_pipe_transport(2))

    @property
    def stdin(self) -> asyncio.WriteTransport:
        """Where the program reads from."""
        return cast("asyncio.WriteTransport", self.transport.get_pipe_transport(0))

    def pipe_data_received(self, fd: int, data: bytes) -> None:
        """The program has printed."""
        (self.stdout if fd == 1 else self.stderr).feed(data)

    def pipe_connection_lost(self, fd: int, exc: Exception | None) -> None:
        """One pipe has ended."""
        if fd == 0:
            self.stdin_is_open = False
            self._writable.set()
        else:
            (self.stdout if fd == 1 else self.stderr).end()

    def pause_writing(self) -> None:
        """The program reads slower than we write."""
        self._writable = anyio.Event()

    def resume_writing(self) -> None:
        """Everything written has gone out."""
        self._writable.set()

    async def drain(self) -> None:
        """Return once everything written has gone out, or can no longer."""
        await self._writable.wait()

    def process_exited(self) -> None:
        """The program has ended; others may hold its pipes."""
        self.exited.set()

    def connection_lost(self, exc: Exception | None) -> None:
        """The program and all its pipes have ended."""
        self.closed.set()


class PipedProcess:
    """A program in a hold (meets ``mcp_pdb.launcher.Process``)."""

    def __init__(self, pipes: ProgramPipes, hold: Hold) -> None:
        self.channel: anyio.abc.ByteStream | None = None
        self._transport = pipes.transport
        self._pipes = pipes
        self._hold = hold
        self._on_close: list[Callable[[PipedProcess], None]] = []

    @property
    def pid(self) -> int:
        """The program's process id."""
        return self._transport.get_pid()

    @property
    def stdout(self) -> OutputPipe:
        """The program's standard output."""
        return self._pipes.stdout

    @property
    def stderr(self) -> OutputPipe:
        """The program's standard error."""
        return self._pipes.stderr

    @property
    def returncode(self) -> int | None:
        """The exit status as soon as the event loop knows it; None before."""
        return self._transport.get_returncode()

    async def write_stdin(self, data: bytes) -> None:
        """Write all of ``data``. Raises EngineError when the program no longer reads."""
        if self._pipes.stdin_is_open:
            self._pipes.stdin.write(data)
            await self._pipes.drain()
        if not self._pipes.stdin_is_open:
            raise EngineError("The program has closed its standard input or has ended.")

    async def close_stdin(self) -> None:
        """Let the program see the end of its standard input; idempotent."""
        self._pipes.stdin_is_open = False
        self._pipes.stdin.close()

    async def wait(self) -> int:
        """The program's exit status, negative for a signal; its descendants may live on."""
        await self._pipes.exited.wait()
        status = self.returncode
        assert status is not None, "an exit was reported"
        return status

    def on_close(self, callback: "Callable[[PipedProcess], None]") -> None:
        """Call back once when the process is closed."""
        self._on_close.append(callback)

    def let_go(self) -> None:
        """Start a kill without waiting for its end."""
        self._hold.kill()

    async def kill(self) -> None:
        """Kill the program and every descendant; returns when none is left; idempotent."""
        with anyio.move_on_after(KILL_SECONDS, shield=True):
            self._hold.kill()
            await self.wait()
            while not self._hold.is_empty():  # noqa: ASYNC110 - no system tells when it is
                await anyio.sleep(_POLL_SECONDS)

    async def aclose(self) -> None:
        """Kill, and close all streams; idempotent."""
        await self.kill()
        self.stdout.close()
        self.stderr.close()
        self._transport.close()
        with anyio.move_on_after(KILL_SECONDS, shield=True):
            if self.channel is not None:
                await self.channel.aclose()
            await self._pipes.closed.wait()
        self._hold.close()
        while self._on_close:
            self._on_close.pop()(self)
