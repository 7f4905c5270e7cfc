"""Runs episodes of the policy in the sandbox and grades them, as an evaluation does, into rollouts."""

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from pdb_agent.episode import Ended, Episode, EpisodeLog, assemble
from pdb_agent.loop import EpisodeSettings, run_episode
from pdb_agent.manifest import tools_hash
from pdb_agent.policy import Policy
from pdb_agent.task import Task
from pdb_agent.task_choice import TaskChoice
from pdb_agent.validation.stamp import tier_of

from pdb_trainer.errors import TrainerError
from pdb_trainer.rollout import Rollout
from pdb_trainer.rollout_recording import rollout_of

_SEED_BYTES = 6
Reward = Callable[[Episode, Task], dict[str, float]]
"""The terms of an episode's reward."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """One episode to run."""

    step: int
    group: str
    """One draw of a task."""
    task: str
    number: int
    """Of the episode in its group, from 0."""

    @property
    def episode(self) -> str:
        """Its name, unique in a run."""
        return f"{self.group}-e{self.number:02d}"


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerSettings:
    """What all episodes of a run have in common."""

    run: str
    seed: int
    episode: EpisodeSettings
    attempts: int = 3
    """Of an episode that ends by infrastructure."""
    transcripts: Path | None = None
    """Folder for whole episodes, a folder per step; None keeps none."""
    hashes: Mapping[str, str] = field(default_factory=dict[str, str])
    """Of tokenizer, chat template, base model and debugger server."""


class RolloutWorker:
    """Runs any number of episodes at once; everything random follows from the run's seed and the job."""

    def __init__(self, policy: Policy, choice: TaskChoice, reward: Reward, settings: WorkerSettings) -> None:
        self._policy = policy
        self._tasks = {task.id: task for task in choice.tasks}
        self._menus = choice.menus
        self._reward = reward
        self._settings = settings

    async def run(self, job: Job) -> Rollout:
        """One episode with a verdict and a reward.

        One that ends by infrastructure is run again from the same seed, and never scored. Raises TrainerError
        when it ends so every time, and OSError when a transcript cannot be written.
        """
        task, ended = self._tasks[job.task], None
        for _ in range(self._settings.attempts):
            episode, ended = await self._attempt(job, task)
            if not ended.reason.is_infrastructure:
                return self._rollout(job, task, episode)
        assert ended is not None
        raise TrainerError(
            f"Episode {job.episode} of {task.id} ended by infrastructure {self._settings.attempts} times "
            f"({ended.reason}: {ended.detail}). See to that and run the same command again: it goes on from "
            "its last checkpoint."
        )

    async def _attempt(self, job: Job, task: Task) -> tuple[Episode, Ended]:
        with EpisodeLog(self._transcript(job)) as log:
            ended = await run_episode(task, self._policy, self._episode_settings(job, task), log)
        return assemble(log.events, job.episode), ended

    def _rollout(self, job: Job, task: Task, episode: Episode) -> Rollout:
        return rollout_of(
            episode,
            run=self._settings.run,
            group=job.group,
            seed=self.seed_of(job),
            rewards=self._reward(episode, task),
            hashes={**self._settings.hashes, "tools": tools_hash(episode.started.tools)},
        )

    def seed_of(self, job: Job) -> int:
        """Of an episode; its turns draw from seeds of their own that follow from it."""
        text = f"{self._settings.seed}/{job.step}/{job.episode}"
        return int.from_bytes(hashlib.sha256(text.encode()).digest()[:_SEED_BYTES], "big")

    def _episode_settings(self, job: Job, task: Task) -> EpisodeSettings:
        common = self._settings.episode
        return replace(
            common,
            number=job.number,
            sampling=replace(common.sampling, seed=self.seed_of(job)),
            tier=tier_of(task),
            menu=self._menus.get(task.id),
        )

    def _transcript(self, job: Job) -> Path | None:
        if self._settings.transcripts is None:
            return None
        path = self._settings.transcripts / f"step-{job.step:06d}" / f"{job.episode}.jsonl"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.unlink(missing_ok=True)  # of an attempt before this one, or of a run that was killed
        return path
