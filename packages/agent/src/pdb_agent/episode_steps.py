"""An episode as a series of calls with their answers and what each changed."""

import ast
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any

from pdb_agent.episode import Answered, Edited, Episode, Replied
from pdb_agent.messages import CallStatus, ToolResult
from pdb_agent.patches import changed_paths
from pdb_agent.reach import is_test_file
from pdb_agent.shell_tests import TestRun, shell_test_run
from pdb_agent.task import Task, WitnessStop

SHELLS = frozenset({"bash", "Bash"})
READERS = frozenset({"read_file", "Read"})
EDITORS = frozenset({"edit_file", "Edit", "Write", "edit"})
STARTERS = frozenset({"start_debugger", "investigate"})
STEPPERS = frozenset({"step_over", "step_into", "step_out"})
DEBUGGER_TOOLS = (
    STARTERS
    | STEPPERS
    | {"add_breakpoint", "remove_breakpoint", "list_breakpoints", "continue_execution", "run_to"}
    | {"where_am_i", "examine_locals", "print_variable", "run_expression", "trace_lines", "watch"}
    | {"stop_debugger", "restart_debugger", "pause_execution", "list_sessions", "attach"}
    | {"read_output", "send_input", "set_variable", "pdb_command"}
)
"""The debugger's, of all its toolsets."""
_TEST_SETTINGS = frozenset({"pytest.ini", "tox.ini", "setup.cfg", "pyproject.toml"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One call that was answered."""

    index: int
    """In the order of the calls, from 0."""
    turn: int
    name: str
    arguments: Mapping[str, Any]
    """Empty when they did not parse."""
    raw: str
    """The arguments as the model wrote them."""
    result: ToolResult
    edits: tuple[Edited, ...]
    """What the call changed."""

    @property
    def is_ok(self) -> bool:
        """Whether the tool did it."""
        return self.result.status is CallStatus.OK

    @property
    def is_debugger(self) -> bool:
        """Whether a tool of the debugger was called."""
        return self.name in DEBUGGER_TOOLS

    @property
    def effective_edits(self) -> tuple[Edited, ...]:
        """Changes in content of files that grading takes."""
        return tuple(edit for edit in self.edits if edit.is_editable)

    def text(self, name: str) -> str:
        """An argument that is a text, empty when there is none."""
        value = self.arguments.get(name)
        return value if isinstance(value, str) else ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Gold:
    """Where a task's cause is, from what is held back; only for measuring afterwards."""

    files: frozenset[str]
    """Files that the solution changes."""
    functions: frozenset[tuple[str, str]]
    """File and qualified name of the functions where the witness stops."""
    expressions: frozenset[str]
    """What the witness evaluates."""


def gold_of(task: Task) -> Gold:
    """From the solution and the witness."""
    stops = task.witness.stops if task.witness else ()
    functions = {(stop.file, name) for stop in stops if (name := _function_of(stop, task.workspace))}
    return Gold(
        files=frozenset(changed_paths(task.solution)),
        functions=frozenset(functions),
        expressions=frozenset(plain_code(value.expression) for stop in stops for value in stop.values),
    )


def steps_of(episode: Episode) -> tuple[Step, ...]:
    """All answered calls in order; calls that were not run are left out."""
    raw_of: dict[str, str] = {}
    pending: list[Edited] = []
    found: list[Step] = []
    for event in episode.events:
        match event:
            case Replied():
                raw_of = {call.id: call.raw for call in event.reply.message.calls}
            case Edited():
                pending.append(event)
            case Answered() if event.result.status is not CallStatus.NOT_RUN:
                found.append(_step(len(found), event, raw_of, tuple(pending)))
                pending = []
            case _:
                pass
    return tuple(found)


def run_of_tests(step: Step) -> TestRun | None:
    """The test run that a call made, by the tests' own tool or by a shell; None when it made none."""
    facts = step.result.facts
    timed_out = bool(facts.get("timed_out"))
    if step.name == "run_tests" and step.result.status in (CallStatus.OK, CallStatus.TIMED_OUT):
        failed = timed_out or bool(facts.get("failed")) or not facts.get("passed")
        selected = tuple(str(test) for test in facts.get("tests") or ())
        return TestRun(selected=selected, failed=failed, passed=not failed)
    if step.name in SHELLS:
        code = facts.get("exit_code")
        return shell_test_run(
            step.text("command"),
            step.result.text,
            exit_code=code if isinstance(code, int) else None,
            timed_out=timed_out,
        )
    return None


def is_protected(path: str) -> bool:
    """Whether a path belongs to the tests or to what sets them up."""
    name = PurePosixPath(path).name
    if path.endswith(".pyc") or not path:
        return False
    return is_test_file(path) or name in _TEST_SETTINGS or (name.startswith("test_") and name.endswith(".py"))


def in_workspace(path: str, files: Mapping[str, str] | Sequence[str]) -> str:
    """A path as the debugger or a model wrote it, relative to the workspace where it is known there."""
    plain = path.removeprefix("./")
    if plain in files:
        return plain
    inside = [known for known in files if plain.endswith(f"/{known}")]
    return max(inside, key=len, default=plain)


def plain_code(code: str) -> str:
    """An expression without differences of layout."""
    try:
        return ast.unparse(ast.parse(code.strip(), mode="eval"))
    except (SyntaxError, ValueError):
        return code.strip()


def _step(index: int, event: Answered, raw_of: Mapping[str, str], edits: tuple[Edited, ...]) -> Step:
    result = event.result
    return Step(
        index=index,
        turn=event.turn,
        name=result.name,
        arguments=event.arguments or {},
        raw=raw_of.get(result.call_id, json.dumps(dict(event.arguments or {}), sort_keys=True)),
        result=result,
        edits=edits,
    )


def _function_of(stop: WitnessStop, workspace: Mapping[str, bytes]) -> str | None:
    if stop.function is not None:
        return stop.function
    source = workspace.get(stop.file, b"").decode(errors="replace")
    before, found, _ = source.partition(stop.line or "\0")
    return _enclosing(source, before.count("\n") + 1) if found else None


def _enclosing(source: str, line: int) -> str | None:
    """Qualified name of the innermost function around a line, as a debugger names it."""
    names: list[str] = []
    body: list[ast.AST] = list(ast.parse(source).body)
    while inner := next((node for node in body if _holds(node, line)), None):
        if isinstance(inner, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            names.append(inner.name)
        body = list(ast.iter_child_nodes(inner))
    return ".".join(names) or None


def _holds(node: ast.AST, line: int) -> bool:
    return isinstance(node, ast.stmt | ast.excepthandler) and node.lineno <= line <= (
        node.end_lineno or node.lineno
    )
