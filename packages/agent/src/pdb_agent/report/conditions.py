"""Under what a report's numbers came about, and the sentences at its head. Pure."""

import json
from collections.abc import Mapping, Sequence
from typing import Any, cast

from pdb_agent.comparison import Comparison
from pdb_agent.metrics import ArmMetrics
from pdb_agent.report import wording
from pdb_agent.report.collect import Run
from pdb_agent.report.tables import Table
from pdb_agent.summary import EpisodeSummary, digest

_SHOWN_HASH = 12
_LEVEL = 0.05


def conditions_table(arms: Mapping[str, Sequence[EpisodeSummary]], runs: Sequence[Run]) -> Table:
    """Model, settings, versions and hashes of each arm."""
    run_of = {id(one): run for run in runs for one in run.summaries}
    rows: dict[str, list[str]] = {}
    for many in arms.values():
        manifest = run_of[id(many[0])].manifest
        for name, value in {**_of_episodes(many), **_of_manifest(manifest)}.items():
            rows.setdefault(name, []).append(value)
    kept = {
        name: values for name, values in rows.items() if any(value != wording.NOTHING for value in values)
    }
    return Table(
        caption="How it was run",
        columns=("", *arms),
        rows=[[name, *values] for name, values in kept.items()],
        words=frozenset(range(1, len(arms) + 1)),
    )


def _of_episodes(many: Sequence[EpisodeSummary]) -> dict[str, str]:
    tasks = sorted({(one.task, one.task_hash) for one in many})
    began = sorted(one.began for one in many)
    asked = [json.loads(text) for text in sorted({one.conditions.sampling for one in many})]
    seeds = sorted(int(sampling["seed"]) for sampling in asked if sampling.get("seed") is not None)
    unpriced = sum(one.cost is None for one in many)
    return {
        "policy asked for": _either(one.conditions.policy for one in many),
        "model that answered": _either(name for one in many for name in one.conditions.models),
        "toolset": _either(one.conditions.toolset for one in many),
        "split": _either(one.split for one in many),
        "effort": _either(str(sampling.get("effort") or wording.NOTHING) for sampling in asked),
        "sampling asked for": _either(_settings(sampling, ("seed", "effort")) for sampling in asked),
        "sampling sent": _either(_settings(json.loads(text)) for one in many for text in one.conditions.sent),
        "seeds": _range([str(seed) for seed in seeds]),
        "limits": _either(_settings(json.loads(one.conditions.limits)) for one in many),
        "prompt": _either(one.conditions.prompt_hash for one in many),
        "tool schemas": _either(one.conditions.tools_hash for one in many),
        "tasks": f"{len(tasks)}, {digest(json.dumps(tasks))}",
        "sandbox": _either(one.conditions.backend for one in many),
        "grading tiers": _either(one.conditions.grading for one in many),
        "dates": _range([_minute(began[0]), _minute(began[-1])]),
        "requests made again": str(sum(one.retries for one in many)),
        "infrastructure failures": str(sum(not one.is_valid for one in many)),
        "prices": "all known" if not unpriced else f"unknown for {unpriced} of {len(many)} episodes",
    }


def _of_manifest(manifest: Mapping[str, Any]) -> dict[str, str]:
    packages = cast("dict[str, Any]", manifest.get("packages") or {})
    commit = manifest.get("commit")
    return {
        "versions": ", ".join(f"{name} {found}" for name, found in packages.items() if found)
        or wording.NOTHING,
        "prompt version": str(manifest.get("prompt") or wording.NOTHING),
        "commit": str(commit)[:_SHOWN_HASH] if commit else wording.NOTHING,
        "Python": str(manifest.get("python") or wording.NOTHING),
        "task set": str(manifest.get("task_set") or wording.NOTHING),
        "chosen by": str(manifest.get("selection_rule") or wording.NOTHING),
        "checkpoints tried": _list_in_words(manifest.get("checkpoints_tried")),
    }


def findings(arms: Sequence[ArmMetrics], comparisons: Sequence[Comparison]) -> list[str]:
    """A report's answers in sentences."""
    found = [_solved(arm) for arm in arms]
    found += [_compared(one) for one in comparisons]
    found += [_opened(arm) for arm in arms if arm.debugger is not None]
    return found


def _solved(arm: ArmMetrics) -> str:
    rate = arm.rates.pass_at[1]
    if rate is None:
        return f"{arm.arm}: no episode is scored."
    third = arm.rates.pass_at[3]
    more = f", pass@3 {wording.estimate(third)}" if third else ""
    turns = wording.plain(arm.effort.turns.median) if arm.effort.turns else wording.NOTHING
    capped = wording.percent(arm.effort.at_turn_cap.value, 0)
    return (
        f"{arm.arm} solved {wording.estimate(rate)}{more}, in a median of {turns} turns; "
        f"{capped} of its episodes ran into the turn cap."
    )


def _compared(one: Comparison) -> str:
    change = one.pass_at_1
    verdict = "seldom chance" if change.p < _LEVEL else "as chance may make it"
    return (
        f"{one.after} against {one.before}: {wording.points(change.change)} of pass@1 "
        f"({wording.p_value(change.p)}: {verdict}), better on {change.tally.wins} tasks, "
        f"worse on {change.tally.losses}, equal on {change.tally.ties}; "
        f"{wording.change_of(one.turns.change)} turns per episode."
    )


def _opened(arm: ArmMetrics) -> str:
    use = arm.debugger
    assert use is not None
    if not use.opened.count:
        return f"{arm.arm} never opened the debugger."
    appropriate = (
        f" (appropriate use {wording.percent(use.appropriate_use, 0)})"
        if use.appropriate_use is not None
        else ""
    )
    return (
        f"{arm.arm} opened the debugger in {wording.percent(use.opened.value)} of its episodes{appropriate}; "
        f"{wording.percent(use.wasted_breakpoints.value, 0)} of its breakpoints were wasted, and "
        f"{wording.percent(use.inspection_to_edit.value)} of the episodes that looked at values "
        "went on to an edit."
    )


def _either(values: Any) -> str:
    return "; ".join(sorted({str(value) for value in values if value != ""})) or wording.NOTHING


def _settings(given: Mapping[str, Any], left_out: Sequence[str] = ()) -> str:
    shown = {name: value for name, value in given.items() if value is not None and name not in left_out}
    return ", ".join(
        f"{wording.words_of(name)} {value:g}"
        if isinstance(value, float)
        else f"{wording.words_of(name)} {value}"
        for name, value in shown.items()
    )


def _range(ends: Sequence[str]) -> str:
    """From the first to the last, once where they are the same."""
    return " to ".join(dict.fromkeys([ends[0], ends[-1]])) if ends else wording.NOTHING


def _minute(moment: str) -> str:
    return moment[:16].replace("T", " ")


def _list_in_words(value: object) -> str:
    if isinstance(value, list | tuple):
        return ", ".join(map(str, cast("Sequence[object]", value)))
    return str(value) if value else wording.NOTHING
