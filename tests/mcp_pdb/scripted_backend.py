"""An engine that does as it is told, for failures that no real program produces on demand."""

from collections.abc import Callable

import anyio
from anyio.abc import TaskGroup
from mcp_pdb.engines import BackendFactory
from mcp_pdb.errors import EngineError
from mcp_pdb.launcher import Launcher
from mcp_pdb.records import (
    Breakpoint,
    BreakpointSpec,
    EngineFacts,
    EngineName,
    Evaluation,
    Frame,
    Location,
    Outcome,
    ResumeKind,
    Stopped,
    Target,
    ThreadStack,
    TraceTable,
    VariablePage,
)

HERE = Location(file="/nowhere/program.py", line=1, function="main")
ENTRY = Stopped(reason="entry", thread="MainThread", thread_ident=1, location=HERE, source=())


class ScriptedBackend:
    """Stops at once; a test replaces what should go wrong."""

    def __init__(self, _task_group: TaskGroup) -> None:
        self.outcomes: list[Outcome | Exception] = [ENTRY]
        self.launching: Callable[[], object] | None = None
        self.locals_page: VariablePage | Exception = VariablePage(heading="", variables=())
        self.terminated = False

    @property
    def facts(self) -> EngineFacts:
        return EngineFacts(engine="pdb", interpreter="/nowhere/python", python_version="3.11.7", pid=1)

    async def launch(self, target: Target, launcher: Launcher) -> None:
        if self.launching is not None:
            await anyio.sleep_forever()

    async def begin(self, *, stop_at_entry: bool) -> None: ...

    async def wait(self) -> Outcome:
        if not self.outcomes:
            await anyio.sleep_forever()
        outcome = self.outcomes.pop(0)
        if isinstance(outcome, Exception):
            raise outcome
        return outcome

    async def resume(
        self, kind: ResumeKind, *, until: tuple[str, int] | None = None, all_code: bool = False
    ) -> None: ...

    async def pause(self) -> bool:
        return False

    async def set_breakpoint(self, spec: BreakpointSpec) -> Breakpoint:
        return Breakpoint(id=1, at=spec.at, file="/nowhere/program.py", line=1, function="main", text="pass")

    async def remove_breakpoint(self, breakpoint_id: int) -> None: ...

    async def breakpoints(self) -> tuple[Breakpoint, ...]:
        return ()

    async def stack(self, limit: int = 50) -> tuple[Frame, ...]:
        return ()

    async def threads(self) -> tuple[ThreadStack, ...]:
        return ()

    async def examine_locals(
        self, *, frame: int, name_filter: str | None, cursor: int, limit_chars: int
    ) -> VariablePage:
        if isinstance(self.locals_page, Exception):
            raise self.locals_page
        return self.locals_page

    async def print_variable(
        self, *, path: str, frame: int, depth: int, cursor: int, limit_chars: int
    ) -> VariablePage:
        raise EngineError("not scripted")

    async def evaluate(
        self, code: str, *, frame: int, timeout_seconds: float, limit_chars: int
    ) -> Evaluation:
        return Evaluation(value="x" * 100_000)

    async def set_variable(self, *, path: str, expression: str, frame: int) -> Evaluation:
        raise EngineError("not scripted")

    async def watch(self, expression: str, *, frame: int, mode: str) -> None: ...

    async def trace_lines(
        self, where: BreakpointSpec, expressions: tuple[str, ...], *, max_hits: int, timeout_seconds: float
    ) -> tuple[TraceTable, Outcome | None]:
        raise EngineError("not scripted")

    async def pdb_command(self, command: str, *, frame: int, limit_chars: int) -> str:
        return "y" * 100_000

    async def send_input(self, text: str) -> None: ...

    def read_output(self, cursor: int | None, limit_chars: int) -> tuple[str, int, int]:
        return "", 0, 0

    async def terminate(self) -> None:
        self.terminated = True


def scripted(
    prepare: Callable[[ScriptedBackend], object], made: list[ScriptedBackend] | None = None
) -> BackendFactory:
    """A factory of engines that ``prepare`` has set up; they are appended to ``made``."""

    def make(_engine: EngineName, task_group: TaskGroup) -> ScriptedBackend:
        backend = ScriptedBackend(task_group)
        prepare(backend)
        if made is not None:
            made.append(backend)
        return backend

    return make
