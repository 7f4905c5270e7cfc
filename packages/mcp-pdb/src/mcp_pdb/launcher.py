"""How a debuggee starts: plainly, or through the command of a sandbox.

Every program runs below the reaper (see ``mcp_pdb.reaper``), so that it ends
with the server whatever ends the server. A program's channel is one end of a
socketpair that it inherits: it needs no port and no network.

Nothing here starts a task or a thread; whoever calls ``receive`` or ``wait``
does the waiting, and cancelling one loses nothing.
"""

import errno
import os
import socket
from collections.abc import Iterable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from types import TracebackType
from typing import Protocol

import anyio
import anyio.abc

from mcp_pdb.errors import EngineError, PathError, TargetError
from mcp_pdb.leash import REAPER_SCRIPT as REAPER_SCRIPT
from mcp_pdb.leash import LeasedProcess as LeasedProcess
from mcp_pdb.leash import Plumbing, Reaper, ReaperLine
from mcp_pdb.output import OutputStream as OutputStream

CHANNEL_TOKEN = "{channel}"
"""Stands for the channel (an inherited descriptor's number, or an address); replaced once in argv."""
CHANNEL_DESCRIPTOR = 3
"""The number of the channel inside the program."""
WORKING_DIRECTORY_TOKEN = "{cwd}"
"""Stands for the working directory in the prefix of a ``CommandLauncher``."""
START_SECONDS = 20.0
_OWN_VARIABLES = "MCP_PDB_"
_VANISHED = "The process that watches over the debuggees vanished during the start: try again."


@dataclass(frozen=True, slots=True, kw_only=True)
class LaunchSpec:
    """What to start, where, and with which environment (the whole of it)."""

    argv: tuple[str, ...]
    cwd: str
    environment: Mapping[str, str] = field(default_factory=dict[str, str])
    wants_channel: bool = False
    channel_descriptor: int | None = None
    """A descriptor of ours to hand over as the channel, instead of one end of a fresh socketpair."""
    merges_output: bool = False
    """Standard error goes where standard output goes, in the order of writing."""


class Process(Protocol):
    """A started program with its streams; ``channel`` is None unless it was asked for.

    It never leaves anything behind once ``aclose`` or ``kill`` has returned.
    """

    @property
    def pid(self) -> int:
        """The program's process id; behind a sandbox's command, the command's."""
        ...

    @property
    def stdout(self) -> OutputStream:
        """The program's standard output, a pipe."""
        ...

    @property
    def stderr(self) -> OutputStream:
        """The program's standard error, a pipe of its own."""
        ...

    @property
    def channel(self) -> anyio.abc.ByteStream | None:
        """Our end of the channel, if one was asked for."""
        ...

    @property
    def returncode(self) -> int | None:
        """The exit status as last seen by ``wait`` or ``kill``; None before."""
        ...

    async def write_stdin(self, data: bytes) -> None:
        """Write all of ``data``. Raises EngineError when the program no longer reads."""
        ...

    async def close_stdin(self) -> None:
        """Let the program see the end of its standard input; idempotent."""
        ...

    async def wait(self) -> int:
        """The program's exit status, negative for a signal; its descendants may live on."""
        ...

    async def kill(self) -> None:
        """Kill the program and every descendant; returns when none is left; idempotent."""
        ...

    async def aclose(self) -> None:
        """Kill, and close all streams; idempotent."""
        ...


class Launcher(Protocol):
    """Starts programs."""

    async def launch(self, spec: LaunchSpec) -> Process:
        """Start ``spec``. Raises TargetError when it cannot start, EngineError when we cannot."""
        ...


class PlainLauncher:
    """Starts programs as they are, each on its own leash.

    ::

        async with PlainLauncher() as launcher:
            process = await launcher.launch(spec)

    Leaving the block kills every program that is still running.
    """

    def __init__(self) -> None:
        self._reaper: Reaper | None = None
        self._processes: set[LeasedProcess] = set()

    async def __aenter__(self) -> "PlainLauncher":
        await self.start()
        return self

    async def __aexit__(
        self,
        exc_type: type[BaseException] | None,
        exc_value: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self.aclose()

    async def start(self) -> None:
        """Start the reaper ahead of the first launch. Raises UnsupportedError on Windows."""
        self._living_reaper()

    async def launch(self, spec: LaunchSpec) -> Process:
        """Start ``spec``. Raises TargetError when it cannot start, EngineError when we cannot."""
        return await _launch_leased(self._living_reaper().line, spec, self._processes)

    async def aclose(self) -> None:
        """Kill every program that is still running, close it, and end the reaper; idempotent."""
        await _end_all(self._processes)
        if self._reaper is not None:
            reaper, self._reaper = self._reaper, None
            await reaper.aclose()

    def _living_reaper(self) -> "Reaper":
        if self._reaper is not None and self._reaper.has_died():
            self._reaper = None
        if self._reaper is None:
            self._reaper = Reaper()
        return self._reaper


class ReaperLauncher:
    """Starts programs through a reaper that somebody else started, inside a sandbox for instance.

    ``control`` is our end of the socket that the script ``REAPER_SCRIPT`` was given the
    other end of; it is owned from here on.
    """

    def __init__(self, control: socket.socket) -> None:
        self._line = ReaperLine(control)
        self._processes: set[LeasedProcess] = set()

    @property
    def is_busy(self) -> bool:
        """True while a program has been started and not closed."""
        return bool(self._processes)

    async def launch(self, spec: LaunchSpec) -> LeasedProcess:
        """Start ``spec``. Raises TargetError when it cannot start, EngineError when the reaper is gone."""
        return await _launch_leased(self._line, spec, self._processes)

    async def aclose(self) -> None:
        """Kill every program that is still running and let go of the reaper; idempotent."""
        await _end_all(self._processes)
        await self._line.let_go()

    def abandon(self) -> None:
        """Close every stream at once, for a reaper that is known to be dead; idempotent."""
        for process in tuple(self._processes):
            process.abandon()
        self._line.close()


class CommandLauncher:
    """Starts programs through a command, such as that of a sandbox.

    The command must keep descriptor 3 open and pass standard input and output
    on. ``{cwd}`` in the prefix stands for the working directory.
    """

    def __init__(self, prefix: Sequence[str], launcher: Launcher) -> None:
        self._prefix = tuple(prefix)
        self._launcher = launcher

    async def launch(self, spec: LaunchSpec) -> Process:
        """Start ``spec`` behind the prefix; raises what the inner launcher raises."""
        prefix = tuple(spec.cwd if part == WORKING_DIRECTORY_TOKEN else part for part in self._prefix)
        return await self._launcher.launch(replace(spec, argv=prefix + spec.argv))


def debuggee_environment(additions: Iterable[tuple[str, str]] = ()) -> dict[str, str]:
    """The server's own environment without its secrets (``MCP_PDB_*``), plus ``additions``."""
    own = {name: value for name, value in os.environ.items() if not name.startswith(_OWN_VARIABLES)}
    return own | dict(additions)


def argv_with_channel(spec: LaunchSpec, channel: str) -> tuple[str, ...]:
    """The command line, with ``channel`` in place of the token when a channel is wanted."""
    argv = list(spec.argv)
    if (spec.wants_channel or spec.channel_descriptor is not None) and CHANNEL_TOKEN in argv:
        argv[argv.index(CHANNEL_TOKEN)] = channel
    return tuple(argv)


def start_failure(spec: LaunchSpec, number: int, stage: str) -> TargetError | EngineError:
    """What to raise for a start that failed with errno ``number`` at ``stage``: cwd, exec or another."""
    reason = os.strerror(number)
    match stage:
        case "cwd":
            return PathError(
                f"The working directory {spec.cwd} cannot be entered ({reason}): give another cwd."
            )
        case "exec":
            way_on = "put it in a file" if number == errno.E2BIG else "check that it exists and is executable"
            return TargetError(f"{spec.argv[0]} cannot be run ({reason}): {way_on}.")
        case _:
            return EngineError(
                f"The system refused to start a process ({reason}): stop a session and try again."
            )


async def _launch_leased(line: ReaperLine, spec: LaunchSpec, running: set[LeasedProcess]) -> LeasedProcess:
    """Start ``spec`` on a lease of its own; it is in ``running`` until it is closed."""
    with ExitStack() as ours:
        try:
            with ExitStack() as theirs:
                lease = await line.lease(ours)
                plumbing = Plumbing.lay(
                    ours,
                    theirs,
                    wants_channel=spec.wants_channel,
                    channel_descriptor=spec.channel_descriptor,
                    merges_output=spec.merges_output,
                )
                await lease.request(_request(spec), plumbing.theirs)
            with anyio.fail_after(START_SECONDS):
                answer = await lease.receive()
        except TimeoutError:
            raise EngineError(f"{spec.argv[0]} did not start within {START_SECONDS:g} s.") from None
        except OSError as error:
            raise EngineError(
                f"The system refused to start a process ({error.strerror}): stop a session and try again."
            ) from error
        if answer is not None and "failed" in answer:
            raise start_failure(spec, *answer["failed"])
        if answer is None or "pid" not in answer:
            raise EngineError(_VANISHED)
        process = LeasedProcess(answer["pid"], lease, plumbing, ours.pop_all())
    running.add(process)
    process.on_close(running.discard)
    return process


async def _end_all(processes: set[LeasedProcess]) -> None:
    for process in tuple(processes):
        process.let_go()
    for process in tuple(processes):
        await process.aclose()


def _request(spec: LaunchSpec) -> dict[str, object]:
    argv = argv_with_channel(spec, str(CHANNEL_DESCRIPTOR))
    return {"argv": argv, "cwd": spec.cwd, "environment": dict(spec.environment)}
