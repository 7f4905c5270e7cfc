"""V3: hidden tests hold inputs of their own."""

import ast
from collections.abc import Iterator, Mapping

from pdb_agent.reach import parse_module
from pdb_agent.task import Task
from pdb_agent.validation.rules import Complaint

_Function = ast.FunctionDef | ast.AsyncFunctionDef


def check_hidden_inputs(task: Task) -> list[Complaint]:
    """Complaints about hidden tests that only repeat what visible ones show."""
    visible = dict(_tests(task.workspace, "tests/"))
    hidden = dict(_tests(task.hidden, ""))
    known = {body: name for name, body in ((name, _body(test)) for name, test in visible.items())}
    texts = [
        f"Hidden test {name} has the body of the visible {known[_body(test)]}: give it other inputs."
        for name, test in hidden.items()
        if _body(test) in known
    ]
    seen = {value for test in visible.values() for value in _inputs(test)}
    if not any(_inputs(test) - seen for test in hidden.values()):
        texts.append("No hidden test holds an input that visible tests lack: add other values or calls.")
    return [Complaint(rule="V3", text=text) for text in texts]


def _tests(files: Mapping[str, bytes], prefix: str) -> Iterator[tuple[str, _Function]]:
    for path, content in files.items():
        if path.startswith(prefix) and path.endswith(".py"):
            for node in parse_module(path, content).body:
                if isinstance(node, _Function) and node.name.startswith("test"):
                    yield f"{path}::{node.name}", node


def _body(test: _Function) -> str:
    """What a test does and with which parameters, as text."""
    return "\n".join(map(ast.dump, [*test.decorator_list, *test.body]))


def _inputs(test: _Function) -> set[str]:
    """The literal values of a test and the arguments of its calls."""
    found: set[str] = set()
    for node in ast.walk(test):
        if isinstance(node, ast.Constant):
            found.add(repr(node.value))
        elif isinstance(node, ast.Call):
            found.update(map(ast.unparse, node.args))
    return found
