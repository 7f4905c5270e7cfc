"""The pdb engine: our own agent inside the target's interpreter.

The agent (``mcp_pdb.debuggee``) does the work; this class starts it, asks it
and keeps what it reports.
"""

import logging
from collections import deque
from pathlib import Path
from typing import Any

import anyio
from anyio.abc import TaskGroup

from mcp_pdb import wire_records
from mcp_pdb.agent_channel import AgentChannel
from mcp_pdb.errors import EngineError, InterpreterError, StateError
from mcp_pdb.launcher import CHANNEL_TOKEN, Launcher, LaunchSpec, Process, debuggee_environment
from mcp_pdb.output import OutputBuffer
from mcp_pdb.questions import Questions, signal_name
from mcp_pdb.records import (
    Breakpoint,
    BreakpointSpec,
    EngineFacts,
    Exited,
    Outcome,
    ResumeKind,
    Target,
    ThreadStack,
)
from mcp_pdb.run_notes import RunNotes

_ENTRY = Path(__file__).parent / "debuggee" / "traced_main.py"
_ABILITIES = frozenset({"send_input", "watch", "pdb_command", "trace_lines"})
_PAUSE_SECONDS = 0.5
_OLDEST = (3, 8)
_NO_FAREWELL = (
    "it ended without Python's own shutdown (os._exit, or it had closed the debugger's descriptor): "
    "why a breakpoint did not fire is not known"
)
logger = logging.getLogger(__name__)


def launch_spec(target: Target) -> LaunchSpec:
    """How the agent is started for a target; what is to run is told later, over the channel."""
    runner = ("pytest",) if target.kind == "pytest" else ()
    return LaunchSpec(
        argv=(target.interpreter, str(_ENTRY), CHANNEL_TOKEN, *runner),
        cwd=target.cwd,
        environment=debuggee_environment(target.environment),
        wants_channel=True,
    )


class PdbBackend(Questions):
    """One program under the agent (meets ``mcp_pdb.backend.Backend``)."""

    def __init__(self, task_group: TaskGroup) -> None:
        self._task_group = task_group
        self._output = OutputBuffer()
        self._notes = RunNotes()
        self._outcomes: deque[Outcome] = deque()
        self._arrived = anyio.Event()
        self._greeted = anyio.Event()
        self._stands = anyio.Event()
        self._hello: dict[str, Any] = {}
        self._ended: dict[str, Any] = {}
        self._process: Process | None = None
        self._channel: AgentChannel | None = None
        self._target = Target(kind="script", target="")
        self._thread: int | None = None
        self._has_breakpoints = False
        self._terminated = False

    @property
    def facts(self) -> EngineFacts:
        """Known after ``launch``."""
        return EngineFacts(
            engine="pdb",
            interpreter=self._hello.get("executable", self._target.interpreter),
            python_version=self._hello.get("version", ""),
            pid=self._hello.get("pid", 0),
            can=_ABILITIES,
            notes=tuple(self._notes.switched_off),
        )

    # -- life -------------------------------------------------------------------------

    async def launch(self, target: Target, launcher: Launcher) -> None:
        """Start the agent in the target's interpreter and wait for its greeting."""
        self._target = target
        process = self._process = await launcher.launch(launch_spec(target))
        if process.channel is None:
            raise EngineError(
                "The launcher gave no channel to the debuggee; use one that passes descriptors on."
            )
        self._output.attach(process.stdout, process.stderr)
        self._task_group.start_soon(self._output.pump, process.stdout)
        self._task_group.start_soon(self._output.pump, process.stderr)
        self._channel = AgentChannel(process.channel, self._on_event)
        self._task_group.start_soon(self._channel.read, self._after_end)
        await self._greeted.wait()
        if not self._hello:
            raise self._start_failure()

    def _start_failure(self) -> InterpreterError:
        text, _, _ = self._output.take(None, 400)
        return InterpreterError(
            f"{self._target.interpreter} did not start as a Python {_OLDEST[0]}.{_OLDEST[1]} or later"
            + (f": {text.strip()}" if text.strip() else "")
            + "; choose another interpreter with python=."
        )

    async def _after_end(self) -> None:
        """The channel has closed: the program has ended, or is about to."""
        self._greeted.set()
        process = self._process
        if process is None:
            return
        code = await process.wait()
        self._output.collect()
        self._deliver(
            Exited(
                code=code if code >= 0 else None,
                signal=None if code >= 0 else signal_name(-code),
                summary=(*self._notes.summary(), *self._silence(code)),
                verdicts=tuple(wire_records.verdict_of(item) for item in self._ended.get("verdicts", ())),
                logs=wire_records.logs_of(self._ended.get("logs", [])),
            )
        )

    def _silence(self, code: int) -> tuple[str, ...]:
        """Why nothing is known of the breakpoints, where the agent could not say goodbye."""
        is_silent = self._has_breakpoints and self._hello and not self._ended
        return (_NO_FAREWELL,) if is_silent and code >= 0 else ()

    def _on_event(self, event: dict[str, Any]) -> None:
        match event["event"]:
            case "hello":
                self._hello = event
                self._greeted.set()
            case "stopped":
                self._thread = event["thread_ident"]
                self._deliver(wire_records.stopped_of(event))
            case "note":
                self._notes.add(event["kind"], event["data"])
            case "ended":
                self._ended = event
            case "internal":
                logger.error("the agent failed inside the program:\n%s", event["traceback"])
            case _:
                logger.warning("unknown event %s", event["event"])

    def _deliver(self, outcome: Outcome) -> None:
        self._stands.set()
        self._outcomes.append(outcome)
        self._arrived.set()

    async def begin(self, *, stop_at_entry: bool) -> None:
        """Let the program run."""
        await self._ask("begin", spec=wire_records.run_fields(self._target, stop_at_entry=stop_at_entry))

    async def wait(self) -> Outcome:
        """The next stop or the end. Cancelling loses nothing."""
        while not self._outcomes:
            self._arrived = anyio.Event()
            await self._arrived.wait()
        return self._outcomes.popleft()

    async def terminate(self) -> None:
        """End the debuggee and all its descendants; idempotent."""
        if self._process is None or self._terminated:
            return
        self._terminated = True
        self._output.collect()
        await self._process.aclose()

    # -- moving -----------------------------------------------------------------------

    async def resume(
        self, kind: ResumeKind, *, until: tuple[str, int] | None = None, all_code: bool = False
    ) -> None:
        """Move on from a stop."""
        params: dict[str, Any] = {"kind": kind, "all_code": all_code}
        if until is not None:
            params |= {"file": until[0], "line": until[1]}
        self._stands = anyio.Event()
        await self._ask("resume", **params)

    async def pause(self) -> bool:
        """Ask a running program to stop; True when a stop has come."""
        await self._ask("pause")
        with anyio.move_on_after(_PAUSE_SECONDS):
            await self._stands.wait()
        return self._stands.is_set()

    async def set_breakpoint(self, spec: BreakpointSpec) -> Breakpoint:
        """Resolve, verify and set. Raises BreakpointError."""
        self._has_breakpoints = True
        return wire_records.breakpoint_of(await self._set(wire_records.spec_fields(spec)))

    async def _set(self, fields: dict[str, Any]) -> dict[str, Any]:
        root = self._target.root or self._target.cwd
        return await self._ask("set_breakpoint", spec=fields, cwd=self._target.cwd, root=root)

    async def remove_breakpoint(self, breakpoint_id: int) -> None:
        """Raises BreakpointError when there is none with that id."""
        await self._ask("remove_breakpoint", number=breakpoint_id)

    async def breakpoints(self) -> tuple[Breakpoint, ...]:
        """All that are set, with their hit counts."""
        return tuple(wire_records.breakpoint_of(item) for item in await self._ask("breakpoints"))

    async def watch(self, expression: str, *, frame: int, mode: str) -> None:
        """Stop when the expression's value changes."""
        await self._ask("watch", expression=expression, frame=frame, mode=mode)

    # -- asking -----------------------------------------------------------------------

    async def threads(self) -> tuple[ThreadStack, ...]:
        """Every thread and asyncio task, also while the program runs."""
        return tuple(wire_records.thread_of(item, self._thread) for item in await self._ask("threads"))

    async def send_input(self, text: str) -> None:
        """Write to the program's own standard input."""
        if self._process is None:
            raise StateError("The program has not started; start_debugger starts one.")
        await self._process.write_stdin(text.encode(errors="replace"))

    def read_output(self, cursor: int | None, limit_chars: int) -> tuple[str, int, int]:
        """Program output from ``cursor``."""
        return self._output.take(cursor, limit_chars)

    async def _set_trace(self, fields: dict[str, Any]) -> dict[str, Any]:
        return await self._set(fields)

    def _last_rows(self) -> dict[str, list[list[str]]]:
        return self._ended.get("rows", {})

    async def _ask(self, operation: str, **arguments: Any) -> Any:
        if self._channel is None:
            raise StateError("The program has not started; start_debugger starts one.")
        return await self._channel.request(operation, **arguments)
