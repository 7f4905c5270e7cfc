"""A policy that knows the solution: honest demonstrations through the real tools, and a check of all else.

It works as a careful engineer does: reproduce, read, look at the witness in the debugger, edit, test, done.
Each step is a real call whose answer comes from the real tool; nothing is said that a tool has not shown.
"""

import difflib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from pdb_agent.messages import (
    AssistantMessage,
    Call,
    Message,
    Reply,
    Stop,
    ToolMessage,
    ToolSpec,
    Usage,
    UserMessage,
)
from pdb_agent.patches import apply_patch
from pdb_agent.policy import Sampling
from pdb_agent.reach import is_test_file
from pdb_agent.task import Task, WitnessStop

_CHARS_PER_TOKEN = 4
_LINES_READ = 120
_STOPS_WAITED_FOR = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class _Step:
    text: str
    name: str = ""
    arguments: Mapping[str, Any] = field(default_factory=dict[str, Any])


class OraclePolicy:
    """Solves one task by its own solution, with whatever tools there are (meets ``Policy``)."""

    name = "oracle/solution"

    def __init__(self, task: Task, *, right_operation: str | None = None) -> None:
        self._task = task
        self._right_operation = right_operation
        self._fixed = apply_patch(task.solution, task.workspace)

    async def respond(
        self, system: str, messages: Sequence[Message], tools: Sequence[ToolSpec], sampling: Sampling
    ) -> Reply:
        """The next step; which one it is shows from the conversation, so that nothing is kept here."""
        turn = sum(isinstance(message, AssistantMessage) for message in messages)
        steps = list(self._steps(frozenset(tool.name for tool in tools)))
        step = steps[min(turn, len(steps) - 1)]
        raw = json.dumps(dict(step.arguments))
        call = Call(id=f"call-{turn + 1}", name=step.name, arguments=dict(step.arguments), raw=raw)
        said = sum(map(_size, messages)) + len(system)
        return Reply(
            message=AssistantMessage(text=step.text, calls=(call,) if step.name else ()),
            stop=Stop.CALLS if step.name else Stop.END,
            usage=Usage(
                input=said // _CHARS_PER_TOKEN, output=(len(raw) + len(step.text)) // _CHARS_PER_TOKEN
            ),
            model=self.name,
        )

    async def aclose(self) -> None:
        """Nothing to close."""

    def _steps(self, tools: frozenset[str]) -> Iterator[_Step]:
        if "edit" in tools:
            yield from self._menu_steps()
        elif "Edit" in tools:
            yield from self._coding_steps()
        else:
            yield _Step(text="Reproduce it.", name="run_tests", arguments={"tests": [self._task.target]})
            yield from self._reading_steps("read_file", "path", count=_LINES_READ)
            if "start_debugger" in tools:
                yield from self._debugger_steps()
            elif "investigate" in tools:
                yield from self._investigation()
            for path, old, new in self._edits():
                yield _Step(
                    text="Change it.", name="edit_file", arguments={"path": path, "old": old, "new": new}
                )
            yield _Step(text="All tests again.", name="run_tests")
            yield _Step(text="They pass.", name="done", arguments={"summary": "Repaired; the tests pass."})

    def _menu_steps(self) -> Iterator[_Step]:
        yield from self._reading_steps("read_file", "path")
        yield _Step(text="Apply it.", name="edit", arguments={"op": self._right_operation})
        yield _Step(text="Check it.", name="run_tests")
        yield _Step(text="The tests pass.")

    def _coding_steps(self) -> Iterator[_Step]:
        test = f"python -m pytest -q {self._task.target}"
        yield _Step(text="Reproduce it.", name="Bash", arguments={"command": test})
        yield from self._reading_steps("Read", "file_path")
        for path, old, new in self._edits():
            arguments = {"file_path": path, "old_string": old, "new_string": new}
            yield _Step(text="Change it.", name="Edit", arguments=arguments)
        yield _Step(text="All tests again.", name="Bash", arguments={"command": "python -m pytest -q"})
        yield _Step(text="The tests pass.")

    def _reading_steps(self, tool: str, argument: str, **more: int) -> Iterator[_Step]:
        changed = [path for path in self._fixed if self._fixed[path] != self._task.workspace.get(path)]
        stops = [stop.file for stop in self._task.witness.stops] if self._task.witness else []
        for path in dict.fromkeys([*stops, *changed]):
            if path in self._task.workspace and not is_test_file(path):
                yield _Step(text=f"Read {path}.", name=tool, arguments={argument: path, **more})

    def _debugger_steps(self) -> Iterator[_Step]:
        witness = self._task.witness
        if witness is None:
            return
        for stop in witness.stops:
            yield _Step(
                text="Start the failing test where the values tell.",
                name="start_debugger",
                arguments={"target": witness.target, "on_failure": "continue"},
            )
            breakpoint_arguments: dict[str, Any] = {"at": _place(stop)}
            if stop.condition:
                breakpoint_arguments["condition"] = stop.condition
            if stop.hit > 1:
                breakpoint_arguments["hits"] = str(stop.hit)
            yield _Step(text="Stop there.", name="add_breakpoint", arguments=breakpoint_arguments)
            yield _Step(text="Run to it.", name="continue_execution")
            for value in stop.values:
                yield _Step(text="Look.", name="run_expression", arguments={"code": value.expression})
            yield _Step(text="That is seen.", name="stop_debugger")

    def _investigation(self) -> Iterator[_Step]:
        witness = self._task.witness
        if witness is None:
            return
        for stop in witness.stops:
            arguments: dict[str, Any] = {
                "target": witness.target,
                "breakpoints": [_place(stop)],
                "expressions": [value.expression for value in stop.values],
                "stops": min(stop.hit + _STOPS_WAITED_FOR, 20),
            }
            if stop.condition:
                arguments["condition"] = stop.condition
            yield _Step(text="Look at the values there.", name="investigate", arguments=arguments)

    def _edits(self) -> Iterator[tuple[str, str, str]]:
        """Replacements of text that is unique at its turn: path, old, new."""
        for path, content in self._fixed.items():
            before = self._task.workspace.get(path)
            if before == content:
                continue
            yield from replacements(path, (before or b"").decode(), content.decode())


def replacements(path: str, before: str, after: str) -> Iterator[tuple[str, str, str]]:
    """Exact replacements that lead from one text to the other, each of text that is there once."""
    old_lines, new_lines = before.splitlines(keepends=True), after.splitlines(keepends=True)
    current = before
    shift = 0
    for tag, old_from, old_to, new_from, new_to in difflib.SequenceMatcher(
        a=old_lines, b=new_lines, autojunk=False
    ).get_opcodes():
        if tag == "equal":
            continue
        lines = current.splitlines(keepends=True)
        begin, end = old_from + shift, old_to + shift
        first, last = begin, end
        while current.count("".join(lines[first:last])) != 1:
            first, last = max(0, first - 1), min(len(lines), last + 1)
        new = [*lines[first:begin], *new_lines[new_from:new_to], *lines[end:last]]
        yield path, "".join(lines[first:last]), "".join(new)
        current = "".join([*lines[:first], *new, *lines[last:]])
        shift += (new_to - new_from) - (old_to - old_from)


def _place(stop: WitnessStop) -> str:
    if stop.line is not None:
        return f"{stop.file}~{stop.line}"
    module = stop.file.removesuffix("/__init__.py").removesuffix(".py").replace("/", ".")
    return f"{module}.{stop.function}"


def _size(message: Message) -> int:
    match message:
        case UserMessage():
            return len(message.text)
        case AssistantMessage():
            return len(message.text) + sum(len(call.raw) for call in message.calls)
        case ToolMessage():
            return sum(len(result.text) for result in message.results)
