"""What every engine asks its agent in the same words, and how both say that a program ended."""

import signal
from abc import ABC, abstractmethod
from typing import Any, Literal

from mcp_pdb import wire_records
from mcp_pdb.records import Evaluation, Exited, Frame, Outcome, VariablePage


class Questions(ABC):
    """The questions about a stopped program: they travel to the agent and come back as records."""

    @abstractmethod
    async def _ask(self, operation: str, **arguments: Any) -> Any:
        """The agent's answer. Raises what it refused, as a DebuggerError."""

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


def signal_name(number: int) -> str:
    """The name of a signal, such as SIGSEGV."""
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def finish_of(
    outcome: Outcome | None, rows: int, max_hits: int
) -> Literal["max_hits", "exited", "stopped", "timeout"]:
    """What ended a trace."""
    if outcome is None:
        return "timeout"
    if isinstance(outcome, Exited):
        return "exited"
    return "max_hits" if rows >= max_hits else "stopped"
