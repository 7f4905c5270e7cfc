"""Builds a corpus out of runs of an agent: read, check, cut, tokenise, choose, hold out, write."""

import json
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from pdb_trainer.corpus.example import Example
from pdb_trainer.corpus.gathering import (
    OVER_CAP,
    REASONS,
    SAME_EDITS,
    BuildProgress,
    Candidate,
    Gathered,
    Gatherer,
    Rejected,
)
from pdb_trainer.corpus.holding_out import held_out_groups
from pdb_trainer.corpus.leakage import LeakageGuard
from pdb_trainer.corpus.selection import select
from pdb_trainer.corpus.settings import CorpusSettings
from pdb_trainer.corpus.writing import Contents, refuse_other_folder, write_corpus
from pdb_trainer.errors import CorpusError
from pdb_trainer.renderers.renderer import Renderer


@dataclass(frozen=True, slots=True, kw_only=True)
class BuildReport:
    """What a build came to."""

    episodes: int
    solved: int
    examples: Mapping[str, Mapping[str, int]]
    """Numbers by kind and part."""
    tasks: int
    tokens: int
    trained_tokens: int
    reasons: Mapping[str, int]
    """Why episodes gave no whole example; an episode may have several reasons."""
    rejected: int
    """Episodes that gave no whole example."""
    dropped_microskills: Mapping[str, int]


def build_corpus(
    settings: CorpusSettings,
    runs: Sequence[Path],
    out: Path,
    renderer: Renderer,
    guard: LeakageGuard,
    *,
    hashes: Mapping[str, str],
    tell: Callable[[BuildProgress], None] = lambda progress: None,
) -> BuildReport:
    """Build a corpus of the episodes of ``runs`` in ``out``; ``hashes`` name what tokenises it.

    Equal runs, settings and renderer give equal bytes. Raises LeakageError for a task that must not be
    learnt from, CorpusError when nothing is left or ``out`` cannot be written.
    """
    refuse_other_folder(out)
    gathered = Gatherer(settings, renderer, guard).read(runs, tell)
    chosen = _choose(gathered, settings)
    report = _report(gathered, [one.example for one in chosen])
    if not chosen:
        counts = ", ".join(f"{why} {count}" for why, count in report.reasons.items())
        raise CorpusError(f"No example is left of {report.episodes} episodes: {counts}.")
    contents = _contents(gathered, chosen, report, settings, {"renderer": renderer.name, **hashes})
    write_corpus(out, contents)
    return report


def _choose(gathered: Gathered, settings: CorpusSettings) -> list[Candidate]:
    """Whole episodes and microskills within their caps, by task, with what is held out marked."""
    distinct = select(gathered.full, lambda one: one.edits, settings.same_edits, lambda one: one.order)
    full = select(distinct, lambda one: one.example.task, settings.per_task, lambda one: one.order)
    gathered.rejected += _left_out(gathered.full, distinct, SAME_EDITS)
    gathered.rejected += _left_out(distinct, full, OVER_CAP)
    skills = select(
        gathered.skills,
        lambda one: (one.example.task, one.example.kind),
        settings.per_task_and_skill,
        lambda one: one.order,
    )
    chosen = sorted([*full, *skills], key=lambda one: (one.example.task, one.example.kind, one.order))
    sizes = Counter(one.example.group for one in chosen)
    away = held_out_groups(sizes, settings.held_out, settings.seed)
    return [
        replace(one, example=replace(one.example, part="held_out")) if one.example.group in away else one
        for one in chosen
    ]


def _left_out(before: Sequence[Candidate], after: Sequence[Candidate], why: str) -> list[Rejected]:
    kept = {one.place for one in after}
    return [Rejected(place=one.place, reasons={why: ""}) for one in before if one.place not in kept]


def _report(gathered: Gathered, examples: Sequence[Example]) -> BuildReport:
    kinds: dict[str, Counter[str]] = {}
    for one in examples:
        kinds.setdefault(one.kind, Counter())[one.part] += 1
    counts = Counter(why for one in gathered.rejected for why in one.reasons)
    others = sorted(counts.keys() - set(REASONS))
    return BuildReport(
        episodes=gathered.episodes,
        solved=gathered.solved,
        examples={kind: dict(sorted(parts.items())) for kind, parts in sorted(kinds.items())},
        tasks=len({one.task for one in examples}),
        tokens=sum(len(one.token_ids) for one in examples),
        trained_tokens=sum(one.trained_tokens for one in examples),
        reasons={why: counts[why] for why in (*REASONS, *others) if counts[why]},
        rejected=len(gathered.rejected),
        dropped_microskills=dict(sorted(gathered.dropped.items())),
    )


def _contents(
    gathered: Gathered,
    chosen: Sequence[Candidate],
    report: BuildReport,
    settings: CorpusSettings,
    hashes: Mapping[str, str],
) -> Contents:
    examples = [one.example for one in chosen]
    used = {one.task for one in examples}
    return Contents(
        examples=examples,
        conversations=[one.messages for one in chosen],
        tasks={name: task for name, task in gathered.tasks.items() if name in used},
        rejected=[_rejected_line(one) for one in gathered.rejected],
        manifest={
            "hashes": dict(hashes),
            "tools": dict(sorted(gathered.tools.items())),
            "settings": json.loads(settings.model_dump_json()),
            "counts": asdict(report),
            "held_out_groups": sorted({one.group for one in examples if one.part == "held_out"}),
        },
    )


def _rejected_line(one: Rejected) -> dict[str, Any]:
    return asdict(one.place) | {"reasons": dict(one.reasons)}
