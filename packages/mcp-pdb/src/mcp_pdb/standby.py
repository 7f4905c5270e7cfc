"""Starts the next debuggee ahead of time, so that a test stops while a cold interpreter would still start.

A debuggee waits for its target anyway, so one that was started early with the
same command, working directory and environment is as good as a fresh one. It
is thrown away when packages were installed or removed since it started.
"""

import logging
import os
import sys
from dataclasses import dataclass, field
from pathlib import Path

import anyio
from anyio.abc import TaskGroup

from mcp_pdb.errors import DebuggerError
from mcp_pdb.launcher import Launcher, LaunchSpec, Process

SETTLE_SECONDS = 0.5
"""How long the program that was just started has the machine for itself."""
KEEP_SECONDS = 1800.0
"""How long a debuggee waits for somebody to need it."""
_PACKAGE_FOLDERS = ("lib/python3*/site-packages", "lib64/python3*/site-packages", "Lib/site-packages")

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, eq=False)
class _Ready:
    spec: LaunchSpec
    stamp: tuple[int, ...]
    process: Process
    claimed: anyio.Event = field(default_factory=anyio.Event)


class StandbyLauncher:
    """A launcher that keeps one debuggee ready: of the kind that was asked for last.

    Nothing is kept for a command without a channel, nor for an interpreter
    whose package folders cannot be found. Lives inside ``task_group``, whose
    end also ends what is kept.
    """

    def __init__(self, launcher: Launcher, task_group: TaskGroup) -> None:
        self._launcher = launcher
        self._task_group = task_group
        self._ready: _Ready | None = None
        self._preparing = False
        self._starting: anyio.Event | None = None

    async def launch(self, spec: LaunchSpec) -> Process:
        """The one that is ready if it fits, else a fresh one; then get another ready."""
        process = await self._claim(spec) or await self._launcher.launch(spec)
        self.prepare(spec)
        return process

    def prepare(self, spec: LaunchSpec, *, after_seconds: float = SETTLE_SECONDS) -> None:
        """Get one ready in the background, unless one is being made or kept already."""
        if self._preparing or self._ready is not None:
            return
        if not spec.wants_channel or not package_stamp(spec.argv[0]):
            return
        self._preparing = True
        self._task_group.start_soon(self._keep_one, spec, after_seconds)

    async def _claim(self, spec: LaunchSpec) -> Process | None:
        if self._starting is not None:
            await self._starting.wait()
        ready, self._ready = self._ready, None
        if ready is None:
            return None
        ready.claimed.set()
        if ready.spec == spec and ready.stamp == package_stamp(spec.argv[0]) and _lives(ready.process):
            return ready.process
        with anyio.CancelScope(shield=True):
            await ready.process.aclose()
        return None

    async def _keep_one(self, spec: LaunchSpec, after_seconds: float) -> None:
        try:
            await anyio.sleep(after_seconds)
            ready = self._ready = await self._started(spec)
        except DebuggerError as error:
            logger.info("no debuggee could be started ahead of time: %s", error)
            return
        finally:
            self._preparing = False
        try:
            with anyio.move_on_after(KEEP_SECONDS):
                await ready.claimed.wait()
        finally:
            if not ready.claimed.is_set():
                self._ready = None
                with anyio.CancelScope(shield=True):
                    await ready.process.aclose()

    async def _started(self, spec: LaunchSpec) -> _Ready:
        starting = self._starting = anyio.Event()
        try:
            return _Ready(spec, package_stamp(spec.argv[0]), await self._launcher.launch(spec))
        finally:
            self._starting = None
            starting.set()


def package_stamp(interpreter: str) -> tuple[int, ...]:
    """When the packages of an interpreter's environment last changed; empty when they are not found."""
    prefix = Path(interpreter).absolute().parent.parent
    folders = (folder for pattern in _PACKAGE_FOLDERS for folder in prefix.glob(pattern))
    return tuple(folder.stat().st_mtime_ns for folder in folders)


def _lives(process: Process) -> bool:
    if sys.platform == "win32":  # where a signal of 0 is Ctrl-C
        return process.returncode is None
    try:
        os.kill(process.pid, 0)
    except OSError:
        return False
    return True
