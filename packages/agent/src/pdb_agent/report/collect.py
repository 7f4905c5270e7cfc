"""Runs on disk, read episode by episode and kept as summaries."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, cast

from pdb_agent.episode import EpisodeFileError, read_episode
from pdb_agent.episode_steps import Gold
from pdb_agent.errors import AgentError
from pdb_agent.run_folder import MANIFEST, TASKS
from pdb_agent.summary import EpisodeSummary, Price, summarise

_NO_MANIFEST: Mapping[str, Any] = {}


class ReportError(AgentError):
    """No report can be made of what was given; the message says of what it can."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskFacts:
    """What a run says of a task beside its episodes."""

    source_lines: int
    source_files: int
    split: str
    group: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """One run's folder."""

    path: Path
    manifest: Mapping[str, Any]
    """Empty where there is none."""
    tasks: Mapping[str, TaskFacts]
    summaries: tuple[EpisodeSummary, ...]
    unreadable: tuple[Path, ...]
    """Files that are no episode, or were cut off before their first line was whole."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sources:
    """How episodes are read."""

    gold: Callable[[str, str], Gold | None] = field(default=lambda task, content_hash: None)
    """Where the cause of a task is, by its id and content; without, what needs it is not measured."""
    price: Price | None = None


def read_run(path: Path, sources: Sources) -> Run:
    """All episodes of a run; attempts that were moved aside are left out. Raises ReportError."""
    files = sorted((path / "episodes").glob("*/*/*.jsonl"))
    if not files:
        raise ReportError(f"There are no episodes in {path}: give the folder that `pdb-agent eval` wrote to.")
    tasks = _tasks(path / TASKS)
    summaries: list[EpisodeSummary] = []
    unreadable: list[Path] = []
    for file in files:
        if not file.stem.isdecimal():
            continue
        try:
            episode = read_episode(file)
        except EpisodeFileError:
            unreadable.append(file)
            continue
        task = episode.started.task
        gold = sources.gold(task, episode.started.task_hash)
        summary = summarise(episode, gold=gold, price=sources.price)
        group = tasks[task].group if task in tasks else task
        summaries.append(replace(summary, arm=file.parent.parent.name, group=group))
    return Run(
        path=path,
        manifest=_json_object(path / MANIFEST),
        tasks=tasks,
        summaries=tuple(summaries),
        unreadable=tuple(unreadable),
    )


def arms_of(runs: Sequence[Run]) -> dict[str, list[EpisodeSummary]]:
    """Summaries by arm, runs as they were given, in each the arms without a debugger first.

    Equal names are told apart by their run.
    """
    names = [(run, arm) for run in runs for arm in _arms_in_order(run)]
    found: dict[str, list[EpisodeSummary]] = {}
    for run, arm in names:
        is_unique = sum(other == arm for _, other in names) == 1
        name = arm if is_unique else _free_name(f"{run.path.name}: {arm}", found)
        found[name] = [one for one in run.summaries if one.arm == arm]
    return found


def _arms_in_order(run: Run) -> list[str]:
    having = {one.arm: one.has_debugger for one in run.summaries}
    return sorted(having, key=having.__getitem__)


def _free_name(name: str, taken: Mapping[str, object]) -> str:
    number = 2
    while name in taken:
        name = f"{name.removesuffix(f' ({number - 1})')} ({number})"
        number += 1
    return name


def _tasks(path: Path) -> dict[str, TaskFacts]:
    found: dict[str, TaskFacts] = {}
    for name, value in _json_object(path).items():
        if not isinstance(value, dict):
            continue
        facts = cast("dict[str, Any]", value)
        found[name] = TaskFacts(
            source_lines=int(facts.get("source_lines") or 0),
            source_files=int(facts.get("source_files") or 0),
            split=str(facts.get("split", "")),
            group=str(facts.get("group", name)),
        )
    return found


def _json_object(path: Path) -> Mapping[str, Any]:
    """Empty when there is no such file. Raises ReportError when it is no JSON object."""
    if not path.exists():
        return _NO_MANIFEST
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise ReportError(f"{path} is no JSON ({error}): restore it, or remove it to do without.") from error
    if not isinstance(found, dict):
        raise ReportError(f"{path} holds no JSON object: restore it, or remove it to do without.")
    return cast("dict[str, Any]", found)
