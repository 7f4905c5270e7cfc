"""What a run of GRPO holds open: learner, sampler, sandboxes, records; and how it goes on."""

from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TextIO

from pdb_agent.episode import Episode
from pdb_agent.loop import EpisodeSettings
from pdb_agent.policy import Policy, Sampling
from pdb_agent.task import Task
from pdb_agent.task_choice import TaskChoice

from pdb_trainer import learner_opening, reward
from pdb_trainer.adapter_transfer import Publisher
from pdb_trainer.advantage import AdvantageSettings
from pdb_trainer.alarms import AlarmSettings
from pdb_trainer.config import AlgorithmConfig, GrpoConfig, RewardConfig
from pdb_trainer.corpus.example import Example
from pdb_trainer.evaluation import EvaluationSettings, SeatedPolicy, evaluate
from pdb_trainer.example_rows import examples_for
from pdb_trainer.group_pool import GroupPool, PoolSettings
from pdb_trainer.groups import GroupSettings, SealedGroup
from pdb_trainer.grpo_numbers import SHOWN
from pdb_trainer.learner import Learner
from pdb_trainer.live_policy import LivePolicy
from pdb_trainer.loss import LossSettings
from pdb_trainer.microbatch_loss import PolicyObjective
from pdb_trainer.model_hashes import hashes_of
from pdb_trainer.policy_source import PolicySource, SourceSettings, open_source
from pdb_trainer.renderers.opening import prove_renderer
from pdb_trainer.rollout_store import RolloutStore
from pdb_trainer.rollout_worker import Reward, RolloutWorker, WorkerSettings
from pdb_trainer.run_files import EPISODES, EVALUATIONS, ROLLOUTS, SERVER_LOG, forget_after, step_name
from pdb_trainer.run_log import RunLog
from pdb_trainer.step_report import StepReport
from pdb_trainer.training_tasks import training_tasks

_PROVIDER = "live"


@dataclass(slots=True, kw_only=True)
class GrpoRun:
    """A run at work."""

    config: GrpoConfig
    folder: Path
    tasks: tuple[str, ...]
    """Ids, in the order that a pass shuffles."""
    learner: Learner
    pool: GroupPool
    publisher: Publisher
    policy: Policy
    advantage: AdvantageSettings
    alarms: AlarmSettings
    evaluation: EvaluationSettings
    examples: Sequence[Example]
    """To imitate beside; empty without an anchor."""
    log: RunLog
    learned: int = 0
    """Steps that are done."""
    drawn: int = 0
    """Tasks that were drawn so far."""
    was_gated: bool = False
    reports: list[StepReport] = field(default_factory=list[StepReport])

    def objective(self, step: int) -> PolicyObjective:
        """Of a step's update."""
        return PolicyObjective(
            version=step - 1, loss=_loss(self.config.algorithm), anchor_weight=self.config.anchor.weight
        )

    async def publish(self, step: int) -> None:
        """Draw with the learner's weights of this moment, called by the step. Raises SamplerError."""
        await self.publisher.publish(step, self.learner.adapter())

    async def evaluate(self, step: int) -> dict[str, float]:
        """Measure the policy where that is due; numbers to log."""
        if not self.evaluation.is_due(step):
            return {}
        self.log.doing(f"step {step}: measuring the policy")
        return await evaluate(self.policy, self.evaluation, self.folder / EVALUATIONS / step_name(step))

    def keep(self, step: int, groups: Sequence[SealedGroup]) -> None:
        """Write rollouts down. Raises RolloutError."""
        if self.config.run.keep_rollouts:
            store = RolloutStore(self.folder / ROLLOUTS / step_name(step))
            for group in groups:
                for rollout in group.rollouts:
                    store.append(rollout)

    def save(self, step: int) -> None:
        """The step is done; write a checkpoint where one is due. Raises CheckpointError."""
        self.learned = step
        if step % self.config.run.checkpoint_every == 0 or step == self.config.run.steps:
            base = self.config.model.path
            learner_opening.keep(self.folder, self.learner, step, {"drawn": self.drawn}, base)


@asynccontextmanager
async def open_run(config: GrpoConfig, folder: Path, stream: TextIO) -> AsyncGenerator[GrpoRun]:
    """A run in its folder, at its beginning or after its last checkpoint, its weights published.

    Raises TrainerError and AgentError for what is missing or does not fit.
    """
    choice = training_tasks(config.tasks, config.toolset)
    examples = _examples(config)
    opened = prove_renderer(config.model.renderer, config.model.path)
    learner = learner_opening.open_learner(config, temperature=config.sampler.temperature)
    checkpoint = learner_opening.resume(folder, learner)
    done = checkpoint.step if checkpoint else 0
    forget_after(folder, done)
    settings = SourceSettings(
        sampler=config.sampler,
        base=config.model.path,
        dtype=config.model.dtype,
        lag=config.algorithm.staleness,
        log=folder / SERVER_LOG,
    )
    with RunLog(folder, done=done, total=config.run.steps, shown=SHOWN, stream=stream) as log:
        for note in (*opened.notes, *learner_opening.words_on(checkpoint, folder)):
            log.say(note)
        if config.sampler.kind == "vllm" and config.sampler.base_url is None:
            log.say(f"vLLM is started, which takes a minute or so; what it prints is in {settings.log}.")
        async with open_source(learner.model, settings) as source:
            policy = LivePolicy(opened.renderer, source.sampler, name=f"{_PROVIDER}/{config.model.path.name}")
            run = GrpoRun(
                config=config,
                folder=folder,
                tasks=tuple(task.id for task in choice.tasks),
                learner=learner,
                pool=_pool(config, folder, policy, choice, source, log),
                publisher=source.publisher,
                policy=SeatedPolicy(policy, source.seat),
                advantage=_advantage(config.algorithm),
                alarms=AlarmSettings(**config.alarms.model_dump()),
                evaluation=EvaluationSettings.of(config),
                examples=examples,
                log=log,
                learned=done,
                drawn=checkpoint.counters["drawn"] if checkpoint else 0,
            )
            await run.publish(done)
            yield run


def _pool(
    config: GrpoConfig, folder: Path, policy: Policy, choice: TaskChoice, source: PolicySource, log: RunLog
) -> GroupPool:
    sampler, algorithm = config.sampler, config.algorithm
    worker = RolloutWorker(
        policy,
        choice,
        _reward(config.reward),
        WorkerSettings(
            run=folder.name,
            seed=config.run.seed,
            attempts=sampler.attempts,
            transcripts=folder / EPISODES if config.run.keep_episodes else None,
            hashes=hashes_of(config.model.path),
            episode=EpisodeSettings(
                arm="train",
                toolset=config.toolset.record(),
                limits=config.limits.record(),
                sampling=Sampling(
                    temperature=sampler.temperature, max_output_tokens=sampler.max_output_tokens
                ),
                backend=config.toolset.backend,
            ),
        ),
    )
    settings = PoolSettings(
        groups=GroupSettings(
            size=algorithm.group_size, least=algorithm.least_group, patience=algorithm.patience
        ),
        concurrency=sampler.concurrency,
        in_order=source.in_order,
    )
    return GroupPool(
        worker.run,
        settings,
        seat=source.seat,
        tell=lambda done, total: log.doing(f"episodes {done}/{total}"),
    )


def _reward(config: RewardConfig) -> Reward:
    match config.kind:
        case "itemised":
            return partial(reward.itemised, settings=config.record())
        case "outcome":
            return _outcome


def _outcome(episode: Episode, task: Task) -> dict[str, float]:
    return reward.outcome_only(episode)


def _advantage(algorithm: AlgorithmConfig) -> AdvantageSettings:
    return AdvantageSettings(
        divide_by_std=algorithm.divide_by_std,
        length_alpha=algorithm.length_alpha,
        aggregation=algorithm.aggregation,
        staleness=algorithm.staleness,
        stale_share=algorithm.stale_share,
        least_group=algorithm.least_group,
    )


def _loss(algorithm: AlgorithmConfig) -> LossSettings:
    return LossSettings(
        importance=algorithm.importance,
        clip_low=algorithm.clip_low if algorithm.clip else None,
        clip_high=algorithm.clip_high if algorithm.clip else None,
        dual_clip=algorithm.dual_clip or None,
        log_ratio_clamp=algorithm.log_ratio_clamp,
        response_scale=algorithm.response_scale,
        response_bounds=algorithm.response_bounds,
    )


def _examples(config: GrpoConfig) -> Sequence[Example]:
    anchor = config.anchor
    if anchor.corpus is None or not anchor.weight:
        return ()
    return examples_for(config.model.path, anchor.corpus, "train")
