"""What every engine asks its agent in the same words, and how both say that a program ended."""

import signal
from abc import ABC, abstractmethod
from contextlib import suppress
from typing import Any, Literal

import anyio

from mcp_pdb import wire_records
from mcp_pdb.errors import DebuggerError
from mcp_pdb.records import (
    BreakpointSpec,
    Evaluation,
    Exited,
    Frame,
    Outcome,
    ResumeKind,
    TraceTable,
    VariablePage,
)

_CLEARING_SECONDS = 2.0


class Questions(ABC):
    """The questions about a stopped program: they travel to the agent and come back as records."""

    @abstractmethod
    async def _ask(self, operation: str, **arguments: Any) -> Any:
        """The agent's answer. Raises what it refused, as a DebuggerError."""

    @abstractmethod
    async def _set_trace(self, fields: dict[str, Any]) -> dict[str, Any]:
        """Set a breakpoint that tabulates; asking for its ``rows`` removes it."""

    @abstractmethod
    def _last_rows(self) -> dict[str, list[list[str]]]:
        """The rows that an ended program has told, by the breakpoint's number."""

    @abstractmethod
    async def resume(
        self, kind: ResumeKind, *, until: tuple[str, int] | None = None, all_code: bool = False
    ) -> None:
        """Move on from a stop."""

    @abstractmethod
    async def wait(self) -> Outcome:
        """The next stop or the end."""

    async def stack(self, limit: int = 50) -> tuple[Frame, ...]:
        """The stopped thread's visible frames, innermost first."""
        answer = await self._ask("stack", limit=limit)
        return tuple(wire_records.frame_of(frame) for frame in answer["frames"])

    async def examine_locals(
        self, *, frame: int, name_filter: str | None, cursor: int, limit_chars: int
    ) -> VariablePage:
        """A page of a frame's names."""
        answer = await self._ask(
            "examine_locals", frame=frame, name_filter=name_filter, cursor=cursor, limit_chars=limit_chars
        )
        return wire_records.page_of(answer)

    async def print_variable(
        self, *, path: str, frame: int, depth: int, cursor: int, limit_chars: int
    ) -> VariablePage:
        """One value, opened."""
        answer = await self._ask(
            "print_variable", path=path, frame=frame, depth=depth, cursor=cursor, limit_chars=limit_chars
        )
        return wire_records.page_of(answer)

    async def evaluate(
        self, code: str, *, frame: int, timeout_seconds: float, limit_chars: int
    ) -> Evaluation:
        """Evaluate an expression or run a statement in a frame, under a deadline."""
        answer = await self._ask(
            "evaluate", code=code, frame=frame, timeout_seconds=timeout_seconds, limit_chars=limit_chars
        )
        return wire_records.evaluation_of(answer)

    async def set_variable(self, *, path: str, expression: str, frame: int) -> Evaluation:
        """Assign to a local, global, attribute or item."""
        answer = await self._ask("set_variable", path=path, expression=expression, frame=frame)
        return wire_records.evaluation_of(answer)

    async def pdb_command(self, command: str, *, frame: int, limit_chars: int) -> str:
        """Run an inspecting pdb command on the stopped frame and return its text."""
        answer = await self._ask("pdb_command", command=command, frame=frame, limit_chars=limit_chars)
        return str(answer["text"])

    async def trace_lines(
        self, where: BreakpointSpec, expressions: tuple[str, ...], *, max_hits: int, timeout_seconds: float
    ) -> tuple[TraceTable, Outcome | None]:
        """Run on and tabulate; nothing of the trace is left behind, also when it is cancelled."""
        fields = wire_records.spec_fields(where) | {"log": list(expressions)}
        placed = await self._set_trace(fields | {"trace": True, "hidden": True, "max_hits": max_hits})
        number = placed["id"]
        outcome: Outcome | None = None
        try:
            await self.resume("continue")
            with anyio.move_on_after(timeout_seconds):
                outcome = await self.wait()
        except BaseException:  # nobody will read the table: cancelled, or the engine broke
            with anyio.move_on_after(_CLEARING_SECONDS, shield=True), suppress(DebuggerError):
                await self._ask("rows", number=number)
            raise
        if isinstance(outcome, Exited):
            rows = self._last_rows().get(str(number), [])
        else:
            rows = (await self._ask("rows", number=number))["rows"]
        table = TraceTable(
            columns=expressions,
            rows=tuple(tuple(row) for row in rows),
            hits=len(rows),
            finished=_finish_of(outcome, len(rows), max_hits),
        )
        return table, outcome


def signal_name(number: int) -> str:
    """The name of a signal, such as SIGSEGV."""
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def _finish_of(
    outcome: Outcome | None, rows: int, max_hits: int
) -> Literal["max_hits", "exited", "stopped", "timeout"]:
    """What ended a trace."""
    if outcome is None:
        return "timeout"
    if isinstance(outcome, Exited):
        return "exited"
    return "max_hits" if rows >= max_hits else "stopped"
