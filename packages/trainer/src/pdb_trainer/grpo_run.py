"""What a run of GRPO holds open: learner, sampler, sandboxes, records; and how it goes on."""

from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TextIO

from pdb_agent.policy import Policy
from pdb_agent.task_choice import TaskChoice

from pdb_trainer import learner_opening
from pdb_trainer.adapter_transfer import Publisher
from pdb_trainer.advantage import AdvantageSettings
from pdb_trainer.alarms import AlarmSettings
from pdb_trainer.checkpoint import Checkpoint
from pdb_trainer.config import GrpoConfig
from pdb_trainer.corpus.example import Example
from pdb_trainer.evaluation import EvaluationSettings, SeatedPolicy, evaluate
from pdb_trainer.example_rows import examples_for
from pdb_trainer.group_pool import GroupPool
from pdb_trainer.groups import SealedGroup
from pdb_trainer.grpo_numbers import SHOWN
from pdb_trainer.grpo_settings import (
    advantage_settings,
    loss_settings,
    pool_settings,
    reward_of,
    worker_settings,
)
from pdb_trainer.learner import Learner
from pdb_trainer.live_policy import LivePolicy
from pdb_trainer.microbatch_loss import PolicyObjective
from pdb_trainer.policy_source import PolicySource, SourceSettings, open_source
from pdb_trainer.renderers.opening import OpenedRenderer, prove_renderer
from pdb_trainer.rollout_store import RolloutStore
from pdb_trainer.rollout_worker import RolloutWorker
from pdb_trainer.run_files import EVALUATIONS, ROLLOUTS, SERVER_LOG, forget_after, step_name
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
            version=step - 1,
            loss=loss_settings(self.config.algorithm),
            anchor_weight=self.config.anchor.weight,
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


@dataclass(frozen=True, slots=True, kw_only=True)
class _Beginning:
    """What is read before anything runs."""

    choice: TaskChoice
    examples: Sequence[Example]
    opened: OpenedRenderer
    learner: Learner
    checkpoint: Checkpoint | None

    @property
    def done(self) -> int:
        return self.checkpoint.step if self.checkpoint else 0


@asynccontextmanager
async def open_run(config: GrpoConfig, folder: Path, stream: TextIO) -> AsyncGenerator[GrpoRun]:
    """A run in its folder, at its beginning or after its last checkpoint, its weights published.

    Raises TrainerError and AgentError for what is missing or does not fit.
    """
    beginning = _read(config, folder)
    forget_after(folder, beginning.done)
    steps = config.run.steps
    settings = SourceSettings(
        sampler=config.sampler,
        base=config.model.path,
        dtype=config.model.dtype,
        lag=config.algorithm.staleness,
        log=folder / SERVER_LOG,
    )
    with RunLog(folder, done=beginning.done, total=steps, shown=SHOWN, stream=stream) as log:
        for note in (*beginning.opened.notes, *learner_opening.words_on(beginning.checkpoint, folder)):
            log.say(note)
        if settings.starts_server:
            log.say(f"vLLM is started, which takes a minute or so; what it prints is in {settings.log}.")
        async with open_source(beginning.learner.model, settings) as source:
            run = _assembled(config, folder, beginning, source, log)
            await run.publish(beginning.done)
            yield run


def _read(config: GrpoConfig, folder: Path) -> _Beginning:
    anchor = config.anchor
    choice = training_tasks(config.tasks, config.toolset)
    examples = (
        examples_for(config.model.path, anchor.corpus, "train") if anchor.corpus and anchor.weight else ()
    )
    opened = prove_renderer(config.model.renderer, config.model.path)
    learner = learner_opening.open_learner(config, temperature=config.sampler.temperature)
    return _Beginning(
        choice=choice,
        examples=examples,
        opened=opened,
        learner=learner,
        checkpoint=learner_opening.resume(folder, learner),
    )


def _assembled(
    config: GrpoConfig, folder: Path, beginning: _Beginning, source: PolicySource, log: RunLog
) -> GrpoRun:
    name = f"{_PROVIDER}/{config.model.path.name}"
    policy = LivePolicy(beginning.opened.renderer, source.sampler, name=name)
    worker = RolloutWorker(
        policy, beginning.choice, reward_of(config.reward), worker_settings(config, folder)
    )
    pool = GroupPool(
        worker.run,
        pool_settings(config, in_order=source.in_order),
        seat=source.seat,
        tell=lambda done, total: log.doing(f"episodes {done}/{total}"),
    )
    return GrpoRun(
        config=config,
        folder=folder,
        tasks=tuple(task.id for task in beginning.choice.tasks),
        learner=beginning.learner,
        pool=pool,
        publisher=source.publisher,
        policy=SeatedPolicy(policy, source.seat),
        advantage=advantage_settings(config.algorithm),
        alarms=AlarmSettings(**config.alarms.model_dump()),
        evaluation=EvaluationSettings.of(config),
        examples=beginning.examples,
        log=log,
        learned=beginning.done,
        drawn=beginning.checkpoint.counters["drawn"] if beginning.checkpoint else 0,
    )
