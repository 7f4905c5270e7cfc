"""A debugging session: which command is valid when, who is busy, what a wait ends with.

States: starting → stopped ⇄ running → exited | failed. A command names the
states it is valid in. Two things are exclusive: moving the program (answered
``busy`` at once), and one engine call at a time (short calls queue briefly).
A wait holds no engine call, so breakpoints, pause, stacks and output stay
available while somebody waits.
"""

from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace

import anyio
from anyio.abc import TaskGroup

from mcp_pdb.backend import Backend
from mcp_pdb.engines import BackendFactory
from mcp_pdb.errors import BusyError, DebuggerError, EngineError, StateError
from mcp_pdb.launcher import Launcher
from mcp_pdb.program_run import ENDED, ProgramRun, StartPlan, State
from mcp_pdb.records import (
    Breakpoint,
    BreakpointSpec,
    Exited,
    Outcome,
    ResumeKind,
    Stopped,
    ThreadStack,
    TraceTable,
)
from mcp_pdb.render import OutputTail, Told
from mcp_pdb.steps import combine_steps

PROGRESS_SECONDS = 1.5
SHORTEST_WAIT_SECONDS = 0.05
MEANWHILE = (
    "where_am_i(all_threads=true)",
    "pause_execution",
    "add_breakpoint",
    "read_output",
    "stop_debugger",
)
"""What works while somebody waits for the program."""
PATIENCE_SECONDS = 0.25
"""How long a short engine call may queue behind another one."""
LEAVING_SECONDS = 0.05
"""How long a command that was just cancelled may take to leave before the next one finds it busy."""
ENGINE_SECONDS = 10.0
PAUSE_SECONDS = 2.0
ENDING_SECONDS = 2.0
"""How long after its process vanished the end of a program may take to be known."""

Progress = Callable[[float, float, str], Awaitable[None]]


async def no_progress(_elapsed: float, _total: float, _message: str) -> None:
    """For callers that did not ask for progress."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StillRunning:
    """A wait ended before the program stopped; nothing was interrupted."""

    seconds: float
    """For how long the program has been running."""
    threads: tuple[ThreadStack, ...]
    pause_pending: bool = False
    """True when it was asked to pause and no thread has run Python code since."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Wait:
    """How long a command waits, and who hears about it meanwhile."""

    seconds: float
    progress: Progress = no_progress


@dataclass(frozen=True, slots=True, kw_only=True)
class Workshop:
    """What every session of a server works with."""

    tasks: TaskGroup
    """Owns the programs."""
    launcher: Launcher
    make_backend: BackendFactory
    tools: frozenset[str] = frozenset()
    """The tools that the owners have; errors name no other."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Mover:
    """The command that moves the program or waits for it."""

    command: str
    since: float
    left: anyio.Event = field(default_factory=anyio.Event)


class Session:
    """One owner's program under debug, over as many runs as it is restarted."""

    def __init__(self, session_id: str, owner: str, workshop: Workshop) -> None:
        self.id = session_id
        self.owner = owner
        self.last_used = anyio.current_time()
        self._tools = workshop.tools
        self._workshop = workshop
        self._run: ProgramRun | None = None
        self._engine_lock = anyio.Lock()
        self._engine_user = ""
        self._mover: _Mover | None = None
        self._shown_output = 0
        self._read_output = 0
        self.told = Told()
        """What the owner knows from the stop reports of this run."""
        self.selected_frame = 0
        """The frame that pdb's up and down have chosen; every stop goes back to the innermost."""

    @property
    def run(self) -> ProgramRun:
        """The present run; raises before the first start."""
        if self._run is None:
            raise StateError("the session has not started a program yet")
        return self._run

    @property
    def state(self) -> State:
        """The state of the present run."""
        return self.run.state

    @property
    def outcome(self) -> Outcome | None:
        """The last stop, or the end."""
        return self.run.outcome

    @property
    def is_over(self) -> bool:
        """True when the program has ended; what is known of it stays readable."""
        return self.state in ENDED

    @property
    def is_waited_for(self) -> bool:
        """True while a command moves the program or waits for it."""
        return self._mover is not None

    @property
    def seconds_in_state(self) -> float:
        """For how long the present state has lasted."""
        return anyio.current_time() - self.run.since

    async def start(self, plan: StartPlan, wait: Wait) -> Outcome | StillRunning:
        """Launch and wait for the first stop or the end."""
        run = ProgramRun(plan, self._workshop.launcher, self._workshop.make_backend)
        self._run = run
        self._shown_output = self._read_output = 0
        self.told = Told()
        deadline = anyio.current_time() + wait.seconds
        async with self._moving("start_debugger", "starting"):
            self._workshop.tasks.start_soon(run.serve)
            await run.ready.wait()
            if run.failure is not None:
                raise run.failure
            left = deadline - anyio.current_time()
            return await self._settled(replace(wait, seconds=max(left, SHORTEST_WAIT_SECONDS)))

    async def restart(self, plan: StartPlan, wait: Wait) -> Outcome | StillRunning:
        """End the present run and start another in the same session."""
        await self.run.stop()
        self._mover = None
        return await self.start(plan, wait)

    async def stop(self) -> None:
        """End the program, whatever anybody is doing with it."""
        if self._run is not None:
            await self._run.stop()

    async def resume(
        self,
        command: str,
        kind: ResumeKind,
        wait: Wait,
        *,
        until: tuple[str, int] | None = None,
        count: int = 1,
    ) -> Outcome | StillRunning:
        """Move ``count`` times, or until something else than a finished step ends it.

        A stop or end that nobody has heard of yet is the answer instead, and
        nothing is moved: the caller decided without knowing of it.
        """
        if (news := self.take_news()) is not None:
            return news
        self._check_can_step(command, kind)
        deadline = anyio.current_time() + wait.seconds
        steps: list[Stopped] = []
        async with self._moving(command, "stopped"):
            for _ in range(count):
                try:
                    await self._send_resume(kind, until)
                except BusyError:
                    raise
                except (EngineError, StateError):
                    if (end := await self._end_behind_failure()) is None:
                        raise
                    return end
                left = deadline - anyio.current_time()
                result = await self._settled(replace(wait, seconds=max(left, SHORTEST_WAIT_SECONDS)))
                if not isinstance(result, Stopped):
                    return result
                steps.append(result)
                if result.reason != "step":
                    break
        return combine_steps(steps, count)

    async def proceed(self, command: str, wait: Wait) -> Outcome | StillRunning:
        """Continue; on a program that runs already, go on waiting."""
        if self.state == "running":
            async with self._moving(command, "running"):
                return await self._settled(wait)
        return await self.resume(command, "continue", wait)

    def take_news(self) -> Outcome | None:
        """A stop or end that happened when nobody waited, once."""
        run = self.run
        if not run.is_news or self._mover is not None:
            return None
        run.is_news = False
        match run.outcome:
            case Stopped() as stopped:
                note = "this happened while nobody waited; nothing was moved now"
                return replace(stopped, notes=(*stopped.notes, note))
            case outcome:
                return outcome

    async def pause(self) -> Outcome | StillRunning:
        """Stop a running program where it is; whoever waits for it gets the same answer."""
        if (news := self.take_news()) is not None:
            return news
        self.require("pause_execution", "running")
        stops = False
        with anyio.move_on_after(ENGINE_SECONDS):
            stops = await self.run.backend.pause()
        result = await self._settled(Wait(seconds=PAUSE_SECONDS if stops else 0))
        return replace(result, pause_pending=True) if isinstance(result, StillRunning) else result

    async def threads(self) -> tuple[ThreadStack, ...]:
        """Every thread and task, whatever the program is doing."""
        self.require("where_am_i", "stopped", "running")
        with anyio.move_on_after(ENGINE_SECONDS):
            return await self.run.backend.threads()
        raise EngineError("the program did not report its threads in time; stop_debugger ends it")

    async def trace(
        self, where: BreakpointSpec, expressions: tuple[str, ...], max_hits: int, wait: Wait
    ) -> tuple[TraceTable, Outcome | None]:
        """Run on and tabulate; the session is then where the outcome says, or still running."""
        self.run.check_place(where.at)
        async with self._moving("trace_lines", "stopped"):
            run = self.run
            before = run.outcome
            seconds = wait.seconds + ENGINE_SECONDS
            async with run.waiting_suspended(), self._engine("trace_lines", seconds) as backend:
                run.mark_running()
                try:
                    table, outcome = await backend.trace_lines(
                        where, expressions, max_hits=max_hits, timeout_seconds=wait.seconds
                    )
                except DebuggerError:
                    run.stay_stopped(before)
                    raise
                if outcome is not None:
                    run.settle(outcome)
                    run.is_news = False
            return table, outcome

    async def set_breakpoint(self, spec: BreakpointSpec) -> Breakpoint:
        """Set in a stopped or running program."""
        self.require("add_breakpoint", "stopped", "running")
        async with self._engine("add_breakpoint") as backend:
            return await self.run.set_breakpoint(backend, spec)

    async def remove_breakpoint(self, breakpoint_id: int) -> None:
        """Remove one from a stopped or running program."""
        self.require("remove_breakpoint", "stopped", "running")
        async with self._engine("remove_breakpoint") as backend:
            await backend.remove_breakpoint(breakpoint_id)
        self.run.breakpoints.pop(breakpoint_id, None)

    async def remove_breakpoints(self) -> int:
        """Remove all that are left (a one-shot that fired is gone already); how many there were."""
        self.require("remove_breakpoint", "stopped", "running")
        async with self._engine("remove_breakpoint") as backend:
            left = await backend.breakpoints()
            for found in left:
                await backend.remove_breakpoint(found.id)
        self.run.breakpoints.clear()
        return len(left)

    async def list_breakpoints(self) -> tuple[Breakpoint, ...]:
        """All that are set, with their hit counts; as they were bound once the program has ended."""
        run = self.run
        if self.is_over:
            return tuple(replace(bound, pending=False) for _, bound in run.breakpoints.values())
        async with self._engine("list_breakpoints") as backend:
            return await backend.breakpoints()

    async def planned_breakpoints(self) -> tuple[Breakpoint, ...]:
        """Those set before the start, one-shots included, as they are at the first stop."""
        bound = tuple(found for _, found in self.run.breakpoints.values())
        if self.state == "running" or not any(found.pending for found in bound):
            return bound
        now = {found.id: found for found in await self.list_breakpoints()}
        return tuple(now.get(found.id, replace(found, pending=False)) for found in bound)

    async def resolve_place(self, command: str, at: str) -> Breakpoint:
        """What a breakpoint at ``at`` would be bound to; nothing is set."""
        place = self.in_present_file(at)
        self.run.check_place(place)
        async with self.inspecting(command) as backend:
            found = await backend.set_breakpoint(BreakpointSpec(at=place))
            await backend.remove_breakpoint(found.id)
        self.run.check_file(found.file)
        return found

    def in_present_file(self, at: str) -> str:
        """A bare line number means the file where the program stands."""
        outcome = self.outcome
        return f"{outcome.location.file}:{at}" if at.isdecimal() and isinstance(outcome, Stopped) else at

    @asynccontextmanager
    async def inspecting(self, command: str, seconds: float = ENGINE_SECONDS) -> AsyncGenerator[Backend]:
        """The engine, for one call on a stopped program that may take ``seconds``."""
        self.require(command, "stopped")
        async with self._engine(command, seconds) as backend:
            yield backend

    def require(self, command: str, *states: State) -> None:
        """Raise StateError unless the session is in one of ``states``; says what can be done now."""
        if self.state in states:
            return
        seconds = self.seconds_in_state
        match self.state:
            case "running" if self._mover is not None:
                raise BusyError(self._busy_text())
            case "running":
                raise StateError(
                    f"{command} needs a stopped program, and it has been running for {seconds:.1f} s: "
                    "continue_execution goes on waiting, where_am_i(all_threads=true) shows where it is"
                )
            case "stopped":
                raise StateError(
                    f"{command} needs a running program; it is stopped: continue_execution runs it"
                )
            case "starting":
                raise StateError(f"{command} is too early: the program is still starting")
            case "exited":
                raise StateError(
                    f"{command} needs a live program, and this one has ended: where_am_i repeats its report, "
                    "start_debugger starts it again"
                )
            case "failed":
                raise StateError(
                    f"{command} is not possible: {self.run.failure}; start_debugger starts again"
                )

    def new_output(self, limit_chars: int) -> OutputTail:
        """The end of what the program wrote since the last answer."""
        try:
            backend = self.run.backend
        except DebuggerError:
            return OutputTail()
        text, end, omitted = backend.read_output(None, limit_chars)
        if self._read_output == self._shown_output and not omitted:
            self._read_output = end
        self._shown_output = end
        return OutputTail(text=text, omitted=omitted)

    def read_output(self, cursor: int | None, limit_chars: int) -> tuple[str, int, int]:
        """Output from ``cursor``, or from where reading last ended."""
        start = self._read_output if cursor is None else cursor
        text, next_cursor, omitted = self.run.backend.read_output(start, limit_chars)
        if cursor is None:
            self._read_output = next_cursor
        return text, next_cursor, omitted

    def _check_can_step(self, command: str, kind: ResumeKind) -> None:
        outcome = self.outcome
        if kind != "continue" and isinstance(outcome, Stopped) and not outcome.can_step:
            raise StateError(
                f"{command} is not possible: the exception has already left this frame, so no line is next; "
                "examine_locals, where_am_i and run_expression work, continue_execution goes on after it"
            )

    async def _send_resume(self, kind: ResumeKind, until: tuple[str, int] | None) -> None:
        run = self.run
        before = run.outcome
        async with self._engine(kind, ENGINE_SECONDS + PAUSE_SECONDS) as backend:
            run.mark_running()
            self.selected_frame = 0
            try:
                with anyio.CancelScope(shield=True), anyio.fail_after(ENGINE_SECONDS):
                    await backend.resume(kind, until=until, all_code=run.plan.target.all_code)
            except DebuggerError:
                run.stay_stopped(before)
                raise
            except TimeoutError:
                raise EngineError("the program did not answer; stop_debugger ends it") from None

    async def _end_behind_failure(self) -> Exited | None:
        """The end that made the engine fail to move the program, if that was why."""
        run = self.run
        with anyio.move_on_after(ENDING_SECONDS):
            await run.finished.wait()
        if isinstance(run.outcome, Exited):
            run.is_news = False
            return run.outcome
        return None

    async def _settled(self, wait: Wait) -> Outcome | StillRunning:
        run = self.run
        started = anyio.current_time()
        while not run.settled.is_set():
            elapsed = anyio.current_time() - started
            if elapsed >= wait.seconds:
                return await self._still_running()
            with anyio.move_on_after(min(PROGRESS_SECONDS, wait.seconds - elapsed)):
                await run.settled.wait()
            if not run.settled.is_set():
                elapsed = anyio.current_time() - started
                await wait.progress(min(elapsed, wait.seconds), wait.seconds, f"running for {elapsed:.0f} s")
        if run.outcome is None or run.state == "failed":
            raise run.failure or EngineError("the program vanished; start_debugger starts it again")
        run.is_news = False
        return run.outcome

    async def _still_running(self) -> StillRunning:
        seconds = self.seconds_in_state
        threads: tuple[ThreadStack, ...] = ()
        with anyio.move_on_after(PAUSE_SECONDS):
            threads = await self.run.backend.threads()
        return StillRunning(seconds=seconds, threads=threads)

    @asynccontextmanager
    async def _moving(self, command: str, *states: State) -> AsyncGenerator[None]:
        if self._mover is not None:
            with anyio.move_on_after(LEAVING_SECONDS):
                await self._mover.left.wait()
        if self._mover is not None:
            raise BusyError(self._busy_text())
        self.require(command, *states)
        mine = _Mover(command=command, since=anyio.current_time())
        self._mover = mine
        try:
            yield
        finally:
            mine.left.set()
            if self._mover is mine:
                self._mover = None

    @asynccontextmanager
    async def _engine(self, command: str, seconds: float = ENGINE_SECONDS) -> AsyncGenerator[Backend]:
        acquired = False
        with anyio.move_on_after(PATIENCE_SECONDS):
            await self._engine_lock.acquire()
            acquired = True
        if not acquired:
            raise BusyError(f"busy: {self._engine_user} has not finished; ask again when it has answered")
        self._engine_user = command
        try:
            with self.run.call() as backend, anyio.fail_after(seconds):
                yield backend
        except TimeoutError:
            raise EngineError(
                f"{command} got no answer within {seconds:.0f} s: the program is inside a call that lets no "
                "other Python code run; stop_debugger ends it"
            ) from None
        finally:
            self._engine_lock.release()

    def _busy_text(self) -> str:
        mover = self._mover or _Mover(command="a command", since=anyio.current_time())
        seconds = anyio.current_time() - mover.since
        meanwhile = [name for name in MEANWHILE if name.partition("(")[0] in self._tools]
        return (
            f"busy: {mover.command} has been waiting for {seconds:.1f} s; meanwhile: {', '.join(meanwhile)}"
        )
