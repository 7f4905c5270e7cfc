"""What a training run is made of: two frozen trees, with the only defaults.

A default whose docstring names an item in italics follows the recipe's table of that item.
"""

from dataclasses import fields
from difflib import get_close_matches
from pathlib import Path
from typing import Literal, Self

from pdb_agent.config import LimitsConfig
from pdb_agent.procedural.gym import LabFamily
from pdb_agent.sandbox import Backend
from pdb_agent.toolsets import Toolset, ToolsetName
from pydantic import BaseModel, ConfigDict, Field, model_validator

from pdb_trainer.errors import ConfigError
from pdb_trainer.reward import RewardSettings

MOST_GROUPS = 16
"""Groups in one step, at the most."""


class Tree(BaseModel):
    """A part of a configuration: nothing unknown, nothing changed later."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class ShapeConfig(Tree):
    """A model's numbers as its config.json calls them, for a dry run where its folder is not at hand."""

    hidden_size: int = Field(ge=1)
    num_hidden_layers: int = Field(ge=1)
    num_attention_heads: int = Field(ge=1)
    num_key_value_heads: int = Field(ge=1)
    head_dim: int | None = Field(default=None, ge=1)
    intermediate_size: int = Field(ge=1)
    """Of one expert, where there are experts."""
    vocab_size: int = Field(ge=1)
    num_experts: int = Field(default=1, ge=1)
    num_experts_per_tok: int = Field(default=1, ge=1)
    tie_word_embeddings: bool = False


class ModelConfig(Tree):
    """The base model, which stays as it is."""

    path: Path
    """Folder with config.json, weights and tokenizer."""
    renderer: str | None = None
    """Chat template by name; None finds the one that fits the folder's."""
    dtype: Literal["float32", "bfloat16"] = "bfloat16"
    """Of the base; *precision*: adapters are float32 in any case."""
    device: str = "cpu"
    shape: ShapeConfig | None = None
    """Only looked at where ``path`` is not there."""


class AdapterConfig(Tree):
    """The LoRA adapter, which learns."""

    rank: int = Field(default=16, ge=1)
    alpha: float = Field(default=32.0, gt=0)
    start: Path | None = None
    """Adapter folder to begin with, GRPO's reference too; None is a fresh one, which changes nothing."""


class OptimiserConfig(Tree):
    """*optimiser*: AdamW on the adapter."""

    learning_rate: float = Field(default=2e-5, gt=0)
    betas: tuple[float, float] = (0.9, 0.95)
    weight_decay: float = Field(default=0.0, ge=0)
    clip_norm: float = Field(default=1.0, gt=0)
    """Of the whole gradient, after it is summed over ranks."""
    warmup_steps: int = Field(default=5, ge=0)
    """Linear from 0; constant afterwards."""
    most_skipped: int = Field(default=8, ge=0)
    """*guards*: updates whose loss or gradient is not finite are skipped; more than these end the run."""


class BatchConfig(Tree):
    """How rows become microbatches."""

    microbatch_tokens: int = Field(default=16_384, ge=16)
    """*packing*: a longer chain is dropped whole, and counted."""
    checkpointing: bool = True
    """Compute activations again in the backward pass rather than keep them."""


class GymTasksConfig(Tree):
    """Tasks that the procedural gym makes; those held out are never among them."""

    families: tuple[LabFamily, ...] = Field(default=tuple(LabFamily), min_length=1)
    count: int = Field(default=100, ge=1)
    """Family by family in turn."""


class TasksConfig(Tree):
    """Tasks to train on: the gym's, or those of a folder's training split; others are refused."""

    root: Path | None = None
    ids: tuple[str, ...] = ()
    """Only these; none is all of the training split."""
    gym: GymTasksConfig | None = None

    @model_validator(mode="after")
    def _is_one_kind(self) -> Self:
        if self.gym is not None and self.root is not None:
            raise ValueError("the gym makes its tasks, so there is no root beside it")
        return self


class ToolsetConfig(Tree):
    """What the policy can call."""

    name: ToolsetName = ToolsetName.DEBUG
    unlock_after_edits: int = Field(default=5, ge=1)
    backend: Backend | None = None
    """Sandbox; None is the strongest that works."""

    def record(self) -> Toolset:
        """As the toolbox takes it."""
        return Toolset(name=self.name, unlock_after_edits=self.unlock_after_edits)


class SamplerConfig(Tree):
    """Who draws tokens, and how. *sampling for RL*: the whole distribution, without top-p and top-k."""

    kind: Literal["local", "vllm"] = "local"
    """In this process, or a vLLM server on this machine."""
    temperature: float = Field(default=1.0, gt=0)
    max_output_tokens: int = Field(default=1024, ge=1)
    """Of one reply."""
    context_tokens: int = Field(default=32_768, ge=64)
    """Prompt and reply together."""
    concurrency: int = Field(default=8, ge=1)
    """Episodes at once."""
    base_url: str | None = None
    """Of a running vLLM server; None starts one."""
    python: Path | None = None
    """Of the environment that has vLLM, to start one; None looks for .venv-vllm."""
    attempts: int = Field(default=3, ge=1)
    """Of an episode that ends by infrastructure, which is never scored; one that still does stops the run."""


class AlgorithmConfig(Tree):
    """GRPO, switch by switch."""

    groups: int = Field(default=4, ge=1, le=MOST_GROUPS)
    """*groups per step × group size*."""
    group_size: int = Field(default=12, ge=2)
    least_group: int = Field(default=8, ge=2)
    """*partial group*: with fewer episodes left, a group is dropped."""
    divide_by_std: bool = False
    """*advantage*: A = R - mean(R); True divides it by the group's deviation."""
    uniform: Literal["skip", "resample"] = "skip"
    """*uniform groups*: zero advantage, counted in normalisers; or further tasks until enough are mixed."""
    resample_tries: int = Field(default=16, ge=1)
    """Groups that a step may draw when it resamples; with fewer mixed ones it goes on with what it has."""
    clip: bool = True
    """*clip* of the token ratio; only the upper bound is widened."""
    clip_low: float = Field(default=0.20, gt=0, lt=1)
    clip_high: float = Field(default=0.28, gt=0)
    dual_clip: float = Field(default=10.0, ge=0)
    """For negative advantages; 0 is without."""
    length_alpha: float = Field(default=0.25, ge=0)
    """*trajectory length weight*; 0 is off."""
    aggregation: Literal["response", "token", "trajectory"] = "response"
    """*aggregation*: mean over a response, then over the group's responses; over all tokens of the batch; or
    over a trajectory, then over trajectories."""
    importance: Literal["token", "response", "both"] = "both"
    """*token ratio* and *response weight*: which of them counts."""
    log_ratio_clamp: float = Field(default=20.0, gt=0)
    response_scale: float = Field(default=48.0, gt=0)
    response_bounds: tuple[float, float] = (0.1, 5.0)
    staleness: int = Field(default=4, ge=0)
    """*staleness*: tokens of weights that are more updates old are masked."""
    patience: float = Field(default=2.0, gt=0)
    """*partial group*: times the median episode that a group waits for its last ones; a sampler in this
    process waits for all, so that nothing depends on time."""
    stale_share: float = Field(default=0.5, gt=0, le=1)
    """A trajectory with more of its tokens masked is dropped."""

    @model_validator(mode="after")
    def _fits(self) -> Self:
        if self.least_group > self.group_size:
            raise ValueError(
                f"least_group is {self.least_group}, more than a whole group ({self.group_size})"
            )
        if 0 < self.dual_clip <= 1:
            raise ValueError("dual_clip is above 1, or 0 for none")
        if self.uniform == "resample" and self.resample_tries < self.groups:
            raise ValueError(f"resample_tries is below groups ({self.groups}), which would never be filled")
        low, high = self.response_bounds
        if not 0 < low <= 1 <= high:
            raise ValueError("response_bounds lie around 1, such as [0.1, 5.0]")
        return self


class RewardConfig(Tree):
    """What an episode is worth."""

    kind: Literal["itemised", "outcome"] = "itemised"
    """Term by term, or 1 where every hidden test passes and else 0."""
    terms: dict[str, float] = Field(default_factory=dict)
    """Numbers of the itemised reward that differ from its own, by name."""

    def record(self) -> RewardSettings:
        """As the reward takes it."""
        return RewardSettings(**self.terms)

    @model_validator(mode="after")
    def _are_terms(self) -> Self:
        known = {field.name for field in fields(RewardSettings)}
        for name in self.terms:
            if name not in known:
                nearest = get_close_matches(name, known, 1, 0.0)[0]
                raise ValueError(f"the reward has no term {name}: the nearest is {nearest}")
        try:
            self.record()
        except ConfigError as error:
            raise ValueError(str(error).rstrip(".")) from error
        return self


class KlConfig(Tree):
    """*KL* per token to the reference: the adapter that the run began with, on the same base."""

    beta: float = Field(default=0.01, ge=0)
    """At the beginning; 0 is without."""
    adaptive: bool = True
    target: float = Field(default=0.02, gt=0)
    rate: float = Field(default=0.1, gt=0)
    step_bound: float = Field(default=0.2, gt=0)
    bounds: tuple[float, float] = (1e-4, 0.1)


class AnchorConfig(Tree):
    """*behaviour-cloning anchor*: imitation of a corpus beside the reward."""

    corpus: Path | None = None
    """Folder of a corpus; None is without."""
    weight: float = Field(default=0.05, ge=0)
    tokens: int = Field(default=16_384, ge=16)
    """In one step, at the most."""
    success_share: float = Field(default=0.0, ge=0, le=0.25)
    """Of these tokens that may be the step's own episodes which solved their task."""


class AlarmConfig(Tree):
    """*alarms*, and the gate at the first step."""

    least_entropy: float = Field(default=0.05, ge=0)
    entropy_steps: int = Field(default=10, ge=1)
    """In a row below the least."""
    most_kl: float = Field(default=0.015, gt=0)
    """Mean of sampler against trainer, of tokens that the present weights drew."""
    most_ratio: float = Field(default=1.05, gt=1)
    """Mean ratio, likewise."""
    most_truncated: float = Field(default=0.10, ge=0, le=1)
    """Share of replies that were cut at their length."""


class RunConfig(Tree):
    """How long, and from which seed; everything that is drawn follows from it."""

    steps: int = Field(default=100, ge=1)
    seed: int = Field(default=0, ge=0)
    checkpoint_every: int = Field(default=1, ge=1)
    """The last two are kept, and the end of the run is one."""
    ranks: int = Field(default=1, ge=1)
    """Processes that learn, for the dry run's estimate; training itself takes one."""
    keep_rollouts: bool = True
    """Token-exact records of every episode, for replaying and looking."""
    keep_episodes: bool = False
    """Whole transcripts too, as ``pdb-agent view`` reads them."""


class EvaluationConfig(Tree):
    """Measure the policy through the agent, on tasks that training never meets."""

    every: int = Field(default=0, ge=0)
    """Steps between; 0 is never. The end of the run counts as one."""
    repetitions: int = Field(default=1, ge=1)
    temperature: float = Field(default=1.0, ge=0)
    count: int | None = Field(default=None, ge=1)
    """Tasks; None is all that are held out (gym), or the validation split."""


class CorpusConfig(Tree):
    """What is imitated."""

    path: Path
    """Folder of a corpus."""
    kinds: tuple[str, ...] = ()
    """Only these kinds of examples, such as ``full``; none is all."""


class SftConfig(Tree):
    """A supervised run."""

    kind: Literal["sft"] = "sft"
    model: ModelConfig
    adapter: AdapterConfig = AdapterConfig()
    corpus: CorpusConfig
    batch: BatchConfig = BatchConfig()
    examples_per_step: int = Field(default=16, ge=1)
    """Gradients of so many are summed before each update."""
    measure_every: int = Field(default=10, ge=0)
    """Steps between looks at the loss on held-out examples; 0 is at the end only."""
    optimiser: OptimiserConfig = OptimiserConfig(learning_rate=1e-4)
    tasks: TasksConfig = TasksConfig()
    """Whose held-out relatives an evaluation measures; training reads the corpus only."""
    toolset: ToolsetConfig = ToolsetConfig()
    limits: LimitsConfig = LimitsConfig()
    sampler: SamplerConfig = SamplerConfig()
    evaluation: EvaluationConfig = EvaluationConfig()
    run: RunConfig = RunConfig()


class GrpoConfig(Tree):
    """A reinforcement learning run."""

    kind: Literal["grpo"] = "grpo"
    model: ModelConfig
    adapter: AdapterConfig = AdapterConfig()
    tasks: TasksConfig = TasksConfig()
    toolset: ToolsetConfig = ToolsetConfig()
    limits: LimitsConfig = LimitsConfig()
    sampler: SamplerConfig = SamplerConfig()
    algorithm: AlgorithmConfig = AlgorithmConfig()
    reward: RewardConfig = RewardConfig()
    kl: KlConfig = KlConfig()
    anchor: AnchorConfig = AnchorConfig()
    batch: BatchConfig = BatchConfig()
    optimiser: OptimiserConfig = OptimiserConfig()
    alarms: AlarmConfig = AlarmConfig()
    evaluation: EvaluationConfig = EvaluationConfig()
    run: RunConfig = RunConfig()

    @model_validator(mode="after")
    def _fits(self) -> Self:
        menu = self.toolset.name is ToolsetName.EDIT_MENU
        if menu and self.tasks.gym is None:
            raise ValueError("the toolset edit-menu needs tasks with a menu: set tasks.gym")
        if self.limits.context_tokens > self.sampler.context_tokens:
            raise ValueError(
                f"limits.context_tokens ({self.limits.context_tokens}) is more than the sampler takes "
                f"(sampler.context_tokens {self.sampler.context_tokens})"
            )
        return self
