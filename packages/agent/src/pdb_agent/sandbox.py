"""What a sandbox is: a fresh, bounded place without network in which code of unknown intent runs.

One episode has one sandbox; grading has its own. Everything that runs inside is
started through ``Sandbox.launcher``, so a shell command, a test run and a
debuggee of ``mcp_pdb`` are the same kind of thing: a process at the end of a
lease, with streams (and, for a debuggee, a channel) that it inherits.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Protocol

from mcp_pdb.launcher import Launcher

MEBIBYTE = 1 << 20


class Backend(StrEnum):
    """How a sandbox is held."""

    BUBBLEWRAP = "bubblewrap"
    LANDLOCK = "landlock"
    CONTAINER = "container"
    UNSAFE_NONE = "unsafe-none"


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """What code inside may use; per process where no more is said."""

    memory_bytes: int = 1024 * MEBIBYTE
    """Private memory of one process, and resident memory of all of them together."""
    address_bytes: int = 4096 * MEBIBYTE
    cpu_seconds: int = 60
    processes: int = 64
    """Processes and threads of the whole sandbox, those that hold it included."""
    file_bytes: int = 32 * MEBIBYTE
    """Size of one file."""
    disk_bytes: int = 64 * MEBIBYTE
    """Size of the workspace, and of /tmp."""
    open_files: int = 256


@dataclass(frozen=True, slots=True, kw_only=True)
class SandboxSpec:
    """What a sandbox is made of."""

    python: Path
    """Interpreter for the programs inside: one that has pytest; a venv's stays a symlink."""
    files: Mapping[str, bytes] = field(default_factory=dict[str, bytes])
    """The workspace at the start: relative POSIX path to content."""
    limits: Limits = Limits()
    readable: tuple[Path, ...] = ()
    """Further host folders that are readable inside, at the same path."""
    environment: Mapping[str, str] = field(default_factory=dict[str, str])
    """Variables for the programs inside, beside those that every sandbox has."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandResult:
    """How a command ended."""

    exit_code: int | None
    """Negative for a signal; None when it had to be killed for time or output."""
    output: str
    """Standard output and error together, the first ``output_bytes`` of it."""
    omitted_bytes: int
    """Output beyond that."""
    timed_out: bool
    flooded: bool
    """Killed because it wrote more than ``FLOOD_BYTES``."""
    out_of_memory: bool
    """The watchdog killed processes of the sandbox while it ran."""
    seconds: float


OUTPUT_BYTES = 64 * 1024
FLOOD_BYTES = 16 * MEBIBYTE


class Sandbox(Protocol):
    """A running sandbox. Every method raises SandboxEndedError once it has ended."""

    @property
    def backend(self) -> Backend:
        """What holds it."""
        ...

    @property
    def workspace(self) -> Path:
        """The workspace's path: inside, and on the host for a copy of its regular files.

        The host's copy is for looking only (the debugger server finds files in it); it is
        renewed by ``put`` and at the end of every ``run``, and holds no link that code inside made.
        """
        ...

    @property
    def python(self) -> str:
        """The interpreter's path inside."""
        ...

    @property
    def launcher(self) -> Launcher:
        """Starts programs inside; give it to ``mcp_pdb.client.open_debugger``.

        A program gets the environment of the sandbox, never the host's. It lives until its
        process is closed or killed, with all its descendants.
        """
        ...

    @property
    def environment(self) -> Mapping[str, str]:
        """What programs inside get."""
        ...

    async def run(
        self,
        argv: Sequence[str],
        *,
        timeout_seconds: float,
        environment: Mapping[str, str] | None = None,
        stdin: bytes = b"",
        output_bytes: int = OUTPUT_BYTES,
    ) -> CommandResult:
        """Run a command in the workspace; when this returns none of its processes is left.

        ``environment`` is added to the sandbox's own. Debuggees that run meanwhile are left alone.
        """
        ...

    async def put(self, files: Mapping[str, bytes]) -> None:
        """Write files, relative to the workspace. Raises SandboxError when one cannot be written."""
        ...

    async def get(self, paths: Sequence[str], *, limit_bytes: int = MEBIBYTE) -> dict[str, bytes | None]:
        """Read regular files with one link, through no symlink; None for what is none or too large."""
        ...

    async def remove(self, paths: Sequence[str]) -> None:
        """Delete files of the workspace; what is not there is no error."""
        ...

    async def list_files(self) -> tuple[str, ...]:
        """Relative paths of the regular files in the workspace, caches left out, sorted; 2,000 at most."""
        ...

    async def aclose(self) -> None:
        """End it and everything inside; when this returns no process is left. Idempotent."""
        ...
