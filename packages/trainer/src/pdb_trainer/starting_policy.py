"""The policy that a run would begin with, for whoever wants to see it act without learning."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import anyio
from pdb_agent.config import PolicyConfig, SamplingConfig
from pdb_agent.policy import Policy

from pdb_trainer import learner_opening
from pdb_trainer.adapter_files import read_adapter, tensor_hash
from pdb_trainer.config import GrpoConfig, SftConfig
from pdb_trainer.corpus.settings import CollectConfig
from pdb_trainer.evaluation import SeatedPolicy
from pdb_trainer.live_policy import LivePolicy
from pdb_trainer.policy_source import SourceSettings, open_source
from pdb_trainer.renderers.opening import open_renderer
from pdb_trainer.run_files import SERVER_LOG


@asynccontextmanager
async def open_starting_policy(config: SftConfig | GrpoConfig, folder: Path) -> AsyncGenerator[Policy]:
    """The model of a recipe with the adapter that it starts from; a server writes its log into ``folder``.

    Raises TrainerError for what is missing or does not fit.
    """
    renderer = open_renderer(config.model.renderer, config.model.path)
    learner = learner_opening.open_learner(config, temperature=config.sampler.temperature)
    await anyio.Path(folder).mkdir(parents=True, exist_ok=True)
    settings = SourceSettings(
        sampler=config.sampler, base=config.model.path, dtype=config.model.dtype, log=folder / SERVER_LOG
    )
    async with open_source(learner.model, settings) as source:
        if config.adapter.start is not None:
            await source.publisher.publish(0, learner.adapter())
        policy = LivePolicy(renderer, source.sampler, name=policy_name(config))
        yield SeatedPolicy(policy, source.seat)


def policy_name(config: SftConfig | GrpoConfig) -> str:
    """As episodes name it."""
    return f"live/{config.model.path.name}"


def adapter_hash(adapter: Path | None) -> str | None:
    """Of the weights in an adapter's folder, as an export tells it; None without. Raises CheckpointError."""
    return None if adapter is None else tensor_hash(read_adapter(adapter)[0])


def acting(config: SftConfig | GrpoConfig, *, repetitions: int) -> CollectConfig:
    """Episodes of a recipe's policy on its tasks, with its tools and limits, drawn as in training."""
    return CollectConfig(
        policy=PolicyConfig(name=policy_name(config)),
        sampling=SamplingConfig(
            temperature=config.sampler.temperature,
            max_output_tokens=config.sampler.max_output_tokens,
            seed=config.run.seed,
        ),
        limits=config.limits,
        tasks=config.tasks,
        toolsets=(config.toolset.name,),
        unlock_after_edits=config.toolset.unlock_after_edits,
        repetitions=repetitions,
        backend=config.toolset.backend,
    )
