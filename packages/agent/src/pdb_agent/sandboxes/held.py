"""The host's side of a running sandbox, whatever holds it: commands, files, watchdog, end."""

import os
import shutil
import socket
import subprocess
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import BinaryIO

import anyio
from anyio.abc import TaskGroup
from mcp_pdb.errors import EngineError
from mcp_pdb.launcher import LaunchSpec, LeasedProcess, OutputStream, Process, ReaperLauncher

from pdb_agent.errors import SandboxEndedError, SandboxError
from pdb_agent.sandbox import FLOOD_BYTES, MEBIBYTE, OUTPUT_BYTES, Backend, CommandResult, Limits
from pdb_agent.sandboxes.kernel_memory import file_bytes, socket_bytes
from pdb_agent.sandboxes.process_tree import (
    descendants,
    kill,
    kill_all_below,
    resident_bytes,
    wait_for_end,
)
from pdb_agent.sandboxes.workspace_files import WorkspaceFiles

START_SECONDS = 20.0
END_SECONDS = 5.0
RETRY_SECONDS = 0.02
VANISH_SECONDS = 1.0
WATCH_SECONDS = 0.1
TEMPORARY = Path("/tmp")
PROGRAM_DEPTH = 3
"""How deep programs live below the agent: reaper, keeper, program."""
_DRAIN_SECONDS = 2.0
_COMPLAINT_BYTES = 2000


@dataclass(frozen=True, slots=True, kw_only=True)
class Started:
    """A backend's process, as it was just started, with our ends of its sockets."""

    process: subprocess.Popen[bytes]
    """The process that holds the sandbox; its end is the end of it."""
    agent_depth: int
    """How deep the agent lives below ``process``: 0 when it is that process."""
    control: socket.socket
    files: socket.socket
    complaints: BinaryIO
    """Where its standard error goes."""


class HeldSandbox:
    """A sandbox at the other end of two sockets (meets ``pdb_agent.sandbox.Sandbox``)."""

    def __init__(
        self,
        backend: Backend,
        started: Started,
        *,
        workspace: Path,
        python: str,
        environment: Mapping[str, str],
        limits: Limits,
        keeps_copy: bool = True,
    ) -> None:
        self._backend = backend
        self._started = started
        self._workspace = workspace
        self._python = python
        self._environment = dict(environment)
        self._limits = limits
        self._files = WorkspaceFiles(started.files, workspace if keeps_copy else None)
        self._reaper = ReaperLauncher(started.control)
        self._launcher = InsideLauncher(self)
        self._busy = anyio.Event()
        self._kills = 0
        self._ended_because: str | None = None

    @property
    def backend(self) -> Backend:
        """What holds it."""
        return self._backend

    @property
    def workspace(self) -> Path:
        """The workspace's path, inside and of the copy on the host."""
        return self._workspace

    @property
    def python(self) -> str:
        """The interpreter's path inside."""
        return self._python

    @property
    def launcher(self) -> "InsideLauncher":
        """Starts programs inside."""
        return self._launcher

    @property
    def environment(self) -> Mapping[str, str]:
        """What programs inside get."""
        return self._environment

    @property
    def pid(self) -> int:
        """The host's process that holds the sandbox."""
        return self._started.process.pid

    async def open(self, files: Mapping[str, bytes], task_group: TaskGroup) -> None:
        """Wait until the agent is up and lay out the workspace. Raises SandboxError."""
        try:
            with anyio.fail_after(START_SECONDS):
                await self._files.hello()
                await self._files.put(files)
        except (SandboxEndedError, ValueError, TimeoutError):
            raise SandboxError(
                f"The {self._backend} sandbox did not start: {self._complaint() or 'it said nothing'}."
            ) from None
        task_group.start_soon(self._watch)

    async def start(self, spec: LaunchSpec) -> Process:
        """Start a program with exactly the given environment. Raises SandboxEndedError."""
        return await self._launch(spec)

    async def run(
        self,
        argv: Sequence[str],
        *,
        timeout_seconds: float,
        environment: Mapping[str, str] | None = None,
        stdin: bytes = b"",
        output_bytes: int = OUTPUT_BYTES,
    ) -> CommandResult:
        """Run a command in the workspace; when this returns none of its processes is left."""
        began, kills = time.monotonic(), self._kills
        spec = LaunchSpec(
            argv=tuple(argv),
            cwd=str(self._workspace),
            environment=self._environment | dict(environment or {}),
            merges_output=True,
        )
        process = await self._launch(spec)
        capture = _Capture(output_bytes)
        timed_out = False
        exit_code: int | None = None
        try:
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(_feed, process, stdin)
                try:
                    with anyio.move_on_after(timeout_seconds) as patience:
                        tasks.start_soon(capture.read, process.stdout, patience)
                        exit_code = await _exit_code(process)
                finally:
                    await process.kill()
                timed_out = patience.cancelled_caught and not capture.flooded
                tasks.cancel_scope.deadline = anyio.current_time() + _DRAIN_SECONDS
        finally:
            is_gone = process.is_gone
            process.abandon()
        if not is_gone:
            await self._give_up("what it ran could not be killed")
        self._check()
        await self._files.renew_copy()
        return CommandResult(
            exit_code=exit_code,
            output=capture.kept.decode(errors="replace"),
            omitted_bytes=capture.omitted_bytes,
            timed_out=timed_out,
            flooded=capture.flooded,
            out_of_memory=self._kills > kills,
            seconds=time.monotonic() - began,
        )

    async def put(self, files: Mapping[str, bytes]) -> None:
        """Write files, relative to the workspace. Raises SandboxError when one cannot be written."""
        self._check()
        await self._files.put(files)

    async def get(self, paths: Sequence[str], *, limit_bytes: int = MEBIBYTE) -> dict[str, bytes | None]:
        """Read plain files, through no symlink; None for what is none or too large."""
        self._check()
        return await self._files.get(paths, limit_bytes)

    async def remove(self, paths: Sequence[str]) -> None:
        """Delete files of the workspace; what is not there is no error."""
        self._check()
        await self._files.remove(paths)

    async def list_files(self) -> tuple[str, ...]:
        """Relative paths of the plain files in the workspace, sorted."""
        self._check()
        return tuple(sorted(await self._files.listing()))

    async def aclose(self) -> None:
        """End it and everything inside; when this returns no process is left. Idempotent."""
        self._ended_because = self._ended_because or "it was closed"
        with anyio.CancelScope(shield=True):
            self._reaper.abandon()
            self._files.close()
            await self._end_processes()
        self._started.complaints.close()
        shutil.rmtree(self._workspace.parent, ignore_errors=True)

    async def _launch(self, spec: LaunchSpec) -> LeasedProcess:
        self._check()
        try:
            process = await self._reaper.launch(spec)
        except EngineError:
            # A reaper that is gone takes the sandbox with it, in its own time.
            await wait_for_end(self._started.process.pid, VANISH_SECONDS)
            self._check()
            raise
        self._busy.set()
        return process

    def _check(self) -> None:
        if self._ended_because is None and self._started.process.poll() is not None:
            self._ended_because = "it was killed, from inside or by the system"
        if self._ended_because is not None:
            raise SandboxEndedError(f"The sandbox has ended: {self._ended_because}. Start another one.")

    async def _give_up(self, reason: str) -> None:
        self._ended_because = reason
        await self._end_processes()

    async def _end_processes(self) -> None:
        """Kill the agent (in a pid namespace its init, which the kernel lets nobody survive) and the rest."""
        process = self._started.process
        if process.poll() is None:
            if self._started.agent_depth == 0:
                await kill_all_below(process.pid, END_SECONDS)
            else:
                await self._kill_first_child()
            if self._started.agent_depth == 0 or not await wait_for_end(process.pid, END_SECONDS):
                process.kill()
            await wait_for_end(process.pid, END_SECONDS)
        process.wait()

    async def _kill_first_child(self) -> None:
        """Kill what the backend's process has below it, which it may only be about to fork.

        Once: what it starts after that, to clean up, is left alone.
        """
        process = self._started.process
        give_up = time.monotonic() + END_SECONDS
        while time.monotonic() < give_up:
            children = [child for child, depth in descendants(process.pid) if depth == 1]
            for child in children:
                kill(child)
            if children or await wait_for_end(process.pid, RETRY_SECONDS):
                return

    def _complaint(self) -> str:
        self._started.complaints.seek(0)
        return self._started.complaints.read(_COMPLAINT_BYTES).decode(errors="replace").strip()

    async def _watch(self) -> None:
        """Keep the memory of all programs together within the limit, while any runs."""
        while self._ended_because is None:
            await self._busy.wait()
            await anyio.sleep(WATCH_SECONDS)
            if not self._reaper.is_busy:
                self._busy = anyio.Event()
                continue
            programs: list[tuple[int, int]] = []
            total = 0
            for pid, depth in descendants(self._started.process.pid):
                size = resident_bytes(pid)
                total += size
                if depth >= self._started.agent_depth + PROGRAM_DEPTH:
                    programs.append((size, pid))
            total += socket_bytes(pid for _, pid in programs)
            for _, pid in programs[:1]:
                total += sum(file_bytes(pid, folder) for folder in (self._workspace, TEMPORARY))
            if total > self._limits.memory_bytes:
                self._kills += 1
                for _, pid in sorted(programs, reverse=True):
                    kill(pid)


class InsideLauncher:
    """Starts programs in a sandbox with its environment (meets ``mcp_pdb.launcher.Launcher``).

    Of the environment that a caller asks for, only what differs from the host's
    own gets inside, so that no key of the host does.
    """

    def __init__(self, sandbox: HeldSandbox) -> None:
        self._sandbox = sandbox

    async def launch(self, spec: LaunchSpec) -> Process:
        """Start ``spec`` inside. Raises SandboxEndedError, and what the reaper's launcher raises."""
        asked = {name: value for name, value in spec.environment.items() if os.environ.get(name) != value}
        return await self._sandbox.start(replace(spec, environment=dict(self._sandbox.environment) | asked))


class _Capture:
    """What a command writes: the beginning is kept, the rest counted, a flood ends its run."""

    def __init__(self, limit_bytes: int) -> None:
        self._limit_bytes = limit_bytes
        self.kept = bytearray()
        self.omitted_bytes = 0
        self.flooded = False

    async def read(self, stream: OutputStream, patience: anyio.CancelScope) -> None:
        """Read until the end; cancel ``patience`` when it is too much."""
        while True:
            try:
                piece = await stream.receive(65536)
            except (anyio.EndOfStream, anyio.ClosedResourceError):
                return
            room = max(0, self._limit_bytes - len(self.kept))
            self.kept += piece[:room]
            self.omitted_bytes += len(piece[room:])
            if self.omitted_bytes > FLOOD_BYTES and not self.flooded:
                self.flooded = True
                patience.cancel()


async def _feed(process: Process, stdin: bytes) -> None:
    try:
        if stdin:
            await process.write_stdin(stdin)
        await process.close_stdin()
    except EngineError:
        pass  # it does not read


async def _exit_code(process: Process) -> int | None:
    try:
        return await process.wait()
    except EngineError:
        return None  # its keeper was killed from inside
