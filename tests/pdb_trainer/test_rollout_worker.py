"""Episodes of a policy in the sandbox, graded, as rollouts."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from pdb_agent.episode import Episode, read_episode
from pdb_agent.limits import EpisodeLimits
from pdb_agent.loop import EpisodeSettings
from pdb_agent.messages import AssistantMessage, Message, Reply, Stop, TokenIds, ToolSpec, Usage
from pdb_agent.policies.oracle import OraclePolicy
from pdb_agent.policy import PolicyUnavailableError, Sampling
from pdb_agent.task import Task
from pdb_agent.toolsets import Toolset, ToolsetName
from pdb_trainer.config import GymTasksConfig, TasksConfig, ToolsetConfig
from pdb_trainer.errors import TrainerError
from pdb_trainer.reward import outcome_only
from pdb_trainer.rollout_worker import Job, RolloutWorker, WorkerSettings
from pdb_trainer.training_tasks import training_tasks

pytestmark = [pytest.mark.anyio, pytest.mark.slow]
JOB = Job(step=3, group="s00003-g01", task="gym_minmax_0", number=2)


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


class Recorded:
    """Answers as the oracle does, or with a last word, and stamps ids; fails at its first questions."""

    name = "live/test"

    def __init__(self, oracle: OraclePolicy | None = None, *, failures: int = 0) -> None:
        self.seeds: list[int | None] = []
        self._oracle = oracle
        self._failures = failures

    async def respond(
        self, system: str, messages: Sequence[Message], tools: Sequence[ToolSpec], sampling: Sampling
    ) -> Reply:
        self.seeds.append(sampling.seed)
        if self._failures:
            self._failures -= 1
            raise PolicyUnavailableError("The server is away: start it.")
        reply = Reply(message=AssistantMessage(text="no"), stop=Stop.END, usage=Usage(), model="m")
        if self._oracle is not None:
            reply = await self._oracle.respond(system, messages, tools, sampling)
        ids = TokenIds(
            prompt=(1,) * len(messages), sampled=(2, 3), logprobs=(-1.0, -2.0), version="policy-v2"
        )
        return replace(reply, tokens=ids)

    async def aclose(self) -> None:
        """Nothing."""


def worker(policy: Recorded, **changes: object) -> RolloutWorker:
    choice = training_tasks(
        TasksConfig(gym=GymTasksConfig(count=1)), ToolsetConfig(name=ToolsetName.EDIT_MENU)
    )
    settings = WorkerSettings(
        run="run",
        seed=5,
        episode=EpisodeSettings(toolset=Toolset(name=ToolsetName.EDIT_MENU), limits=EpisodeLimits(turns=6)),
        hashes={"base_model": "abc"},
    )
    return RolloutWorker(policy, choice, reward, replace(settings, **changes))


def reward(episode: Episode, task: Task) -> dict[str, float]:
    return outcome_only(episode)


def oracle() -> OraclePolicy:
    choice = training_tasks(
        TasksConfig(gym=GymTasksConfig(count=1)), ToolsetConfig(name=ToolsetName.EDIT_MENU)
    )
    (task,) = choice.tasks
    return OraclePolicy(task, right_operation=choice.right_operations[task.id])


async def test_a_solved_episode_is_a_rollout_with_its_reward_and_hashes(tmp_path: Path) -> None:
    policy = Recorded(oracle())
    rollout = await worker(policy, transcripts=tmp_path).run(JOB)
    assert (rollout.episode, rollout.group, rollout.task) == ("s00003-g01-e02", "s00003-g01", "gym_minmax_0")
    assert (rollout.solved, rollout.reward, rollout.infra_error) == (True, 1.0, False)
    assert rollout.tests["hidden"][0] == rollout.tests["hidden"][1] > 0
    assert rollout.hashes["base_model"] == "abc"
    assert len(rollout.hashes["tools"]) == 12
    assert [turn.sampled_ids.tolist() for turn in rollout.turns] == [[2, 3]] * 4
    transcript = read_episode(tmp_path / "step-000003" / "s00003-g01-e02.jsonl")
    assert transcript.solved
    assert set(policy.seeds) == {rollout.seed}


async def test_infrastructure_is_tried_again_from_the_same_seed_and_never_scored(tmp_path: Path) -> None:
    policy = Recorded(failures=2)
    rollout = await worker(policy, transcripts=tmp_path).run(JOB)
    assert (rollout.infra_error, rollout.solved, rollout.reward) == (False, False, 0.0)
    assert len(policy.seeds) == 3
    assert len(set(policy.seeds)) == 1
    assert read_episode(tmp_path / "step-000003" / "s00003-g01-e02.jsonl").is_valid


async def test_infrastructure_that_stays_away_ends_the_run_with_a_sentence() -> None:
    with pytest.raises(TrainerError, match=r"ended by infrastructure 2 times \(provider_fatal: The server"):
        await worker(Recorded(failures=9), attempts=2).run(JOB)


def test_every_episode_of_a_run_has_a_seed_of_its_own_that_time_has_no_part_in() -> None:
    one = worker(Recorded())
    jobs = [
        Job(step=step, group=f"s{step:05d}-g{group:02d}", task="gym_minmax_0", number=number)
        for step in range(3)
        for group in range(3)
        for number in range(3)
    ]
    seeds = [one.seed_of(job) for job in jobs]
    assert len(set(seeds)) == len(jobs)
    assert seeds == [worker(Recorded()).seed_of(job) for job in jobs]
    assert set(seeds).isdisjoint(worker(Recorded(), seed=6).seed_of(job) for job in jobs)
