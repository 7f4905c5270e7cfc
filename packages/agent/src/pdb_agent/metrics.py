"""An arm's episodes in numbers: outcome, effort, debugger, discipline, tools. Pure.

Infrastructure failures are counted and otherwise left out. Rates of solving are means over
tasks with intervals over tasks; what is counted per episode or per call is a ``Share``, which
keeps its count and its total.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from decimal import Decimal

from pdb_agent.debugger_metrics import DebuggerMetrics, debugger_metrics
from pdb_agent.episode import ExitReason
from pdb_agent.messages import Usage
from pdb_agent.shares import Share, Spread, per, share_of, spread
from pdb_agent.statistics import Estimate, estimate, mean, pass_at_k, pass_hat_k
from pdb_agent.summary import EpisodeSummary

DRAWS = (1, 3, 8)
"""The k of pass@k and pass^k."""
STRATA: Mapping[str, Callable[[EpisodeSummary], str]] = {
    "preference": lambda one: one.preference,
    "difficulty": lambda one: str(one.difficulty),
    "family": lambda one: one.family,
}
_WRONG_FIX = frozenset({"visible_fail", "regression", "hidden_fail"})


@dataclass(frozen=True, slots=True, kw_only=True)
class SolveRates:
    """How much of some tasks was solved."""

    tasks: int
    episodes: int
    """Scored ones."""
    solved: int
    pass_at: Mapping[int, Estimate | None]
    """By k; None when a task has fewer scored episodes."""
    pass_hat: Mapping[int, Estimate | None]
    solved_once: Estimate | None
    """Share of tasks."""
    solved_always: Estimate | None
    worst: float | None
    """pass@1 if every episode that is missing for infrastructure's sake had failed; None when none is."""
    best: float | None
    """The same if each had been solved."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Effort:
    """What episodes took."""

    turns: Spread | None
    turns_when_solved: Spread | None
    at_turn_cap: Share
    tokens_per_episode: Mapping[str, float]
    """By class; reasoning is a part of output."""
    tokens_per_solved: float | None
    """All tokens, those of failures too, by the number of solved episodes."""
    peak_context: Spread | None
    seconds_per_episode: Mapping[str, float]
    """model, tools, sandbox, grading, other."""
    test_runs_per_episode: float
    calls_per_episode: Mapping[str, float]
    cost_per_episode: Decimal | None
    cost_per_solved: Decimal | None
    unpriced_episodes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class DisciplineMetrics:
    """Habits; shares of episodes, where it says so of those with an effective edit."""

    never_edited: Share
    reproduced_before_edit: Share
    """Of those with an edit."""
    edited_after_reading: Share
    """Of those with an edit."""
    retested: Share
    """Of those with an edit."""
    false_done: Share
    """Of those that said they were done."""
    first_edit_position: Spread | None
    effective_edits_per_episode: float
    reverted_edits: int
    no_change_edits: int
    repeats_per_episode: float
    longest_repeat: int
    with_test_edit_attempts: Share
    found_gold_file: Share
    """Of those whose cause is known."""
    parser_fallbacks: int
    format_error_turns: int
    nudges: Mapping[str, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolMetrics:
    """Calls of one tool."""

    calls: int
    malformed: Share
    failed: Share
    timed_out: Share


@dataclass(frozen=True, slots=True, kw_only=True)
class ArmMetrics:
    """Everything that is said of an arm."""

    arm: str
    episodes: int
    infra: int
    """Episodes that are not scored."""
    rates: SolveRates
    strata: Mapping[str, Mapping[str, SolveRates]]
    endings: Mapping[str, Mapping[str, int]]
    """Failure class by exit reason: endings[reason][class]."""
    failures: Mapping[str, int]
    """Of scored episodes that did not solve their task."""
    wrong_fixes: int
    effort: Effort
    debugger: DebuggerMetrics | None
    """None for an arm that has none."""
    discipline: DisciplineMetrics
    tools: Mapping[str, ToolMetrics]


def arm_metrics(arm: str, summaries: Sequence[EpisodeSummary]) -> ArmMetrics:
    """All metrics of an arm's episodes, in any order."""
    scored = [one for one in summaries if one.is_valid]
    failures = Counter(one.failure_name for one in scored if not one.solved)
    return ArmMetrics(
        arm=arm,
        episodes=len(summaries),
        infra=len(summaries) - len(scored),
        rates=solve_rates(summaries),
        strata={name: _strata(summaries, key) for name, key in STRATA.items()},
        endings=_endings(summaries),
        failures=dict(failures.most_common()),
        wrong_fixes=sum(failures[name] for name in _WRONG_FIX),
        effort=_effort(scored),
        debugger=debugger_metrics(scored) if any(one.has_debugger for one in summaries) else None,
        discipline=_discipline(scored),
        tools=_tools(scored),
    )


def by_task(summaries: Sequence[EpisodeSummary]) -> dict[str, list[EpisodeSummary]]:
    """Scored episodes of each task, tasks in order of their names."""
    found: defaultdict[str, list[EpisodeSummary]] = defaultdict(list)
    for one in summaries:
        if one.is_valid:
            found[one.task].append(one)
    return dict(sorted(found.items()))


def solve_rates(summaries: Sequence[EpisodeSummary]) -> SolveRates:
    """Of all tasks among the episodes."""
    tasks = by_task(summaries)
    groups = [many[0].group for many in tasks.values()]
    counts = [(len(many), sum(one.solved for one in many)) for many in tasks.values()]
    least = min((episodes for episodes, _ in counts), default=0)
    worst, best = _bounds(summaries)

    def mean_of(value: Callable[[int, int], float]) -> Estimate | None:
        return estimate([value(*one) for one in counts], groups)

    def by_draws(value: Callable[[int, int, int], float]) -> dict[int, Estimate | None]:
        return {k: mean_of(lambda n, c, k=k: value(n, c, k)) if k <= least else None for k in DRAWS}

    return SolveRates(
        tasks=len({one.task for one in summaries}),
        episodes=sum(episodes for episodes, _ in counts),
        solved=sum(solved for _, solved in counts),
        pass_at=by_draws(pass_at_k),
        pass_hat=by_draws(pass_hat_k),
        solved_once=mean_of(lambda _, solved: float(solved >= 1)),
        solved_always=mean_of(lambda episodes, solved: float(solved == episodes)),
        worst=worst,
        best=best,
    )


def _bounds(summaries: Sequence[EpisodeSummary]) -> tuple[float | None, float | None]:
    if all(one.is_valid for one in summaries):
        return None, None
    tasks = defaultdict[str, list[EpisodeSummary]](list)
    for one in summaries:
        tasks[one.task].append(one)
    worst = [sum(one.solved for one in many) / len(many) for many in tasks.values()]
    best = [sum(one.solved or not one.is_valid for one in many) / len(many) for many in tasks.values()]
    return mean(worst), mean(best)


def _strata(
    summaries: Sequence[EpisodeSummary], key: Callable[[EpisodeSummary], str]
) -> dict[str, SolveRates]:
    return {
        value: solve_rates([one for one in summaries if key(one) == value])
        for value in sorted({key(one) for one in summaries})
    }


def _endings(summaries: Sequence[EpisodeSummary]) -> dict[str, dict[str, int]]:
    found: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for one in summaries:
        found[one.ending][one.failure_name] += 1
    return {ending: dict(counts) for ending, counts in sorted(found.items())}


def _effort(scored: Sequence[EpisodeSummary]) -> Effort:
    count = len(scored) or 1
    solved = [one for one in scored if one.solved]
    usage = sum((one.usage for one in scored), Usage())
    costs = [one.cost for one in scored if one.cost is not None]
    total_cost = sum(costs, Decimal(0)) if costs and len(costs) == len(scored) else None
    calls: Counter[str] = Counter()
    for one in scored:
        calls.update({name: tool.calls for name, tool in one.behaviour.tools.items()})
    return Effort(
        turns=spread([one.turns for one in scored]),
        turns_when_solved=spread([one.turns for one in solved]),
        at_turn_cap=share_of(scored, lambda one: one.reason is ExitReason.TURN_CAP),
        tokens_per_episode={one.name: getattr(usage, one.name) / count for one in fields(usage)},
        tokens_per_solved=per(usage.context, len(solved)),
        peak_context=spread([one.peak_context for one in scored]),
        seconds_per_episode=_seconds(scored),
        test_runs_per_episode=sum(one.behaviour.discipline.test_runs for one in scored) / count,
        calls_per_episode={name: number / count for name, number in calls.most_common()},
        cost_per_episode=None if total_cost is None else total_cost / count,
        cost_per_solved=None if total_cost is None or not solved else total_cost / len(solved),
        unpriced_episodes=len(scored) - len(costs),
    )


def _seconds(scored: Sequence[EpisodeSummary]) -> dict[str, float]:
    count = len(scored) or 1
    parts = {
        "model": sum(one.clock.model for one in scored) / count,
        "tools": sum(one.clock.tools for one in scored) / count,
        "sandbox": sum(one.clock.sandbox for one in scored) / count,
        "grading": sum(one.clock.grading for one in scored) / count,
    }
    total = sum(one.clock.total for one in scored) / count
    return parts | {"other": max(0.0, total - sum(parts.values()))}


def _discipline(scored: Sequence[EpisodeSummary]) -> DisciplineMetrics:
    count = len(scored) or 1
    habits = [one.behaviour.discipline for one in scored]
    edited = [one for one in scored if one.behaviour.discipline.first_edit_turn is not None]
    positions = [(one.behaviour.discipline.first_edit_turn or 0) / max(1, one.turns) for one in edited]
    said_done = [
        one for one in scored if one.reason is ExitReason.DONE or one.behaviour.discipline.false_done
    ]
    nudges: Counter[str] = Counter()
    for one in scored:
        nudges.update(one.behaviour.nudges)
    return DisciplineMetrics(
        never_edited=Share(count=len(scored) - len(edited), total=len(scored)),
        reproduced_before_edit=share_of(edited, lambda one: one.behaviour.discipline.reproduced_before_edit),
        edited_after_reading=share_of(edited, lambda one: one.behaviour.discipline.edited_after_reading),
        retested=share_of(edited, lambda one: one.behaviour.discipline.retested),
        false_done=share_of(said_done, lambda one: one.behaviour.discipline.false_done),
        first_edit_position=spread(positions),
        effective_edits_per_episode=sum(habit.effective_edits for habit in habits) / count,
        reverted_edits=sum(habit.reverted_edits for habit in habits),
        no_change_edits=sum(habit.no_change_edits for habit in habits),
        repeats_per_episode=sum(habit.repeats for habit in habits) / count,
        longest_repeat=max((habit.longest_repeat for habit in habits), default=0),
        with_test_edit_attempts=share_of(scored, lambda one: one.behaviour.discipline.test_edit_attempts > 0),
        found_gold_file=share_of(scored, _found_gold_file),
        parser_fallbacks=sum(one.behaviour.parser_fallbacks for one in scored),
        format_error_turns=sum(one.behaviour.format_error_turns for one in scored),
        nudges=dict(nudges),
    )


def _found_gold_file(one: EpisodeSummary) -> bool | None:
    place = one.behaviour.localisation
    return None if place is None else place.file_turn is not None


def _tools(scored: Sequence[EpisodeSummary]) -> dict[str, ToolMetrics]:
    totals: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for one in scored:
        for name, tool in one.behaviour.tools.items():
            totals[name].update(
                calls=tool.calls, malformed=tool.malformed, failed=tool.failed, timed_out=tool.timed_out
            )
    return {
        name: ToolMetrics(
            calls=counts["calls"],
            malformed=Share(count=counts["malformed"], total=counts["calls"]),
            failed=Share(count=counts["failed"], total=counts["calls"]),
            timed_out=Share(count=counts["timed_out"], total=counts["calls"]),
        )
        for name, counts in sorted(totals.items())
    }
