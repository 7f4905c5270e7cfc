"""The protocol every engine meets.

An engine owns one debuggee. Its methods are called by one session, one at a
time, except ``pause``, ``threads``, ``terminate`` and ``send_input``, which may come at any
moment. Failures are ``mcp_pdb.errors``; a method that is cancelled leaves the
engine usable: only the waiting ends, and what the debuggee reports later is
delivered to the next ``wait``.
"""

from typing import Protocol

from mcp_pdb.launcher import Launcher
from mcp_pdb.records import (
    Breakpoint,
    BreakpointSpec,
    EngineFacts,
    Evaluation,
    Frame,
    Outcome,
    ResumeKind,
    Target,
    ThreadStack,
    TraceTable,
    VariablePage,
)


class Backend(Protocol):
    """One debuggee under one engine."""

    @property
    def facts(self) -> EngineFacts:
        """Known after ``launch``."""
        ...

    async def launch(self, target: Target, launcher: Launcher) -> None:
        """Start the process and connect; no line of the program has run when it returns.

        Raises TargetError or EngineError.
        """
        ...

    async def begin(self, *, stop_at_entry: bool) -> None:
        """Let the program run; ``stop_at_entry`` asks for a stop at its first line."""
        ...

    async def wait(self) -> Outcome:
        """The next stop or the end. Cancelling loses nothing."""
        ...

    async def resume(
        self, kind: ResumeKind, *, until: tuple[str, int] | None = None, all_code: bool = False
    ) -> None:
        """Move on from a stop; ``until`` is (file, line) for kind "until"."""
        ...

    async def pause(self) -> bool:
        """Ask a running program to stop; True when a stop follows, False when it cannot yet."""
        ...

    async def set_breakpoint(self, spec: BreakpointSpec) -> Breakpoint:
        """Resolve, verify and set. Raises BreakpointError."""
        ...

    async def remove_breakpoint(self, breakpoint_id: int) -> None:
        """Raises BreakpointError when there is none with that id."""
        ...

    async def breakpoints(self) -> tuple[Breakpoint, ...]:
        """All that are set, with their hit counts."""
        ...

    async def stack(self, limit: int = 50) -> tuple[Frame, ...]:
        """The stopped thread's visible frames, innermost first."""
        ...

    async def threads(self) -> tuple[ThreadStack, ...]:
        """Every thread and asyncio task, also while the program runs or is deadlocked."""
        ...

    async def examine_locals(
        self, *, frame: int, name_filter: str | None, cursor: int, limit_chars: int
    ) -> VariablePage:
        """A page of a frame's names; ``name_filter`` "" shows all. Raises InspectionError."""
        ...

    async def print_variable(
        self, *, path: str, frame: int, depth: int, cursor: int, limit_chars: int
    ) -> VariablePage:
        """One value opened ``depth`` levels. Raises InspectionError."""
        ...

    async def evaluate(
        self, code: str, *, frame: int, timeout_seconds: float, limit_chars: int
    ) -> Evaluation:
        """Evaluate an expression or run a statement in a frame, under a deadline."""
        ...

    async def set_variable(self, *, path: str, expression: str, frame: int) -> Evaluation:
        """Assign to a local, global, attribute or item."""
        ...

    async def watch(self, expression: str, *, frame: int, mode: str) -> None:
        """Stop when the expression's value changes; mode "equality" or "identity".

        Raises UnsupportedError on an engine that cannot.
        """
        ...

    async def trace_lines(
        self, where: BreakpointSpec, expressions: tuple[str, ...], *, max_hits: int, timeout_seconds: float
    ) -> tuple[TraceTable, Outcome | None]:
        """Run on and tabulate; the outcome is the stop or end that cut it short, if any."""
        ...

    async def pdb_command(self, command: str, *, frame: int, limit_chars: int) -> str:
        """Run an inspecting pdb command on the stopped frame and return its text."""
        ...

    async def send_input(self, text: str) -> None:
        """Write to the program's own standard input."""
        ...

    def read_output(self, cursor: int | None, limit_chars: int) -> tuple[str, int, int]:
        """Program output from ``cursor`` (None: after what was last taken).

        Returns (text, next cursor, characters left out before the text).
        """
        ...

    async def terminate(self) -> None:
        """End the debuggee and all its descendants; idempotent."""
        ...
