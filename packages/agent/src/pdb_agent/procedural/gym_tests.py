"""Chooses the tests of a program of the gym: those that all see and those that grade."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pdb_agent.procedural.draw import Draw
from pdb_agent.procedural.shape import Arguments

_VISIBLE = (2, 4)
_HIDDEN = (4, 8)
_LEAST_TELLING = 3
_ORDINALS = ("one", "two", "three", "four", "five", "six", "seven", "eight")
_Function = Callable[..., Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One call and what it gives."""

    name: str
    arguments: Arguments
    expected: int


@dataclass(frozen=True, slots=True, kw_only=True)
class GymTests:
    """The tests of one task; no input is in both groups."""

    visible: tuple[Case, ...]
    hidden: tuple[Case, ...]
    failing: frozenset[str]
    """Names of the visible ones that fail before the solution."""
    declared_errors: tuple[str, ...]
    """Exceptions, beside a failing assertion, by which they fail."""
    visible_module: str
    hidden_module: str


def choose_tests(
    function: str, inputs: Sequence[Arguments], right: str, others: Sequence[str], draw: Draw
) -> GymTests | None:
    """Tests that ``right`` passes, while every one of ``others`` fails a hidden one.

    ``others[0]`` is the defective program, which fails a visible one too. None when the inputs do not
    tell the programs apart. The programs are those of this package, whose loops all end.
    """
    unique = list({repr(arguments): arguments for arguments in inputs}.values())
    answers = [[_answer(function, source, arguments) for arguments in unique] for source in (right, *others)]
    telling = [index for index in range(len(unique)) if answers[0][index] != answers[1][index]]
    silent = [index for index in range(len(unique)) if index not in telling]
    if len(telling) < _LEAST_TELLING:
        return None
    visible_count, hidden_count = draw.number(*_VISIBLE), draw.number(*_HIDDEN)
    told_count = visible_count if not silent else 1 if visible_count == _VISIBLE[0] else draw.number(1, 2)
    told = draw.several(telling, min(told_count, len(telling) - 1))
    visible = told + draw.several(silent, min(len(silent), visible_count - len(told)))
    rest = [index for index in range(len(unique)) if index not in visible]
    hidden = _covering(rest, answers, draw)
    if hidden is None or len(visible) < _VISIBLE[0]:
        return None
    spare = [index for index in rest if index not in hidden]
    hidden += draw.several(spare, min(len(spare), max(0, hidden_count - len(hidden))))
    if not _HIDDEN[0] <= len(hidden) <= _HIDDEN[1]:
        return None
    return _tests(function, unique, answers, (sorted(visible), sorted(hidden)))


def _covering(rest: Sequence[int], answers: Sequence[Sequence[object]], draw: Draw) -> list[int] | None:
    """Inputs among ``rest`` of which, for every program but the first, one at least gives another answer."""
    covering: list[int] = []
    for answer in answers[1:]:
        telling = [index for index in rest if answer[index] != answers[0][index]]
        if not telling:
            return None
        if not set(telling) & set(covering):
            covering.append(draw.pick(telling))
    return covering


def _tests(
    function: str,
    inputs: Sequence[Arguments],
    answers: Sequence[Sequence[object]],
    chosen: tuple[list[int], list[int]],
) -> GymTests:
    right, defective = answers[0], answers[1]
    visible, hidden = (
        tuple(
            Case(
                name=f"test_{kind}_{_ORDINALS[place]}", arguments=inputs[index], expected=_whole(right[index])
            )
            for place, index in enumerate(indexes)
        )
        for kind, indexes in zip(("call", "further_call"), chosen, strict=True)
    )
    failing = {
        case.name: defective[index]
        for case, index in zip(visible, chosen[0], strict=True)
        if defective[index] != right[index]
    }
    errors = {answer for answer in failing.values() if isinstance(answer, str)}
    return GymTests(
        visible=visible,
        hidden=hidden,
        failing=frozenset(failing),
        declared_errors=tuple(sorted(errors)),
        visible_module=_module(function, visible),
        hidden_module=_module(function, hidden),
    )


def _module(function: str, cases: Sequence[Case]) -> str:
    parts = [f"from {function} import {function}\n"]
    for case in cases:
        arguments = ", ".join(map(repr, case.arguments))
        parts.append(f"\n\ndef {case.name}():\n    assert {function}({arguments}) == {case.expected}\n")
    return "".join(parts)


def _answer(function: str, source: str, arguments: Arguments) -> int | str:
    """What a program answers, or the name of the exception that it raises."""
    namespace: dict[str, Any] = {}
    exec(compile(source, f"{function}.py", "exec"), namespace)
    call: _Function = _own(namespace, function)
    try:
        return _whole(call(*arguments))
    except (ArithmeticError, LookupError, ValueError) as error:
        return type(error).__name__


def _own(namespace: Mapping[str, Any], function: str) -> _Function:
    return namespace[function]


def _whole(value: object) -> int:
    assert isinstance(value, int)
    return value
