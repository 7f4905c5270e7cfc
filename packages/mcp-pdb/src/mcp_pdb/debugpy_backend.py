"""The debugpy engine: pydevd, which is debugpy's part inside the program, spoken to in DAP.

A launched program speaks DAP over its inherited channel, so no port and no
adapter process is needed, and its standard streams are its own. Attaching goes
through debugpy's adapter (``debugpy_attach``), and children that the program
starts connect back over the loopback interface (``debugpy_children``).
"""

import signal
from collections import deque
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import anyio
from anyio.abc import TaskGroup

from mcp_pdb import debugpy_attach, wire_records
from mcp_pdb.dap_client import DapError
from mcp_pdb.debugpy_children import Children
from mcp_pdb.debugpy_process import DebugpyProcess
from mcp_pdb.errors import (
    DebuggerError,
    EngineError,
    InterpreterError,
    StateError,
    UnsupportedError,
)
from mcp_pdb.launcher import CHANNEL_TOKEN, Launcher, LaunchSpec, Process, debuggee_environment
from mcp_pdb.output import OutputBuffer
from mcp_pdb.questions import Questions, signal_name
from mcp_pdb.records import (
    Breakpoint,
    BreakpointSpec,
    BreakpointVerdict,
    EngineFacts,
    Exited,
    Outcome,
    ResumeKind,
    Stopped,
    Target,
    ThreadStack,
)
from mcp_pdb.run_notes import RunNotes

_ENTRY = Path(__file__).parent / "debuggee" / "debugpy_main.py"
_ABILITIES = frozenset({"attach", "follow_children", "send_input", "pdb_command", "trace_lines"})
_PAUSE_SECONDS = 1.0
_LEAVE_SECONDS = 3.0
_NOT_STARTED = "The program has not started; start_debugger starts one."


class DebugpyBackend(Questions):
    """One program under pydevd (meets ``mcp_pdb.backend.Backend``)."""

    def __init__(self, task_group: TaskGroup, *, follow_children: bool = True) -> None:
        self._task_group = task_group
        self._follow_children = follow_children
        self._output = OutputBuffer()
        self._notes = RunNotes()
        self._outcomes: deque[tuple[DebugpyProcess | None, Outcome]] = deque()
        self._arrived = anyio.Event()
        self._stands = anyio.Event()
        self._ended: dict[str, Any] = {}
        self._process: Process | None = None
        self._main: DebugpyProcess | None = None
        self._children: Children | None = None
        self._current: DebugpyProcess | None = None
        self._target = Target(kind="script", target="")
        self._thread: int | None = None
        self._terminated = False

    @property
    def facts(self) -> EngineFacts:
        """Known after ``launch``."""
        hello = self._main.hello if self._main is not None else {}
        return EngineFacts(
            engine="debugpy",
            interpreter=hello.get("executable", self._target.interpreter),
            python_version=hello.get("python_version", ""),
            pid=hello.get("pid", 0),
            can=_ABILITIES - self._inabilities(hello),
            notes=tuple(self._notes.switched_off),
        )

    def _inabilities(self, hello: dict[str, Any]) -> set[str]:
        if self._target.kind == "attach":
            return {"send_input"}
        return set() if hello.get("follows_children") else {"follow_children"}

    # -- life -------------------------------------------------------------------------

    async def launch(self, target: Target, launcher: Launcher) -> None:
        """Start pydevd in the target's interpreter and configure it; or attach to a running process."""
        self._target = target
        if target.kind == "attach":
            await self._attach(target, launcher)
            return
        port, token = "0", ""
        if self._follow_children:
            children = self._children = Children(target, self._on_event)
            await self._task_group.start(children.serve)
            port, token = str(children.port), children.token
        flags = ("-X", "frozen_modules=off")
        spec = LaunchSpec(
            argv=(target.interpreter, *flags, str(_ENTRY), CHANNEL_TOKEN, _pydevd(), port, token),
            cwd=target.cwd,
            environment=debuggee_environment(target.environment),
            wants_channel=True,
        )
        process = self._process = await launcher.launch(spec)
        if process.channel is None:
            raise EngineError(
                "The launcher gave no channel to the debuggee; use one that passes descriptors on."
            )
        self._output.attach(process.stdout, process.stderr)
        self._task_group.start_soon(self._output.pump, process.stdout)
        self._task_group.start_soon(self._output.pump, process.stderr)
        main = self._main = self._current = DebugpyProcess(process.channel, self._on_event)
        self._task_group.start_soon(self._serve_main, main)
        try:
            await main.configure(token=token, cwd=target.cwd, root=target.root or target.cwd)
        except EngineError:
            raise self._start_failure() from None

    async def _attach(self, target: Target, launcher: Launcher) -> None:
        place = debugpy_attach.place_of(target.target)
        stream = await debugpy_attach.connect(place, launcher)
        self._children = Children(target, self._on_event)
        main = DebugpyProcess(stream, self._on_event)
        self._task_group.start_soon(self._serve_attached, main)
        root = target.root or target.cwd
        try:
            with anyio.fail_after(place.seconds):
                await main.attach(place.arguments, cwd=target.cwd, root=root, breakpoints={})
        except (EngineError, DapError, TimeoutError) as error:
            await main.client.aclose()
            raise debugpy_attach.failure(
                target.target, str(error), self._output.take(None, 2000)[0]
            ) from None
        self._main = self._current = main

    async def _serve_attached(self, main: DebugpyProcess) -> None:
        await main.client.serve()
        if main is self._main and not self._terminated:
            self._deliver(
                None,
                Exited(code=None, summary=("the attached process has ended",), verdicts=self._verdicts()),
            )

    async def _serve_main(self, main: DebugpyProcess) -> None:
        await main.client.serve()
        process = self._process
        if process is None:
            return
        code = await process.wait()
        self._output.collect()
        self._deliver(
            None,
            Exited(
                code=code if code >= 0 else None,
                signal=None if code >= 0 else signal_name(-code),
                summary=self._notes.summary() + self._known_abort(code),
                verdicts=self._verdicts(),
                logs=wire_records.logs_of(self._ended.get("logs", [])),
            ),
        )

    def _known_abort(self, code: int) -> tuple[str, ...]:
        if code != -signal.SIGABRT or not self.facts.python_version.startswith("3.8."):
            return ()
        return (
            "Python 3.8 aborts where debugpy traces a program at its recursion limit; if it recurses without "
            "end, start with engine='pdb'",
        )

    def _verdicts(self) -> tuple[BreakpointVerdict, ...]:
        verdicts = (wire_records.verdict_of(item) for item in self._ended.get("verdicts", ()))
        if self._children is None:
            return tuple(verdicts)
        hits = self._children.hits_of_the_dead
        return tuple(
            replace(verdict, hit_count=verdict.hit_count + hits[verdict.breakpoint.id], explanation=None)
            if hits[verdict.breakpoint.id]
            else verdict
            for verdict in verdicts
        )

    def _start_failure(self) -> InterpreterError:
        text, _, _ = self._output.take(None, 400)
        return InterpreterError(
            f"{self._target.interpreter} did not start as a Python 3.8 or later"
            + (f": {text.strip()}" if text.strip() else "")
            + "; choose another interpreter with python=."
        )

    def _on_event(self, process: DebugpyProcess, name: str, body: dict[str, Any]) -> None:
        match name:
            case "stopped" if "mcpPdb" in body:
                self._deliver(process, self._stop_of(process, body["mcpPdb"]))
            case "mcpPdbNote":
                self._notes.add(body["kind"], body["data"])
            case "mcpPdbEnded" if process is self._main:
                self._ended = body
            case "debugpyAttach":
                self._fetch_child(body)
            case "output" if body.get("category") in ("stdout", "stderr"):
                self._output.feed(body.get("output", ""))
            case _:
                pass

    def _fetch_child(self, body: dict[str, Any]) -> None:
        if self._children is not None and "connect" in body:
            arguments = {"subProcessId": body["subProcessId"]}
            self._task_group.start_soon(self._children.fetch, body["connect"], arguments)

    def _stop_of(self, process: DebugpyProcess, report: dict[str, Any]) -> Stopped:
        stop = wire_records.stopped_of(report)
        if process is self._main:
            return stop
        return replace(stop, thread=f"{stop.thread} of child process {process.pid}")

    def _deliver(self, process: DebugpyProcess | None, outcome: Outcome) -> None:
        self._stands.set()
        self._outcomes.append((process, outcome))
        self._arrived.set()

    async def begin(self, *, stop_at_entry: bool) -> None:
        """Let the program run; one that was attached to runs already."""
        if self._process is None:
            if stop_at_entry:
                await self.pause()
            return
        await self._here().begin(wire_records.run_fields(self._target, stop_at_entry=stop_at_entry))

    async def wait(self) -> Outcome:
        """The next stop or the end. Cancelling loses nothing."""
        while not self._outcomes:
            self._arrived = anyio.Event()
            await self._arrived.wait()
        process, outcome = self._outcomes.popleft()
        if not isinstance(outcome, Exited):
            self._current = process
            self._thread = outcome.thread_ident
        return outcome

    async def terminate(self) -> None:
        """End the debuggee and all its descendants, or leave what was attached to; idempotent."""
        if self._terminated:
            return
        self._terminated = True
        self._output.collect()
        if self._process is not None:
            await self._process.aclose()
        elif self._main is not None:
            await self._leave(self._main)

    async def _leave(self, main: DebugpyProcess) -> None:
        with anyio.move_on_after(_LEAVE_SECONDS), suppress(DebuggerError):
            await main.ask("leave")
            await main.client.request("disconnect", {"terminateDebuggee": False})
        await main.client.aclose()

    # -- moving -----------------------------------------------------------------------

    async def resume(
        self, kind: ResumeKind, *, until: tuple[str, int] | None = None, all_code: bool = False
    ) -> None:
        """Move on from a stop."""
        self._stands = anyio.Event()
        await self._here().move(kind, until, all_code=all_code)

    async def pause(self) -> bool:
        """Ask a running program to stop; True when a stop has come."""
        for process in (self._first(), *(self._children.living if self._children is not None else ())):
            await process.client.request("pause", {"threadId": "*"})
            with anyio.move_on_after(_PAUSE_SECONDS):
                await self._stands.wait()
            if self._stands.is_set():
                return True
        return False

    async def set_breakpoint(self, spec: BreakpointSpec) -> Breakpoint:
        """Resolve, verify and set. Raises BreakpointError."""
        fields = wire_records.spec_fields(spec)
        found = wire_records.breakpoint_of(await self._first().ask("set_breakpoint", spec=fields))
        if self._children is not None:
            await self._children.set_breakpoint(found.id, fields)
        return found

    async def remove_breakpoint(self, breakpoint_id: int) -> None:
        """Raises BreakpointError when there is none with that id."""
        await self._first().ask("remove_breakpoint", number=breakpoint_id)
        if self._children is not None:
            await self._children.remove_breakpoint(breakpoint_id)

    async def breakpoints(self) -> tuple[Breakpoint, ...]:
        """All that are set, with their hit counts."""
        answer = await self._first().ask("breakpoints")
        found = tuple(wire_records.breakpoint_of(item) for item in answer["breakpoints"])
        if self._children is None:
            return found
        hits = await self._children.hits()
        return tuple(replace(item, hit_count=item.hit_count + hits[item.id]) for item in found)

    async def watch(self, expression: str, *, frame: int, mode: str) -> None:
        """Not possible here."""
        raise UnsupportedError(
            "The debugpy engine cannot watch an expression; start with engine='pdb', or add a breakpoint "
            "with a condition that compares it."
        )

    # -- asking -----------------------------------------------------------------------

    async def threads(self) -> tuple[ThreadStack, ...]:
        """Every thread and asyncio task, also while the program runs."""
        found: list[ThreadStack] = []
        for process in (self._first(), *(self._children.living if self._children is not None else ())):
            answer = await process.ask("threads")
            stacks = [wire_records.thread_of(item, answer["stopped"]) for item in answer["threads"]]
            if process is not self._main:
                stacks = [
                    replace(stack, name=f"{stack.name} of child process {process.pid}") for stack in stacks
                ]
            found += stacks
        return tuple(found)

    async def send_input(self, text: str) -> None:
        """Write to the program's own standard input."""
        if self._process is None:
            raise UnsupportedError(
                "The input of an attached process is its own; only a started program has ours."
            )
        await self._process.write_stdin(text.encode(errors="replace"))

    def read_output(self, cursor: int | None, limit_chars: int) -> tuple[str, int, int]:
        """Program output from ``cursor``."""
        return self._output.take(cursor, limit_chars)

    def _first(self) -> DebugpyProcess:
        if self._main is None:
            raise StateError(_NOT_STARTED)
        return self._main

    def _here(self) -> DebugpyProcess:
        if self._current is None:
            raise StateError(_NOT_STARTED)
        return self._current

    async def _set_trace(self, fields: dict[str, Any]) -> dict[str, Any]:
        return await self._ask("set_breakpoint", spec=fields)

    def _last_rows(self) -> dict[str, list[list[str]]]:
        return self._ended.get("rows", {})

    async def _ask(self, operation: str, **arguments: Any) -> dict[str, Any]:
        return await self._here().ask(operation, **arguments)


def _pydevd() -> str:
    """The folder of the pydevd that the server's own debugpy brings along."""
    from importlib.util import find_spec

    found = find_spec("debugpy")
    if found is None or found.origin is None:
        raise EngineError(
            "The debugpy engine needs the debugpy package beside the server: python -m pip install debugpy, "
            "or start with engine='pdb'."
        )
    return str(Path(found.origin).parent / "_vendored" / "pydevd")
