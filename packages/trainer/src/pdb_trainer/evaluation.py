"""Measures the policy through the agent, as ``pdb-agent eval`` measures any other, between steps."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Self

from pdb_agent.batch import Plan, run_batch
from pdb_agent.config import ArmConfig, LimitsConfig, PolicyConfig, SamplingConfig
from pdb_agent.config import RunConfig as AgentConfig
from pdb_agent.manifest import describe_tasks, make_manifest
from pdb_agent.messages import Message, Reply, ToolSpec
from pdb_agent.policy import Policy, Sampling
from pdb_agent.run_commands import price_of
from pdb_agent.run_folder import RunFolder
from pdb_agent.sandboxes.opening import open_sandbox, strongest
from pdb_agent.sandboxes.probe import choose
from pdb_agent.task_choice import choose_tasks
from pdb_agent.validation.stamp import tier_of

from pdb_trainer.config import (
    EvaluationConfig,
    GrpoConfig,
    RunConfig,
    SamplerConfig,
    SftConfig,
    TasksConfig,
    ToolsetConfig,
)
from pdb_trainer.group_pool import Seat
from pdb_trainer.training_tasks import measuring_tasks

ARM = "policy"


@dataclass(frozen=True, slots=True, kw_only=True)
class EvaluationSettings:
    """What is measured, and how."""

    evaluation: EvaluationConfig
    tasks: TasksConfig
    toolset: ToolsetConfig
    limits: LimitsConfig
    sampler: SamplerConfig
    run: RunConfig

    @classmethod
    def of(cls, config: SftConfig | GrpoConfig) -> Self:
        """Those of a run."""
        return cls(
            evaluation=config.evaluation,
            tasks=config.tasks,
            toolset=config.toolset,
            limits=config.limits,
            sampler=config.sampler,
            run=config.run,
        )

    def is_due(self, step: int) -> bool:
        """Whether a step is one to measure after."""
        every = self.evaluation.every
        return every > 0 and (step % every == 0 or step == self.run.steps)


class SeatedPolicy:
    """A policy whose every question is asked from a seat of its own (meets ``Policy``)."""

    def __init__(self, policy: Policy, seat: Seat) -> None:
        self._policy = policy
        self._seat = seat
        self._numbers = count()

    @property
    def name(self) -> str:
        """The policy's."""
        return self._policy.name

    async def respond(
        self, system: str, messages: Sequence[Message], tools: Sequence[ToolSpec], sampling: Sampling
    ) -> Reply:
        """The policy's reply."""
        async with self._seat(f"evaluation-{next(self._numbers)}"):
            return await self._policy.respond(system, messages, tools, sampling)

    async def aclose(self) -> None:
        """The policy stays the caller's."""


async def evaluate(policy: Policy, settings: EvaluationSettings, folder: Path) -> dict[str, float]:
    """Run what is missing of an evaluation in ``folder``; numbers to log. Raises AgentError.

    The folder is one that ``pdb-agent report`` and ``compare`` read.
    """
    config = agent_config(policy.name, settings)
    choice = choose_tasks(config)
    tiers = {task.id: tier_of(task) for task in choice.tasks}
    run = RunFolder(folder)
    with run.locked():
        sandbox = await (
            strongest() if config.backend is None else choose(open_sandbox, wanted=config.backend)
        )
        manifest = make_manifest(config, choice.tasks, sandbox=sandbox.as_dict(), tiers=tiers, tools={})
        run.claim(manifest, describe_tasks(choice.tasks))
        plan = Plan(
            config=config,
            tasks=choice.tasks,
            tiers=tiers,
            menus=choice.menus,
            price=price_of,
            jobs=settings.sampler.concurrency,
        )
        unfinished = await run_batch(plan, run, lambda config, task: policy, lambda progress: None)
    return {**_rates(run), "evaluation/unfinished": unfinished}


def _rates(run: RunFolder) -> dict[str, float]:
    episodes = [episode for _, episode in run.episodes() if episode.is_valid]
    solved = sum(episode.solved for episode in episodes)
    rate = solved / len(episodes) if episodes else 0.0
    return {"evaluation/solved": rate, "evaluation/episodes": len(episodes)}


def agent_config(policy: str, settings: EvaluationSettings) -> AgentConfig:
    """The evaluation as the agent's own settings."""
    return AgentConfig(
        policy=PolicyConfig(name=policy),
        sampling=SamplingConfig(
            temperature=settings.evaluation.temperature,
            max_output_tokens=settings.sampler.max_output_tokens,
            seed=settings.run.seed,
        ),
        limits=settings.limits,
        tasks=measuring_tasks(settings.tasks, settings.evaluation.count),
        arms={
            ARM: ArmConfig(
                toolset=settings.toolset.name, unlock_after_edits=settings.toolset.unlock_after_edits
            )
        },
        repetitions=settings.evaluation.repetitions,
        backend=settings.toolset.backend,
    )
