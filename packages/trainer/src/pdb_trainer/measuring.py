"""Measures a supervised run through the agent: a sampler is opened for that alone."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from pdb_agent.policy import Policy

from pdb_trainer.adapter_transfer import Publisher
from pdb_trainer.config import SftConfig
from pdb_trainer.evaluation import EvaluationSettings, SeatedPolicy, evaluate
from pdb_trainer.learner import Learner
from pdb_trainer.live_policy import LivePolicy
from pdb_trainer.model import PolicyModel
from pdb_trainer.policy_source import SourceSettings, open_source
from pdb_trainer.renderers.opening import open_renderer
from pdb_trainer.run_files import EVALUATIONS, SERVER_LOG, step_name
from pdb_trainer.run_log import RunLog


@dataclass(frozen=True, slots=True, kw_only=True)
class Measuring:
    """A policy that can be measured between steps."""

    settings: EvaluationSettings
    folder: Path
    policy: Policy
    publisher: Publisher
    log: RunLog

    async def measure(self, step: int, learner: Learner) -> dict[str, float]:
        """Numbers to log, where it is due. Raises AgentError, SamplerError."""
        if not self.settings.is_due(step):
            return {}
        self.log.doing(f"step {step}: measuring the policy")
        await self.publisher.publish(step, learner.adapter())
        return await evaluate(self.policy, self.settings, self.folder / EVALUATIONS / step_name(step))


@asynccontextmanager
async def open_measuring(
    config: SftConfig, folder: Path, model: PolicyModel, log: RunLog
) -> AsyncGenerator[Measuring | None]:
    """None where the recipe wants no evaluation. Raises SamplerError, RendererError, ConfigError."""
    if not config.evaluation.every:
        yield None
        return
    renderer = open_renderer(config.model.renderer, config.model.path)
    source = SourceSettings(
        sampler=config.sampler, base=config.model.path, dtype=config.model.dtype, log=folder / SERVER_LOG
    )
    if source.starts_server:
        log.say(f"vLLM is started, which takes a minute or so; what it prints is in {source.log}.")
    async with open_source(model, source) as opened:
        policy = LivePolicy(renderer, opened.sampler, name=f"live/{config.model.path.name}")
        yield Measuring(
            settings=EvaluationSettings.of(config),
            folder=folder,
            policy=SeatedPolicy(policy, opened.seat),
            publisher=opened.publisher,
            log=log,
        )
