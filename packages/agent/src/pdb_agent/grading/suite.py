"""The tests that judge a task, by file and by group, and how records of their phases are counted."""

import ast
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from pdb_agent.errors import TaskError
from pdb_agent.grading.verdict import GroupResult
from pdb_agent.reach import is_test_file
from pdb_agent.task import Task

HIDDEN_FOLDER = "hidden"
FAIL_TO_PASS, PASS_TO_PASS, HIDDEN = "fail_to_pass", "pass_to_pass", "hidden"
TEST_FOLDERS = frozenset({"test", "tests"})
_PHASES = ("setup", "call", "teardown")


@dataclass(frozen=True, slots=True, kw_only=True)
class Suite:
    """All tests of a task, as one folder: visible ones at their paths, hidden ones in ``hidden/``."""

    modules: Mapping[str, str]
    """Path to source of each test module."""
    data: Mapping[str, bytes]
    """What lies beside them and is no test: files that tests read."""
    groups: Mapping[str, tuple[str, ...]]
    """Group name to the ids that must pass; one without brackets stands for all its parameters."""

    @property
    def functions(self) -> frozenset[str]:
        """The ids of the required test functions, without parameters."""
        return frozenset(without_parameters(test) for ids in self.groups.values() for test in ids)


@dataclass(frozen=True, slots=True, kw_only=True)
class PhaseRecord:
    """One phase of one test, as pytest reported it."""

    test: str
    """The node id."""
    when: str
    """setup, call or teardown."""
    outcome: str
    """passed, failed or skipped."""
    expected_failure: bool = False
    """Marked xfail, or failed by ``pytest.xfail``."""
    by_assertion: bool = False
    """Failed by an AssertionError or by ``pytest.fail``."""


def is_test_path(path: str) -> bool:
    """Whether a file belongs to tests by its path alone, wherever a project keeps them."""
    *folders, name = path.split("/")
    if not TEST_FOLDERS.isdisjoint(folders):
        return True
    return name in ("conftest.py", "tests.py") or name.startswith("test_") or name.endswith("_test.py")


def is_test_of(task: Task, path: str) -> bool:
    """Whether a workspace file belongs to a task's tests: grading never takes it from a submission.

    Those are test files by their path, and whatever else holds a test that the task names.
    """
    return is_test_file(path) or any(
        test.partition("::")[0] == path for test in (*task.fail_to_pass, *task.pass_to_pass)
    )


def suite_of(task: Task) -> Suite:
    """The suite of a task. Raises TaskError for tests that cannot be read or that no group names."""
    files = {path: data for path, data in task.workspace.items() if is_test_of(task, path)}
    files |= {f"{HIDDEN_FOLDER}/{path}": data for path, data in task.hidden.items()}
    modules: dict[str, str] = {}
    data: dict[str, bytes] = {}
    for path, content in sorted(files.items()):
        name = path.rpartition("/")[2]
        if name == "conftest.py":
            raise TaskError(f"{task.id}: {path} is not run by grading: move its fixtures into the test file.")
        if path.endswith(".py"):
            modules[path] = _decoded(content, f"{task.id}: {path}")
        else:
            data[path] = content
    hidden = tuple(
        f"{path}::{function.name}"
        for path, source in modules.items()
        if path.startswith(f"{HIDDEN_FOLDER}/")
        for function in test_functions(source, f"{task.id}: {path}")
    )
    groups = {FAIL_TO_PASS: task.fail_to_pass, PASS_TO_PASS: task.pass_to_pass, HIDDEN: hidden}
    for name in (FAIL_TO_PASS, HIDDEN):
        if not groups[name]:
            raise TaskError(f"{task.id}: the group {name} is empty: a task needs tests there.")
    return Suite(modules=modules, data=data, groups=groups)


def test_functions(source: str, name: str) -> list[ast.FunctionDef]:
    """The test functions of a module. Raises TaskError for test classes and sources that do not parse."""
    try:
        body = ast.parse(source).body
    except SyntaxError as error:
        raise TaskError(f"{name} does not parse (line {error.lineno}): correct it.") from None
    for node in body:
        if isinstance(node, ast.ClassDef) and node.name.startswith("Test"):
            raise TaskError(f"{name} has the test class {node.name}: write its tests as functions.")
        if isinstance(node, ast.AsyncFunctionDef) and node.name.startswith("test"):
            raise TaskError(f"{name}::{node.name} is async: write a function that calls asyncio.run.")
    return [node for node in body if isinstance(node, ast.FunctionDef) and node.name.startswith("test")]


def without_parameters(test: str) -> str:
    """The id of a test's function: ``tests/test_x.py::test_y[1]`` without the brackets."""
    path, separator, name = test.partition("::")
    return path + separator + name.partition("[")[0]


def passed_tests(records: Iterable[PhaseRecord]) -> dict[str, bool]:
    """Each test that ran, with whether all three of its phases passed, each once, without xfail."""
    phases: dict[str, list[PhaseRecord]] = defaultdict(list)
    for record in records:
        phases[record.test].append(record)
    return {
        test: tuple(record.when for record in ran) == _PHASES
        and all(record.outcome == "passed" and not record.expected_failure for record in ran)
        for test, ran in phases.items()
    }


def tally(suite: Suite, passed: Mapping[str, bool]) -> tuple[GroupResult, ...]:
    """Count each group's passed ids; an id without brackets needs every one of its parameters to pass."""
    instances: dict[str, list[bool]] = defaultdict(list)
    for test, has_passed in passed.items():
        instances[without_parameters(test)].append(has_passed)

    def is_passed(test: str) -> bool:
        if test in passed:
            return passed[test]
        return "[" not in test and bool(instances[test]) and all(instances[test])

    return tuple(
        GroupResult(name=name, passed=sum(map(is_passed, ids)), total=len(ids))
        for name, ids in suite.groups.items()
    )


def _decoded(content: bytes, name: str) -> str:
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError:
        raise TaskError(f"{name} is not UTF-8: save it so.") from None
