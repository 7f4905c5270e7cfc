"""Figures of how episodes went: turns, and what became of breakpoints. Pure."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pdb_agent.debugger_sessions import Outcome
from pdb_agent.episode import ExitReason
from pdb_agent.metrics import ArmMetrics, by_task
from pdb_agent.report import wording
from pdb_agent.report.drawing import (
    WIDTH,
    Figure,
    Scale,
    arm_kind,
    bottom_axis,
    box,
    dot,
    left_axis,
    legend,
    line,
    round_ticks,
    shortened,
    svg,
    text,
)
from pdb_agent.report.markup import Markup
from pdb_agent.shares import share_of
from pdb_agent.statistics import quantile
from pdb_agent.summary import EpisodeSummary

_BINS = 25
_ROW = 74.0
_OUTCOME_KINDS = {
    Outcome.HIT: "good",
    Outcome.MOVED: "fair",
    Outcome.CONDITION_ERROR: "odd",
    Outcome.UNREACHED: "poor",
    Outcome.UNBOUND: "poor-2",
    Outcome.REJECTED: "bad",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class _Point:
    task: str
    without: float
    with_debugger: float
    opened: int
    episodes: int


def turns_figure(
    without: tuple[str, Sequence[EpisodeSummary]],
    with_debugger: tuple[str, Sequence[EpisodeSummary]],
    name: str,
) -> Figure | None:
    """Each task's median turns in an arm with the debugger over those in one without; None without a task."""
    early, late = by_task(without[1]), by_task(with_debugger[1])
    points = [
        _Point(
            task=task,
            without=quantile([one.turns for one in early[task]], 0.5),
            with_debugger=quantile([one.turns for one in late[task]], 0.5),
            opened=sum(one.behaviour.debugger.opened for one in late[task]),
            episodes=len(late[task]),
        )
        for task in early.keys() & late.keys()
    ]
    if not points:
        return None
    return _scatter(
        sorted(points, key=lambda one: (one.opened > 0, one.task)), without[0], with_debugger[0], name
    )


def _scatter(points: Sequence[_Point], without: str, with_debugger: str, name: str) -> Figure:
    ticks = round_ticks(max(max(one.without, one.with_debugger) for one in points))
    left, top, bottom = 40.0, 30.0, 340.0
    x = Scale(low=0, high=ticks[-1], start=left, end=WIDTH - 70)
    y = Scale(low=0, high=ticks[-1], start=bottom, end=top)
    parts = [left_axis(y, left, ticks, reach=x.end)]
    parts.append(bottom_axis(x, bottom, ticks, f"median turns, {shortened(without, 260)}"))
    parts.append(line(x(0), y(0), x(ticks[-1]), y(ticks[-1]), "diagonal"))
    for one in points:
        tip = (
            f"{one.task}: {wording.plain(one.without)} turns without, "
            f"{wording.plain(one.with_debugger)} with; "
            f"opened in {one.opened} of {one.episodes} episodes"
        )
        parts.append(dot(x(one.without), y(one.with_debugger), 4.5, "opener" if one.opened else "other", tip))
    parts.append(legend([("opener", "opened the debugger"), ("other", "did not")], left, 14))
    above = sum(one.with_debugger > one.without for one in points)
    opened = sum(one.opened > 0 for one in points)
    told = f"{above} of {len(points)} tasks took more turns with the debugger; it was opened on {opened}"
    return Figure(
        name=name,
        title="Turns with and without the debugger",
        caption=f"Each point is a task; upward: median turns, {with_debugger}. {told}. "
        "Points above the dashed line took more turns with it.",
        drawing=svg(bottom + 42, told, *parts),
    )


def distribution_figure(arms: Mapping[str, Sequence[EpisodeSummary]]) -> Figure | None:
    """How many turns episodes took, and how many of them reached the cap; None without episodes."""
    scored = {name: [one for one in many if one.is_valid] for name, many in arms.items()}
    longest = max((one.turns for many in scored.values() for one in many), default=0)
    if not longest:
        return None
    ticks = round_ticks(longest)
    x = Scale(low=0, high=ticks[-1], start=4, end=WIDTH - 84)
    parts: list[Markup] = []
    told: list[str] = []
    for index, (name, many) in enumerate(scored.items()):
        baseline = _ROW * (index + 1) - 4
        capped = share_of(many, lambda one: one.reason is ExitReason.TURN_CAP)
        middle = quantile([one.turns for one in many], 0.5) if many else 0.0
        told.append(
            f"{name}: median {wording.plain(middle)} turns, {wording.percent(capped.value, 0)} at the cap"
        )
        parts += _histogram(name, many, index, x, baseline)
        parts += [
            line(x(middle), baseline - 44, x(middle), baseline, "whisker"),
            text(WIDTH - 76, baseline - 24, f"median {wording.plain(middle)}", kind="value"),
            text(WIDTH - 76, baseline - 6, f"{wording.percent(capped.value, 0)} at cap", kind="soft"),
        ]
    bottom = _ROW * len(arms)
    parts.append(bottom_axis(x, bottom, ticks, "turns of an episode, solved or not"))
    return Figure(
        name="turn-distribution",
        title="Turns of episodes",
        caption="All scored episodes. The upright line is the median; in the text's colour, those that "
        "the cap ended.",
        drawing=svg(bottom + 42, f"Distribution of turns. {'; '.join(told)}", *parts),
    )


def _histogram(
    name: str, many: Sequence[EpisodeSummary], index: int, x: Scale, baseline: float
) -> list[Markup]:
    width = max(1.0, x.high / _BINS)
    capped = Counter(int((one.turns - 1) / width) for one in many if one.reason is ExitReason.TURN_CAP)
    counts = Counter(int((one.turns - 1) / width) for one in many)
    tallest = max(counts.values(), default=1)
    parts = [text(4, baseline - 54, shortened(name, WIDTH - 100), kind="name")]
    for place, count in sorted(counts.items()):
        left, right = x(place * width), x((place + 1) * width)
        height, dark = 44 * count / tallest, 44 * capped[place] / tallest
        tip = f"{name}: {count} episodes of {place * width + 1:.0f} to {(place + 1) * width:.0f} turns"
        parts.append(box(left, baseline - height, right - left - 1, height, arm_kind(index), tip))
        if dark:
            parts.append(
                box(
                    left,
                    baseline - dark,
                    right - left - 1,
                    dark,
                    "dark",
                    f"{tip}, {capped[place]} at the cap",
                )
            )
    return parts


def breakpoints_figure(arms: Sequence[ArmMetrics]) -> Figure | None:
    """What became of the breakpoints that were asked for; None when there were none."""
    used = [
        (arm.arm, arm.debugger.breakpoints)
        for arm in arms
        if arm.debugger is not None and arm.debugger.wasted_breakpoints.total
    ]
    if not used:
        return None
    parts: list[Markup] = []
    told: list[str] = []
    for index, (name, counts) in enumerate(used):
        top, total, at = 8 + 46.0 * index, sum(counts.values()), 0
        scale = Scale(low=0, high=total, start=4, end=WIDTH - 4)
        parts.append(text(4, top + 9, shortened(name, WIDTH - 160), kind="name"))
        parts.append(text(WIDTH - 4, top + 9, f"{total} asked for", anchor="end", kind="soft"))
        told.append(
            f"{name}: " + ", ".join(f"{wording.words_of(one)} {counts[one]}" for one in _OUTCOME_KINDS)
        )
        for outcome, kind in _OUTCOME_KINDS.items():
            width = scale(at + counts[outcome]) - scale(at)
            tip = f"{name}: {wording.words_of(outcome)} {counts[outcome]} of {total}"
            if counts[outcome]:
                parts.append(box(scale(at), top + 16, width - 1, 16, kind, tip))
            at += counts[outcome]
    bottom = 46.0 * len(used) + 22
    entries = [(kind, wording.words_of(outcome)) for outcome, kind in _OUTCOME_KINDS.items()]
    parts += [legend(entries[:3], 4, bottom), legend(entries[3:], 4, bottom + 19)]
    return Figure(
        name="breakpoints",
        title="What became of breakpoints",
        caption="Each request once. Wasted are the unreached, the unbound (their module was never loaded) "
        "and the rejected.",
        drawing=svg(bottom + 28, f"What became of breakpoints. {'; '.join(told)}", *parts),
    )
