"""What the lab that shows learning is made of."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pdb_agent.config import LimitsConfig
from pydantic import Field

from pdb_trainer.config import (
    AdapterConfig,
    BatchConfig,
    GrpoConfig,
    ModelConfig,
    SamplerConfig,
    SftConfig,
    Tree,
)


class LabTasksConfig(Tree):
    """Programs of the gym, in its order: family by family in turn."""

    primer: int = Field(default=1000, ge=20)
    """The first so many are read as plain text where a base is made; no episode, no solution's name."""
    oracle: int = Field(default=160, ge=1)
    """The first so many are solved by the oracle, to be imitated."""
    practice: int = Field(default=600, ge=1)
    """So many after these are what GRPO draws its tasks from."""
    held_out: int = Field(default=240, ge=1)
    """To measure on; none is a program of the others, whatever its names and its defect."""
    held_out_for_base: int = Field(default=160, ge=1)
    """So many of these for the base, whose distance from the next stage shows on fewer."""
    fixed: int = Field(default=10, ge=0, le=10)
    """Of the ten that the gym always holds out, reported apart."""


class BaseConfig(Tree):
    """The model that it begins with: random weights, then a minute of reading programs."""

    hidden: int = Field(default=128, ge=8)
    layers: int = Field(default=4, ge=1)
    heads: int = Field(default=4, ge=1)
    vocabulary: int = Field(default=2000, ge=300)
    context_tokens: int = Field(default=4096, ge=64)
    passes: int = Field(default=2, ge=1)
    """Over the primer's texts."""
    batch: int = Field(default=8, ge=1)
    """Texts in one update."""
    learning_rate: float = Field(default=3e-3, gt=0)
    """At its highest; it falls to a tenth along a cosine."""


class LabConfig(Tree):
    """The whole lab; ``sft`` and ``grpo`` are tables of such recipes without model, tasks and adapter."""

    seed: int = Field(default=0, ge=0)
    """Of the weights, of every order and of every draw."""
    threads: int = Field(default=1, ge=1)
    """That compute: a second one brings matrices of a tiny model little, and sandboxes want that core; where
    cores are contended, threads that wait for each other cost many times their work."""
    tasks: LabTasksConfig = LabTasksConfig()
    model: ModelConfig | None = None
    """To begin with; None makes one, as ``base`` says."""
    base: BaseConfig = BaseConfig()
    adapter: AdapterConfig = AdapterConfig(rank=32, alpha=32.0)
    limits: LimitsConfig = LimitsConfig(turns=12, context_tokens=4096, format_errors=2)
    sampler: SamplerConfig = SamplerConfig(max_output_tokens=48, context_tokens=4096, concurrency=32)
    batch: BatchConfig = BatchConfig(microbatch_tokens=4096, checkpointing=False)
    sft: dict[str, Any] = Field(default_factory=dict)
    grpo: dict[str, Any] = Field(default_factory=dict)

    def sft_config(self, model: Path, corpus: Path) -> SftConfig:
        """The supervised run. Raises pydantic's ValidationError for a table that is none."""
        return SftConfig.model_validate(
            {**self._common(model), **_with_seed(self.sft, self.seed), "corpus": {"path": corpus}}
        )

    def grpo_config(self, model: Path, start: Path | None, tasks: Mapping[str, Any]) -> GrpoConfig:
        """The run of GRPO from an adapter; None is the base alone."""
        adapter = {**self.adapter.model_dump(), "start": start}
        table = {**self._common(model), **_with_seed(self.grpo, self.seed)}
        return GrpoConfig.model_validate({**table, "adapter": adapter, "tasks": tasks})

    def _common(self, model: Path) -> dict[str, Any]:
        return {
            "model": self.model or {"path": model, "dtype": "float32"},
            "adapter": self.adapter.model_dump(),
            "toolset": {"name": "edit-menu"},
            "limits": self.limits.model_dump(),
            "sampler": self.sampler.model_dump(),
            "batch": self.batch.model_dump(),
        }


def _with_seed(table: Mapping[str, Any], seed: int) -> dict[str, Any]:
    return {**table, "run": {**table.get("run", {}), "seed": seed}}
