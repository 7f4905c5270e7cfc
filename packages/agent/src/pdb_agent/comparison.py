"""Two arms on the same tasks, task by task. Pure."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from pdb_agent.metrics import by_task
from pdb_agent.statistics import Estimate, Tally, differences, estimate, mean, pass_at_k, sign_flip_p, tally
from pdb_agent.summary import EpisodeSummary

Tasks = Mapping[str, Sequence[EpisodeSummary]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """A number of each arm, over the same tasks."""

    before: float
    after: float
    change: Estimate
    """After minus before, with the paired interval."""
    p: float
    """Of the sign-flip test, two-sided."""
    tally: Tally
    """Tasks on which the second number is higher, lower, equal."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Opening:
    """What opening the debugger cost: episodes that opened it, minus the other arm's on the same task."""

    tasks: int
    """On which it was opened at least once."""
    episodes: int
    turns: Estimate
    tokens: Estimate
    tokens_ratio: float | None
    """None when the other arm used none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """The second arm against the first."""

    before: str
    after: str
    tasks: int
    """In both arms."""
    left_out: tuple[str, ...]
    """Tasks that only one arm has scored episodes of."""
    pass_at_1: Difference
    pass_at_3: Difference | None
    """None when a task has fewer than three scored episodes in an arm."""
    turns: Difference
    """Means per task over all episodes, whether they opened a debugger or not: intention to treat."""
    tokens: Difference
    opening: Opening | None
    """None when the second arm never opened one on a task of both, or the first has one itself."""


def compare(
    before: Sequence[EpisodeSummary], after: Sequence[EpisodeSummary], names: tuple[str, str]
) -> Comparison | None:
    """Compare two arms; None when they have no task in common."""
    early, late = by_task(before), by_task(after)
    common = sorted(early.keys() & late.keys())
    if not common:
        return None
    first = {task: early[task] for task in common}
    second = {task: late[task] for task in common}
    has_three = all(len(many) >= 3 for many in [*first.values(), *second.values()])
    return Comparison(
        before=names[0],
        after=names[1],
        tasks=len(common),
        left_out=tuple(sorted(early.keys() ^ late.keys())),
        pass_at_1=_difference(first, second, lambda many: _pass(many, 1)),
        pass_at_3=_difference(first, second, lambda many: _pass(many, 3)) if has_three else None,
        turns=_difference(first, second, _turns),
        tokens=_difference(first, second, _tokens),
        opening=None if any(one.has_debugger for one in before) else _opening(first, second),
    )


def _pass(many: Sequence[EpisodeSummary], k: int) -> float:
    return pass_at_k(len(many), sum(one.solved for one in many), k)


def _turns(many: Sequence[EpisodeSummary]) -> float:
    return mean([one.turns for one in many])


def _tokens(many: Sequence[EpisodeSummary]) -> float:
    return mean([one.tokens for one in many])


def _difference(
    before: Tasks, after: Tasks, measure: Callable[[Sequence[EpisodeSummary]], float]
) -> Difference:
    early = [measure(many) for many in before.values()]
    late = [measure(after[task]) for task in before]
    changes = differences(early, late)
    groups = [after[task][0].group for task in before]
    change = estimate(changes, groups)
    assert change is not None
    return Difference(
        before=mean(early),
        after=mean(late),
        change=change,
        p=sign_flip_p(changes, groups),
        tally=tally(changes),
    )


def _opening(before: Tasks, after: Tasks) -> Opening | None:
    opened = {
        task: openers
        for task, many in after.items()
        if (openers := [one for one in many if one.behaviour.debugger.opened])
    }
    groups = [many[0].group for many in opened.values()]
    turns = estimate([_turns(many) - _turns(before[task]) for task, many in opened.items()], groups)
    tokens = estimate([_tokens(many) - _tokens(before[task]) for task, many in opened.items()], groups)
    if turns is None or tokens is None:
        return None
    plain = mean([_tokens(before[task]) for task in opened])
    return Opening(
        tasks=len(opened),
        episodes=sum(map(len, opened.values())),
        turns=turns,
        tokens=tokens,
        tokens_ratio=mean([_tokens(many) for many in opened.values()]) / plain if plain else None,
    )
