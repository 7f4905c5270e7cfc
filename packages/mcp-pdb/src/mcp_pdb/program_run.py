"""One launch of a program: its engine, and the task that waits for what it does next.

``serve`` runs in a task of its own for as long as the program lives. Whoever
wants to know awaits ``ready`` or ``settled``; cancelling such a wait, or
letting it time out, touches nothing here. That is what keeps a session in
step with its program whatever its clients do.
"""

import logging
from collections.abc import AsyncGenerator, Generator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import anyio
from anyio.abc import TaskGroup

from mcp_pdb.backend import Backend
from mcp_pdb.engines import BackendFactory
from mcp_pdb.errors import BreakpointError, DebuggerError, EngineError
from mcp_pdb.launcher import Launcher
from mcp_pdb.records import Breakpoint, BreakpointSpec, EngineName, Exited, Outcome, Target

State = Literal["starting", "stopped", "running", "exited", "failed"]
ENDED: tuple[State, ...] = ("exited", "failed")
TERMINATE_SECONDS = 10.0

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class StartPlan:
    """What to start and how."""

    target: Target
    engine: EngineName
    breakpoints: tuple[BreakpointSpec, ...] = ()
    run: bool = False
    """Go to the first hit instead of stopping at the entry."""
    launch_seconds: float = 30.0
    roots: tuple[str, ...] = ()
    """Folders that breakpoints must lie in; empty allows any."""


class ProgramRun:
    """A program from its launch to its end."""

    def __init__(self, plan: StartPlan, launcher: Launcher, make_backend: BackendFactory) -> None:
        self.plan = plan
        self.state: State = "starting"
        self.since = anyio.current_time()
        """When the state last changed, on the event loop's clock."""
        self.outcome: Outcome | None = None
        self.is_news = False
        """True while nobody has been told of ``outcome``: it happened when nobody waited."""
        self.failure: DebuggerError | None = None
        self.breakpoints: dict[int, tuple[BreakpointSpec, Breakpoint]] = {}
        """Everything set in this run and not removed; kept for listing and restart."""
        self.refused: list[str] = []
        """Breakpoints of the plan that could not be set, and why."""
        self.ready = anyio.Event()
        self.settled = anyio.Event()
        self.finished = anyio.Event()
        """Set when nothing of the program is left."""
        self._launcher = launcher
        self._make_backend = make_backend
        self._backend: Backend | None = None
        self._scope = anyio.CancelScope()
        self._wait_scope = anyio.CancelScope()
        self._calls: set[anyio.CancelScope] = set()
        self._may_wait = anyio.Event()
        self._may_wait.set()
        self._parked = anyio.Event()

    @property
    def backend(self) -> Backend:
        """The engine; raises the failure, or says that it is not there yet."""
        if self._backend is None:
            raise self.failure or EngineError("the program is still starting; try again in a moment")
        return self._backend

    async def serve(self) -> None:
        """Launch, let the program run, and note every stop until it ends."""
        try:
            with self._scope:
                await self._contained()
        finally:
            if self.state not in ENDED:
                self.fail(EngineError("the session was stopped"))
            self.ready.set()
            self.finished.set()
            for scope in self._calls:
                scope.cancel()

    @contextmanager
    def call(self) -> Generator[Backend]:
        """The engine, for a call that ends with the run at the latest. Raises what ended it."""
        with anyio.CancelScope() as scope:
            self._calls.add(scope)
            try:
                yield self.backend
            finally:
                self._calls.discard(scope)
        if scope.cancelled_caught:
            raise self.failure or EngineError(
                "the program ended before it answered; where_am_i has its report"
            )

    async def stop(self) -> None:
        """End the program and everything it started; idempotent."""
        self._scope.cancel()
        await self.finished.wait()

    async def set_breakpoint(self, backend: Backend, spec: BreakpointSpec) -> Breakpoint:
        """Set, check that it lies within the roots, and remember. Raises BreakpointError."""
        self.check_place(spec.at)
        found = await backend.set_breakpoint(spec)
        try:
            self.check_file(found.file)
        except BreakpointError:
            await backend.remove_breakpoint(found.id)
            raise
        self.breakpoints[found.id] = (spec, found)
        return found

    def check_place(self, at: str) -> None:
        """Raise BreakpointError when ``at`` names a file outside the roots, before anything reads it."""
        file = at.partition("~")[0] if "~" in at else at.rpartition(":")[0]
        target = self.plan.target
        if file and not any(self._is_allowed(str(Path(base, file))) for base in (target.cwd, target.root)):
            raise self._outside(file)

    def check_file(self, file: str) -> None:
        """Raise BreakpointError when a file lies outside the roots."""
        if not self._is_allowed(file):
            raise self._outside(file)

    def _is_allowed(self, file: str) -> bool:
        roots = self.plan.roots
        return not roots or any(Path(file).resolve().is_relative_to(Path(root).resolve()) for root in roots)

    def _outside(self, file: str) -> BreakpointError:
        return BreakpointError(
            f"{file} is outside the allowed folders ({', '.join(self.plan.roots)}): give a place inside them"
        )

    def mark_running(self) -> None:
        """A resume is about to be sent."""
        self._enter("running")
        self.settled = anyio.Event()

    def settle(self, outcome: Outcome) -> None:
        """Note a stop or the end and wake everyone who waits for it."""
        self.outcome = outcome
        self.is_news = True
        self._enter("exited" if isinstance(outcome, Exited) else "stopped")
        self.settled.set()

    def stay_stopped(self, outcome: Outcome | None) -> None:
        """The resume that ``mark_running`` announced did not happen."""
        if outcome is not None and self.state == "running":
            self.settle(outcome)
            self.is_news = False

    def fail(self, error: DebuggerError) -> None:
        """The run cannot go on; everyone who waits learns why."""
        self.failure = error
        self._enter("failed")
        self.settled.set()

    @asynccontextmanager
    async def waiting_suspended(self) -> AsyncGenerator[None]:
        """While inside, outcomes are the caller's to collect: nobody here waits on the engine."""
        self._may_wait = anyio.Event()
        self._wait_scope.cancel()
        await self._parked.wait()
        try:
            yield
        finally:
            self._may_wait.set()

    def _enter(self, state: State) -> None:
        self.state = state
        self.since = anyio.current_time()

    async def _contained(self) -> None:
        try:
            async with anyio.create_task_group() as group:
                await self._drive(group)
                group.cancel_scope.cancel()
        except Exception:  # one broken engine must not end the other sessions
            logger.exception("the engine of %s broke", self.plan.target.target)
            self.fail(EngineError("the debugger's engine broke unexpectedly; stop_debugger and start again"))

    async def _drive(self, group: TaskGroup) -> None:
        backend = self._make_backend(self.plan.engine, group)
        try:
            if await self._launched(backend):
                await self._watch(backend)
        finally:
            with anyio.move_on_after(TERMINATE_SECONDS, shield=True):
                await backend.terminate()

    async def _launched(self, backend: Backend) -> bool:
        try:
            with anyio.fail_after(self.plan.launch_seconds):
                await backend.launch(self.plan.target, self._launcher)
            self._backend = backend
            for spec in self.plan.breakpoints:
                await self._set_planned(backend, spec)
            self.mark_running()
            await backend.begin(stop_at_entry=not self.plan.run or bool(self.refused))
        except DebuggerError as error:
            self.fail(error)
        except TimeoutError:
            seconds = self.plan.launch_seconds
            self.fail(EngineError(f"the program did not connect to the debugger within {seconds:.0f} s"))
        self.ready.set()
        return self.failure is None

    async def _set_planned(self, backend: Backend, spec: BreakpointSpec) -> None:
        try:
            await self.set_breakpoint(backend, spec)
        except DebuggerError as error:
            self.refused.append(f"breakpoint {spec.at} was not set: {error}")

    async def _watch(self, backend: Backend) -> None:
        while self.state not in ENDED:
            self._parked.set()
            await self._may_wait.wait()
            self._parked = anyio.Event()
            with anyio.CancelScope() as self._wait_scope:
                try:
                    self.settle(await backend.wait())
                except DebuggerError as error:
                    self.fail(error)
