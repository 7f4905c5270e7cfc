"""Ways to a process that runs already, all through debugpy's adapter.

``host:port`` is where the program called ``debugpy.listen``: its own adapter
answers there. A process id is attached to by an adapter of ours, which injects
debugpy with gdb or lldb and speaks over its standard streams.
"""

import shutil
import socket
import sys
from dataclasses import dataclass
from typing import Any

import anyio
import anyio.abc

from mcp_pdb.errors import TargetError
from mcp_pdb.launcher import Launcher, LaunchSpec, Process, debuggee_environment

CONNECT_SECONDS = 10.0
INJECT_SECONDS = 30.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where a running process is to be found: a process id, or an address."""

    pid: int | None = None
    host: str = ""
    port: int = 0

    @property
    def arguments(self) -> dict[str, Any]:
        """What DAP's attach request says of it."""
        return {"processId": self.pid} if self.pid is not None else {}

    @property
    def seconds(self) -> float:
        """How long attaching may take."""
        return CONNECT_SECONDS if self.pid is None else INJECT_SECONDS


def place_of(text: str) -> Place:
    """A place from ``1234``, ``5678`` with a colon before it, or ``host:port``. Raises TargetError."""
    host, colon, number = text.strip().rpartition(":")
    if not number.isdigit():
        raise TargetError(
            f"{text!r} is neither a process id nor host:port; give e.g. '4711', or '127.0.0.1:5678' where "
            "the program called debugpy.listen(5678)."
        )
    if not colon:
        return Place(pid=int(number))
    return Place(host=host.strip("[]") or "127.0.0.1", port=int(number))


async def connect(place: Place, launcher: Launcher) -> anyio.abc.ByteStream:
    """A stream to the adapter that serves ``place``. Raises TargetError."""
    if place.pid is not None:
        return await _start_adapter(place.pid, launcher)
    try:
        with anyio.fail_after(CONNECT_SECONDS):
            return PromptStream(await anyio.connect_tcp(place.host, place.port))
    except (OSError, TimeoutError):
        raise TargetError(
            f"Nobody listens on {place.host}:{place.port}; the program has to call "
            f"debugpy.listen(({place.host!r}, {place.port})) first, or give its process id."
        ) from None


async def _start_adapter(pid: int, launcher: Launcher) -> anyio.abc.ByteStream:
    try:
        command = await anyio.Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        command = None
    if not command and sys.platform == "linux":
        raise TargetError(f"There is no process {pid}; give the id of a running Python program.")
    if shutil.which("gdb") is None and shutil.which("lldb") is None and sys.platform == "linux":
        raise TargetError(
            "Attaching by process id needs gdb or lldb on this machine; install one, or have the program "
            "call debugpy.listen(5678) and attach to '127.0.0.1:5678'."
        )
    spec = LaunchSpec(
        argv=(sys.executable, "-m", "debugpy.adapter"), cwd="/", environment=debuggee_environment()
    )
    return StandardStreams(await launcher.launch(spec))


def failure(target: str, reason: str, said: str) -> TargetError:
    """Why attaching did not work, from what the adapter reported."""
    if "not permitted" in said or "ptrace" in said:
        return TargetError(
            f"The system does not permit attaching to {target} (ptrace); run as its owner with "
            "kernel.yama.ptrace_scope=0, or have the program call debugpy.listen and attach to its port."
        )
    return TargetError(
        f"Cannot attach to {target} ({reason[:200] or 'no answer'}): it has to be a running Python program "
        "that no other debugger holds."
    )


class PromptStream(anyio.abc.ByteStream):
    """A TCP stream that acknowledges at once.

    An adapter sends a step's messages one by one and the kernel holds each
    back until the one before is acknowledged, which takes 40 ms by default.
    """

    def __init__(self, stream: anyio.abc.SocketStream) -> None:
        self._stream = stream
        self._socket: socket.socket = stream.extra(anyio.abc.SocketAttribute.raw_socket)

    async def receive(self, max_bytes: int = 65536) -> bytes:
        """What has arrived. Raises EndOfStream, ClosedResourceError."""
        if hasattr(socket, "TCP_QUICKACK"):
            self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_QUICKACK, 1)
        return await self._stream.receive(max_bytes)

    async def send(self, item: bytes) -> None:
        """Send all of ``item``."""
        await self._stream.send(item)

    async def send_eof(self) -> None:
        """Let the other end see the end of what we send."""
        await self._stream.send_eof()

    async def aclose(self) -> None:
        """Close."""
        await self._stream.aclose()


class StandardStreams(anyio.abc.ByteStream):
    """A program's standard input and output as one stream; closing it ends the program."""

    def __init__(self, process: Process) -> None:
        self._process = process

    async def receive(self, max_bytes: int = 65536) -> bytes:
        """What the program wrote. Raises EndOfStream, ClosedResourceError."""
        return await self._process.stdout.receive(max_bytes)

    async def send(self, item: bytes) -> None:
        """Write all of ``item``."""
        await self._process.write_stdin(item)

    async def send_eof(self) -> None:
        """Let the program see the end of what we send."""
        await self._process.close_stdin()

    async def aclose(self) -> None:
        """End the program."""
        await self._process.aclose()
