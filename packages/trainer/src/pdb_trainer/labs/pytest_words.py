"""What run_tests says of a program of the gym, in pytest's manner, without running pytest."""

import reprlib
import traceback
from collections.abc import Callable
from typing import Any

from pdb_agent.procedural.gym import GymTask
from pdb_agent.procedural.gym_tests import Case

_WIDTH = 80
_PROGRESS_WIDTH = 73
_FIRST_LINE, _LINES_APART = 5, 4


def report(task: GymTask, source: str) -> str:
    """The report on the visible tests of ``task`` when its program reads ``source``.

    Word for word the tool's where tests pass or fail by their assertion; where the program raises, pytest
    underlines the expression, and this does not.
    """
    cases = task.tests.visible
    problems = [_problem(task.function, source, case) for case in cases]
    marks = "".join("F" if problem else "." for problem in problems)
    lines = [f"{marks.ljust(_PROGRESS_WIDTH)}[100%]", ""]
    failed = [place for place, problem in enumerate(problems) if problem]
    if not failed:
        return "\n".join([*lines, f"{len(cases)} passed"])
    lines.append(" FAILURES ".center(_WIDTH, "="))
    for place in failed:
        lines += _failure(task.function, cases[place], place, problems[place])
    lines.append(" short test summary info ".center(_WIDTH, "="))
    module = f"tests/test_{task.function}.py"
    for place in failed:
        words = problems[place][-1].removeprefix("E   ") if "where" not in problems[place][-1] else ""
        words = words or problems[place][-2].removeprefix("E   ")
        lines.append(_cut(f"FAILED {module}::{cases[place].name} - {words}"))
    passed = f", {len(cases) - len(failed)} passed" if len(failed) < len(cases) else ""
    return "\n".join([*lines, f"{len(failed)} failed{passed}"])


def _failure(function: str, case: Case, place: int, problem: list[str]) -> list[str]:
    line = _FIRST_LINE + _LINES_APART * place
    call = f"{function}({', '.join(map(repr, case.arguments))})"
    return [
        f" {case.name} ".center(_WIDTH, "_"),
        f"tests/test_{function}.py:{line}: in {case.name}",
        f"    assert {call} == {case.expected}",
        *problem,
    ]


def _problem(function: str, source: str, case: Case) -> list[str]:
    """What is amiss with a call, in lines; none when the test passes. All loops of the gym's programs end."""
    namespace: dict[str, Any] = {}
    exec(compile(source, f"{function}.py", "exec"), namespace)
    call: Callable[..., int] = namespace[function]
    try:
        answer = call(*case.arguments)
    except (ArithmeticError, LookupError, ValueError, TypeError) as error:
        line = traceback.extract_tb(error.__traceback__)[-1].lineno or 1
        text = source.splitlines()[line - 1].strip()
        return [
            f"{function}.py:{line}: in {function}",
            f"    {text}",
            f"E   {type(error).__name__}: {error}",
        ]
    if answer == case.expected:
        return []
    shown = ", ".join(map(reprlib.repr, case.arguments))
    return [f"E   assert {answer} == {case.expected}", f"E    +  where {answer} = {function}({shown})"]


def _cut(line: str) -> str:
    return line if len(line) <= _WIDTH else f"{line[: _WIDTH - 3]}..."
