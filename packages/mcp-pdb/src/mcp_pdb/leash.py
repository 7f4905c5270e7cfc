"""The server's side of the reaper: leases, and the process at the other end of one."""

import errno
import json
import logging
import os
import socket
import struct
import subprocess
import sys
from collections.abc import Callable, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TypedDict, cast

import anyio

from mcp_pdb.descriptor_streams import PipeReader, PipeWriter, SocketStream, write_all
from mcp_pdb.errors import EngineError, UnsupportedError

KILL_SECONDS = 5.0
"""How long a kill is waited for: a little longer than a keeper tries."""
REAPER_SCRIPT = Path(__file__).with_name("reaper.py")
_RECEIVE_BYTES = 4096
_LENGTH = struct.Struct("!I")
_log = logging.getLogger(__name__)


class KeeperMessage(TypedDict, total=False):
    """What a keeper says; one key each time, see ``mcp_pdb.reaper``."""

    pid: int
    failed: tuple[int, str]
    exited: int
    left: list[int]


class ReaperLine:
    """Our end of the connection to a reaper, whoever started it."""

    def __init__(self, control: socket.socket) -> None:
        control.setblocking(False)
        self._control = control

    async def lease(self, stack: ExitStack) -> "Lease":
        """A fresh lease, held by ``stack``, with a keeper at its other end."""
        connection, theirs = socket.socketpair()
        stack.enter_context(connection)
        connection.setblocking(False)
        with theirs:
            while not self._send(theirs.fileno()):
                await anyio.wait_writable(self._control)
        return Lease(connection)

    def _send(self, descriptor: int) -> bool:
        """Hand a descriptor over; False when the queue is full. A reaper that died shows on the lease."""
        try:
            socket.send_fds(self._control, [b"+"], [descriptor])
        except BlockingIOError:
            return False
        except OSError as error:
            if not isinstance(error, ConnectionError) and error.errno != errno.EBADF:
                raise
        return True

    async def let_go(self) -> None:
        """Tell the reaper to kill all it holds, wait for its end and close; idempotent."""
        if self._control.fileno() < 0:
            return
        with anyio.move_on_after(KILL_SECONDS, shield=True), suppress(OSError):
            self._control.shutdown(socket.SHUT_WR)
            await anyio.wait_readable(self._control)
        self.close()

    def close(self) -> None:
        """Close our end, which also lets go; idempotent."""
        if self._control.fileno() >= 0:
            anyio.notify_closing(self._control)
            self._control.close()


class Reaper:
    """A reaper process of our own and the line to it."""

    def __init__(self) -> None:
        if sys.platform == "win32":
            raise UnsupportedError(
                "PlainLauncher holds programs by means that Windows lacks: use WindowsLauncher there, which "
                "default_launcher() gives."
            )
        control, theirs = socket.socketpair()
        with theirs:
            try:
                self._process = subprocess.Popen(
                    [sys.executable, "-I", "-S", str(REAPER_SCRIPT), str(theirs.fileno())],
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.DEVNULL,
                    stderr=subprocess.DEVNULL,
                    pass_fds=(theirs.fileno(),),
                    start_new_session=True,
                )
            except OSError as error:
                control.close()
                raise EngineError(
                    f"The process that watches over the debuggees cannot be started ({error.strerror})."
                ) from error
        self.line = ReaperLine(control)

    @property
    def pid(self) -> int:
        """The reaper's own process id."""
        return self._process.pid

    def has_died(self) -> bool:
        """True when the process has ended; then it is also buried."""
        if self._process.poll() is None:
            return False
        self.line.close()
        return True

    async def aclose(self) -> None:
        """Let go of the reaper, which kills all it holds, and wait for its end."""
        await self.line.let_go()
        self._process.kill()
        self._process.wait()


class Lease:
    """One conversation with a keeper; messages are a length and JSON."""

    def __init__(self, connection: socket.socket) -> None:
        self._connection = connection
        self._received = bytearray()

    async def request(self, message: dict[str, object], descriptors: Sequence[int]) -> None:
        """Send the request with its descriptors; a keeper that is gone shows in ``receive``."""
        body = json.dumps(message).encode()
        with suppress(ConnectionError):
            socket.send_fds(self._connection, [_LENGTH.pack(len(body))], descriptors)
            await write_all(self._connection.fileno(), body)

    async def receive(self) -> KeeperMessage | None:
        """The next message, or None when the keeper is gone. Cancelling loses nothing."""
        while True:
            if len(self._received) >= _LENGTH.size:
                (length,) = _LENGTH.unpack_from(self._received)
                end = _LENGTH.size + length
                if len(self._received) >= end:
                    message = json.loads(self._received[_LENGTH.size : end])
                    del self._received[:end]
                    return cast("KeeperMessage", message)
            try:
                await anyio.wait_readable(self._connection)
                piece = self._connection.recv(_RECEIVE_BYTES)
            except BlockingIOError:
                continue
            except (ConnectionError, anyio.ClosedResourceError):
                return None
            if not piece:
                return None
            self._received += piece

    def let_go(self) -> None:
        """Tell the keeper to kill all it keeps."""
        with suppress(OSError):
            self._connection.shutdown(socket.SHUT_WR)

    def close(self) -> None:
        """Close our end, which also lets go; idempotent."""
        if self._connection.fileno() >= 0:
            anyio.notify_closing(self._connection)
            self._connection.close()


@dataclass(frozen=True, slots=True)
class Plumbing:
    """The streams of a program: our ends, and the descriptors to hand over."""

    stdin: PipeWriter
    stdout: PipeReader
    stderr: PipeReader
    channel: SocketStream | None
    theirs: tuple[int, ...]

    @classmethod
    def lay(
        cls,
        ours: ExitStack,
        theirs: ExitStack,
        *,
        wants_channel: bool = False,
        channel_descriptor: int | None = None,
        merges_output: bool = False,
    ) -> "Plumbing":
        """Open all ends; each stack closes its side. Raises OSError when descriptors run out.

        A ``channel_descriptor`` is handed over as it is and stays the caller's.
        """
        stdin_reader, writer = os.pipe()
        stdin = PipeWriter(writer)
        ours.callback(stdin.close)
        theirs.callback(os.close, stdin_reader)
        handed = [stdin_reader]
        readers: list[PipeReader] = []
        for _ in ("stdout", "stderr"):
            reader, writer = os.pipe()
            readers.append(PipeReader(reader))
            ours.callback(readers[-1].close)
            theirs.callback(os.close, writer)
            handed.append(handed[-1] if readers[1:] and merges_output else writer)
        channel = None
        if channel_descriptor is not None:
            handed.append(channel_descriptor)
        elif wants_channel:
            near, far = socket.socketpair()
            channel = SocketStream(near)
            ours.callback(channel.close)
            theirs.callback(far.close)
            handed.append(far.fileno())
        return cls(stdin, readers[0], readers[1], channel, tuple(handed))


class LeasedProcess:
    """A program at the end of a lease (meets ``mcp_pdb.launcher.Process``)."""

    def __init__(self, pid: int, lease: Lease, plumbing: Plumbing, held: ExitStack) -> None:
        self._pid = pid
        self._lease = lease
        self._plumbing = plumbing
        self._held = held
        self._listening = anyio.Lock()
        self._returncode: int | None = None
        self._gone = False

    @property
    def pid(self) -> int:
        """The program's process id; behind a sandbox's command, the command's."""
        return self._pid

    @property
    def stdout(self) -> PipeReader:
        """The program's standard output."""
        return self._plumbing.stdout

    @property
    def stderr(self) -> PipeReader:
        """The program's standard error."""
        return self._plumbing.stderr

    @property
    def channel(self) -> SocketStream | None:
        """Our end of the channel, if one was asked for."""
        return self._plumbing.channel

    @property
    def returncode(self) -> int | None:
        """The exit status as last seen by ``wait`` or ``kill``; None before."""
        return self._returncode

    async def write_stdin(self, data: bytes) -> None:
        """Write all of ``data``. Raises EngineError when the program no longer reads."""
        try:
            await self._plumbing.stdin.send(data)
        except (anyio.BrokenResourceError, anyio.ClosedResourceError):
            raise EngineError("The program has closed its standard input or has ended.") from None

    async def close_stdin(self) -> None:
        """Let the program see the end of its standard input; idempotent."""
        await self._plumbing.stdin.aclose()

    async def wait(self) -> int:
        """The program's exit status, negative for a signal; its descendants may live on.

        Raises EngineError when its keeper was killed, so that the status is unknown.
        """
        while self._returncode is None:
            await self._listen()
            if self._gone and self._returncode is None:
                raise EngineError(
                    "The process that watched over the debuggee was killed, so how it ended is unknown: "
                    "start a new session."
                )
        return self._returncode

    def on_close(self, callback: Callable[["LeasedProcess"], None]) -> None:
        """Call back once when the process is closed."""
        self._held.callback(callback, self)

    @property
    def is_gone(self) -> bool:
        """True once its keeper has ended, which it does when nothing of the launch is left."""
        return self._gone

    def let_go(self) -> None:
        """Start a kill without waiting for its end."""
        self._lease.let_go()

    async def kill(self) -> None:
        """Kill the program and every descendant; returns when none is left; idempotent."""
        with anyio.move_on_after(KILL_SECONDS, shield=True):
            self._lease.let_go()
            while not self._gone:
                await self._listen()

    async def aclose(self) -> None:
        """Kill, and close all streams; idempotent."""
        await self.kill()
        self._held.close()

    def abandon(self) -> None:
        """Close all streams without waiting, for a program that is known to be dead; idempotent."""
        self._gone = True
        self._lease.close()
        self._held.close()

    async def _listen(self) -> None:
        """Take in one message of the keeper, unless another task has just done so."""
        waited = self._listening.locked()
        async with self._listening:
            if waited or self._gone:
                return
            message = await self._lease.receive()
            if message is None:
                self._gone = True
            elif "exited" in message:
                self._returncode = os.waitstatus_to_exitcode(message["exited"])
            elif left := message.get("left"):
                _log.warning("these processes cannot be killed: %s", left)
