"""The learner of a run: a base, an adapter to begin with, and the state of the last checkpoint."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pdb_trainer.adapter_files import peft_config, read_adapter
from pdb_trainer.checkpoint import Checkpoint, latest, save
from pdb_trainer.config import GrpoConfig, SftConfig
from pdb_trainer.errors import ConfigError
from pdb_trainer.kl import KlController
from pdb_trainer.learner import Learner, OptimiserSettings
from pdb_trainer.lora import LoraSettings
from pdb_trainer.model import load_policy
from pdb_trainer.run_files import CHECKPOINTS

_POLICY = "policy"
"""Of a learner's state: the checkpoint's adapter, which is written once only."""


def open_learner(config: SftConfig | GrpoConfig, *, temperature: float) -> Learner:
    """A learner at a run's beginning. Raises LearnerError, CheckpointError, ConfigError."""
    lora = LoraSettings(rank=config.adapter.rank, alpha=config.adapter.alpha, seed=config.run.seed)
    model = load_policy(
        config.model.path,
        lora=lora,
        dtype=config.model.dtype,
        device=config.model.device,
        checkpointing=config.batch.checkpointing,
    )
    if config.adapter.start is not None:
        tensors, there = read_adapter(config.adapter.start)
        if (there.rank, there.alpha) != (lora.rank, lora.alpha):
            raise ConfigError(
                f"The adapter in {config.adapter.start} has rank {there.rank} and alpha {there.alpha:g}: set "
                "adapter.rank and adapter.alpha to these."
            )
        model.load_adapter(tensors)
    controller = _controller(config)
    learner = Learner(
        model=model,
        settings=OptimiserSettings(**config.optimiser.model_dump()),
        kl=controller,
        temperature=temperature,
    )
    if controller is not None:
        learner.freeze_reference()
    return learner


def resume(folder: Path, learner: Learner) -> Checkpoint | None:
    """Put the newest checkpoint's state into a learner; None where there is none. Raises CheckpointError."""
    checkpoint = latest(folder / CHECKPOINTS)
    if checkpoint is not None:
        learner.load_state({**checkpoint.learner, _POLICY: checkpoint.adapter})
    return checkpoint


def words_on(checkpoint: Checkpoint | None, folder: Path) -> list[str]:
    """What to tell a person about how a run goes on."""
    if checkpoint is None:
        return []
    damaged = [f"The checkpoint {name} is damaged and was passed over." for name in checkpoint.damaged]
    return [f"{folder} goes on after step {checkpoint.step}.", *damaged]


def keep(folder: Path, learner: Learner, step: int, counters: Mapping[str, Any], base: Path) -> Path:
    """Write a checkpoint. Raises CheckpointError."""
    state = learner.state()
    adapter = state.pop(_POLICY)
    checkpoint = Checkpoint(
        step=step,
        adapter=adapter,
        adapter_config=peft_config(adapter, learner.model.adapters.settings, base=str(base)),
        learner=state,
        counters=counters,
    )
    return save(folder / CHECKPOINTS, checkpoint)


def _controller(config: SftConfig | GrpoConfig) -> KlController | None:
    """None where no reference is needed."""
    if isinstance(config, SftConfig) or config.kl.beta == 0:
        return None
    return KlController(**config.kl.model_dump())
