"""Figures of what was solved: rates by arm, pass@k, coverage, sizes of tasks. Pure."""

from collections import Counter
from collections.abc import Mapping, Sequence
from hashlib import sha256

from pdb_agent.metrics import ArmMetrics, by_task
from pdb_agent.report import wording
from pdb_agent.report.collect import TaskFacts
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
    shortened,
    svg,
    text,
)
from pdb_agent.report.markup import Markup
from pdb_agent.statistics import Estimate, quantile
from pdb_agent.summary import EpisodeSummary

_QUARTERS = (0.0, 25.0, 50.0, 75.0, 100.0)
_ROW = 46.0
_LEFT = 12.0
_LEAST_TICKS = 4
_STEPS = ("never", "seldom", "at times", "often", "always")


def solve_rate_figure(arms: Sequence[ArmMetrics]) -> Figure:
    """pass@1 by arm with its interval."""
    scale = Scale(low=0, high=1, start=_LEFT, end=WIDTH - 62)
    percent = Scale(low=0, high=100, start=scale.start, end=scale.end)
    parts: list[Markup] = [line(percent(tick), 6, percent(tick), _ROW * len(arms) + 2) for tick in _QUARTERS]
    for index, arm in enumerate(arms):
        parts += _rate_row(arm, index, scale, 8 + _ROW * index)
    bottom = _ROW * len(arms) + 4
    parts.append(bottom_axis(percent, bottom, _QUARTERS, "episodes solved, mean over tasks", unit="%"))
    told = "; ".join(f"{arm.arm} {wording.estimate(arm.rates.pass_at[1])}" for arm in arms)
    few = any(_is_of_few(arm.rates.pass_at[1]) for arm in arms)
    note = " None is drawn under ten tasks; under twenty they cover less often than they say." if few else ""
    return Figure(
        name="solve-rate",
        title="Solve rate by arm",
        caption=f"Whiskers: 95% intervals by resampling tasks, those of one template together.{note}",
        drawing=svg(bottom + 42, f"Solve rate by arm: {told}", *parts),
    )


def _rate_row(arm: ArmMetrics, index: int, scale: Scale, top: float) -> list[Markup]:
    found = arm.rates.pass_at[1]
    detail = f"{arm.rates.solved} of {arm.rates.episodes} episodes, {arm.rates.tasks} tasks"
    parts = [text(_LEFT, top + 9, shortened(arm.arm, WIDTH - 200), kind="name")]
    parts.append(text(scale.end, top + 9, detail, anchor="end", kind="soft"))
    if found is None:
        return [*parts, text(_LEFT, top + 28, "no scored episode", kind="soft")]
    tip = f"{arm.arm}: {wording.estimate(found)}; {detail}"
    parts.append(box(scale.start, top + 16, scale(found.value) - scale.start, 14, arm_kind(index), tip))
    if found.interval is not None:
        low, high, middle = scale(found.interval.low), scale(found.interval.high), top + 23
        parts += [
            line(low, middle, high, middle, "whisker"),
            line(low, middle - 4, low, middle + 4, "whisker"),
            line(high, middle - 4, high, middle + 4, "whisker"),
        ]
    parts.append(text(WIDTH - 56, top + 27, wording.percent(found.value), kind="value"))
    return parts


def pass_at_k_figure(arms: Sequence[ArmMetrics]) -> Figure:
    """pass@1 and pass@3 of each arm, which may be checkpoints, side by side."""
    top, bottom, left = 22.0, 190.0, 40.0
    scale = Scale(low=0, high=100, start=bottom, end=top)
    parts = [left_axis(scale, left, _QUARTERS, unit="%", reach=WIDTH)]
    room = (WIDTH - left) / max(1, len(arms))
    width = min(46.0, room * 0.36)
    for index, arm in enumerate(arms):
        centre = left + room * (index + 0.5)
        parts += _column(arm, 1, index, scale, centre - width - 2, width)
        parts += _column(arm, 3, index, scale, centre + 2, width)
        parts.append(text(centre, bottom + 32, shortened(arm.arm, room - 4), anchor="middle", kind="name"))
    parts.append(line(left, bottom, WIDTH, bottom, "axis"))
    told = "; ".join(
        f"{arm.arm} {wording.estimate(arm.rates.pass_at[1])} and {wording.estimate(arm.rates.pass_at[3])}"
        for arm in arms
    )
    return Figure(
        name="pass-at-k",
        title="pass@1 and pass@3",
        caption="pass@3 is estimated over every three-episode subset of a task's episodes; "
        "it is not drawn where a task has fewer than three.",
        drawing=svg(bottom + 42, f"pass@1 and pass@3 by arm: {told}", *parts),
    )


def _column(arm: ArmMetrics, k: int, index: int, scale: Scale, x: float, width: float) -> list[Markup]:
    found = arm.rates.pass_at[k]
    parts = [text(x + width / 2, scale.start + 15, f"@{k}", anchor="middle", kind="soft")]
    if found is None:
        return parts
    height = scale.start - scale(100 * found.value)
    kind = arm_kind(index) if k == 1 else f"{arm_kind(index)} faint"
    tip = f"{arm.arm}, pass@{k}: {wording.estimate(found)}"
    value = wording.percent(found.value)
    above = scale(100 * found.value) - 5
    return [
        *parts,
        box(x, scale.start - height, width, height, kind, tip),
        text(x + width / 2, above, value, anchor="middle", kind="value"),
    ]


def coverage_figure(arms: Mapping[str, Sequence[EpisodeSummary]]) -> Figure:
    """How many tasks each arm solved in none, some and all of their episodes."""
    left, right = 4.0, WIDTH - 4
    parts: list[Markup] = []
    told: list[str] = []
    for index, (name, summaries) in enumerate(arms.items()):
        counts = [(sum(one.solved for one in many), len(many)) for many in by_task(summaries).values()]
        once, always = sum(c > 0 for c, _ in counts), sum(c == n for c, n in counts)
        words = f"once {once}/{len(counts)}, always {always}/{len(counts)}"
        told.append(f"{name} {words}")
        top = 8 + _ROW * index
        parts += [
            text(left, top + 9, shortened(name, WIDTH - 200), kind="name"),
            text(right, top + 9, words, anchor="end", kind="soft"),
            *_coverage_row(
                name, counts, Scale(low=0, high=max(1, len(counts)), start=left, end=right), top + 16
            ),
        ]
    bottom = _ROW * len(arms) + 24
    entries = [(f"step-{step}", words) for step, words in enumerate(_STEPS)]
    parts.append(legend(entries, left, bottom))
    return Figure(
        name="coverage",
        title="Coverage across episodes",
        caption="Tasks by the share of their episodes that solved them, from never to always.",
        drawing=svg(bottom + 8, f"Tasks solved once and always: {'; '.join(told)}", *parts),
    )


def _coverage_row(name: str, counts: Sequence[tuple[int, int]], scale: Scale, top: float) -> list[Markup]:
    groups = Counter((_step(solved, episodes), solved, episodes) for solved, episodes in counts)
    parts: list[Markup] = []
    at = 0
    for (step, solved, episodes), tasks in sorted(groups.items(), key=lambda one: one[0][1] / one[0][2]):
        x, width = scale(at), scale(at + tasks) - scale(at)
        tip = f"{name}: {tasks} tasks solved in {solved} of {episodes} episodes"
        parts.append(box(x, top, width - 1, 16, f"step-{step}", tip))
        if width > 18:
            parts.append(text(x + width / 2, top + 12, str(tasks), anchor="middle", kind=f"on-step-{step}"))
        at += tasks
    return parts


def _step(solved: int, episodes: int) -> int:
    """0 for never, 4 for always, 1 to 3 between."""
    if solved in (0, episodes):
        return 4 if solved else 0
    return 1 + min(2, 3 * solved // episodes)


def task_size_figure(tasks: Mapping[str, TaskFacts]) -> Figure | None:
    """Lines and files of source that a failing test reaches, by split; None when no size is known."""
    known = {name: facts for name, facts in tasks.items() if facts.source_lines and facts.source_files}
    if not known:
        return None
    top, bottom, left = 26.0, 230.0, 40.0
    lines = [facts.source_lines for facts in known.values()]
    files = [facts.source_files for facts in known.values()]
    x = Scale(low=min(lines) * 0.85, high=max(lines) * 1.2, start=left, end=WIDTH - 8, is_logarithmic=True)
    y = Scale(low=0.8, high=max(files) * 1.3, start=bottom, end=top, is_logarithmic=True)
    splits = sorted({facts.split for facts in known.values()})
    whole = [tick for tick in _log_ticks(y.low, y.high) if tick.is_integer()]
    parts = [left_axis(y, left, whole, reach=WIDTH - 8)]
    parts.append(bottom_axis(x, bottom, _log_ticks(x.low, x.high), "lines of source, reached by import"))
    for name, facts in known.items():
        nudge = (int(sha256(name.encode()).hexdigest()[:4], 16) / 0xFFFF - 0.5) * 9
        tip = f"{name}: {facts.source_lines} lines, {facts.source_files} files, {facts.split}"
        kind = f"{arm_kind(splits.index(facts.split))} point"
        parts.append(dot(x(facts.source_lines), y(facts.source_files) + nudge, 4, kind, tip))
    parts.append(legend([(arm_kind(place), split) for place, split in enumerate(splits)], left, 14))
    median = f"{wording.plain(quantile(lines, 0.5))} lines over {wording.plain(quantile(files, 0.5))} files"
    return Figure(
        name="task-size",
        title="Sizes of the tasks",
        caption=f"{len(known)} tasks; the median reaches {median}. Files upward; both axes are logarithmic.",
        drawing=svg(bottom + 42, f"Sizes of {len(known)} tasks, median {median}", *parts),
    )


def _log_ticks(low: float, high: float) -> list[float]:
    for factors in ((1, 2, 5), (1, 1.5, 2, 3, 5, 7)):
        steps = [factor * 10.0**power for power in range(6) for factor in factors]
        found = [step for step in steps if low <= step <= high]
        if len(found) >= _LEAST_TICKS:
            break
    return found


def _is_of_few(found: Estimate | None) -> bool:
    return found is not None and (found.interval is None or found.interval.is_of_few)
