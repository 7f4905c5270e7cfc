"""Measures a policy on a lab's held-out programs: real tools, sandbox and grader, an episode of each."""

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import anyio
from pdb_agent.episode import Episode, EpisodeLog, assemble
from pdb_agent.loop import EpisodeSettings, run_episode
from pdb_agent.policy import Policy
from pdb_agent.procedural.gym import GymTask
from pdb_agent.run_folder import read_or_none

from pdb_trainer.errors import TrainerError
from pdb_trainer.labs.task_sets import to_measure

_SEED_BYTES = 6


@dataclass(frozen=True, slots=True, kw_only=True)
class Measure:
    """How to measure."""

    episode: EpisodeSettings
    seed: int
    concurrency: int
    attempts: int
    """Of an episode that ends by infrastructure."""


async def measure(
    policy: Policy,
    tasks: Sequence[GymTask],
    settings: Measure,
    folder: Path,
    tell: Callable[[int, int], None] = lambda done, solved: None,
) -> dict[str, Episode]:
    """An episode of every task, by the task's name; those that are in ``folder`` already are read.

    Every task draws from a seed of its own, the same for every policy: tasks are independent, and policies
    compared on equal terms. ``tell`` is told how many are done and solved. Raises TrainerError.
    """
    await anyio.Path(folder).mkdir(parents=True, exist_ok=True)
    limiter = anyio.CapacityLimiter(settings.concurrency)
    found: dict[str, Episode] = {}

    async def one(task: GymTask) -> None:
        async with limiter:
            found[task.name] = await _episode(policy, task, settings, folder)
            tell(len(found), sum(episode.solved for episode in found.values()))

    async with anyio.create_task_group() as group:
        for task in tasks:
            group.start_soon(one, task)
    return {task.name: found[task.name] for task in tasks}


def seed_of(task: str, seed: int) -> int:
    """Of a task's episode: tasks have nothing to do with each other."""
    digest = hashlib.sha256(f"{seed}/measure/{task}".encode()).digest()
    return int.from_bytes(digest[:_SEED_BYTES], "big")


async def _episode(policy: Policy, gym_task: GymTask, settings: Measure, folder: Path) -> Episode:
    path = folder / f"{gym_task.name}.jsonl"
    there = read_or_none(path) if path.exists() else None
    if there is not None and there.is_valid:
        return there
    task, menu = to_measure(gym_task)
    seed = seed_of(task.id, settings.seed)
    common = settings.episode
    episode_settings = replace(common, menu=menu, sampling=replace(common.sampling, seed=seed))
    detail = ""
    for _ in range(settings.attempts):
        path.unlink(missing_ok=True)
        with EpisodeLog(path) as log:
            ended = await run_episode(task, policy, episode_settings, log)
        if not ended.reason.is_infrastructure:
            return assemble(log.events, path)
        detail = f"{ended.reason}: {ended.detail}"
    raise TrainerError(
        f"The episode of {task.id} ended by infrastructure {settings.attempts} times ({detail}): see to that "
        "and run the same command again."
    )
