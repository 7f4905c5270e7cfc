"""How much memory one rank of the learner will need, from a model's numbers alone."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Self

from pdb_trainer.errors import ConfigError

BYTES = {"float32": 4, "bfloat16": 2}
MASTER_BYTES = 4
"""Adapters, their gradients and Adam's two moments are float32."""
LOGIT_COPIES = 4
"""float32 logits of one chunk, their exponentials, and what the product with the head leaves beside them."""
CHUNK_LOGITS = 1 << 24
"""As the learner's head takes them."""
LAYER_COPIES = 3.0
"""What a layer's backward pass holds, in units of its activations: they, their gradients, and temporaries."""
_GIB = float(1 << 30)


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelShape:
    """What of config.json decides sizes."""

    hidden: int
    layers: int
    heads: int
    kv_heads: int
    head_dim: int
    intermediate: int
    """Of one expert, where there are experts."""
    vocabulary: int
    experts: int = 1
    """Per layer; 1 is a plain MLP."""
    active_experts: int = 1
    """Per token."""
    tied: bool = False
    """Whether the head is the embedding."""

    @classmethod
    def of(cls, config: Mapping[str, Any]) -> Self:
        """Of a transformers config. Raises ConfigError naming what it lacks."""
        try:
            heads = int(config["num_attention_heads"])
            experts = int(config.get("num_experts") or config.get("num_local_experts") or 1)
            size = "moe_intermediate_size" if "moe_intermediate_size" in config else "intermediate_size"
            return cls(
                hidden=int(config["hidden_size"]),
                layers=int(config["num_hidden_layers"]),
                heads=heads,
                kv_heads=int(config.get("num_key_value_heads") or heads),
                head_dim=int(config.get("head_dim") or config["hidden_size"] // heads),
                intermediate=int(config[size]),
                vocabulary=int(config["vocab_size"]),
                experts=experts,
                active_experts=int(config.get("num_experts_per_tok") or 1),
                tied=bool(config.get("tie_word_embeddings", False)),
            )
        except KeyError as error:
            raise ConfigError(
                f"The model's config has no {error.args[0]}, so its size is not known: give a causal "
                "language model's folder."
            ) from None

    def matrices(self) -> Iterator[tuple[int, int, int]]:
        """Linear layers of one block: in, out, and how many of that shape."""
        queries, keys = self.heads * self.head_dim, self.kv_heads * self.head_dim
        yield self.hidden, queries, 1
        yield self.hidden, keys, 2
        yield queries, self.hidden, 1
        yield self.hidden, self.intermediate, 2 * self.experts
        yield self.intermediate, self.hidden, self.experts

    @property
    def parameters(self) -> int:
        """Of the base: matrices, embeddings, head, routers; norms are left out."""
        block = sum(rows * columns * count for rows, columns, count in self.matrices())
        router = self.hidden * self.experts if self.experts > 1 else 0
        return self.layers * (block + router) + (1 if self.tied else 2) * self.vocabulary * self.hidden

    def adapter_parameters(self, rank: int) -> int:
        """Of one adapter on all of these matrices; routers and the head have none."""
        block = sum(rank * (rows + columns) * count for rows, columns, count in self.matrices())
        return self.layers * block

    @property
    def layer_activations(self) -> int:
        """Numbers per token that one block keeps for its backward pass."""
        attention = 2 * self.hidden + (2 * self.heads + 2 * self.kv_heads) * self.head_dim
        return attention + 2 * self.hidden + 3 * self.active_experts * self.intermediate


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryEstimate:
    """Bytes on one rank, by what holds them."""

    base: int
    adapter: int
    gradients: int
    optimiser: int
    reference: int
    activations: int
    logits: int

    @property
    def total(self) -> int:
        """All of it."""
        parts = (self.base, self.adapter, self.gradients, self.optimiser, self.reference)
        return sum(parts) + self.activations + self.logits

    def lines(self) -> Iterator[str]:
        """For a person."""
        for name in ("base", "adapter", "gradients", "optimiser", "reference", "activations", "logits"):
            yield f"{name:<12}{getattr(self, name) / _GIB:9.2f} GiB"
        yield f"{'total':<12}{self.total / _GIB:9.2f} GiB"


@dataclass(frozen=True, slots=True, kw_only=True)
class LearnerSize:
    """What of the settings decides sizes."""

    dtype: str
    rank: int
    microbatch_tokens: int
    checkpointing: bool
    has_reference: bool
    ranks: int = 1
    """The base is spread over them; adapters are whole on each."""


def estimate(shape: ModelShape, size: LearnerSize) -> MemoryEstimate:
    """Bytes of one rank at its fullest: the backward pass of a full microbatch."""
    width = BYTES[size.dtype]
    adapter = shape.adapter_parameters(size.rank)
    block = shape.parameters / shape.layers
    gathered = 2 * block if size.ranks > 1 else 0.0  # the layer at work and the next one, whole
    token = size.microbatch_tokens * width
    inner = LAYER_COPIES * shape.layer_activations * token
    kept = shape.layers * (shape.hidden if size.checkpointing else shape.layer_activations) * token
    chunk = min(CHUNK_LOGITS, size.microbatch_tokens * shape.vocabulary)
    return MemoryEstimate(
        base=int((shape.parameters / size.ranks + gathered) * width),
        adapter=adapter * MASTER_BYTES,
        gradients=adapter * MASTER_BYTES,
        optimiser=2 * adapter * MASTER_BYTES,
        reference=adapter * MASTER_BYTES if size.has_reference else 0,
        activations=int(inner + kept),
        logits=chunk * MASTER_BYTES * LOGIT_COPIES,
    )
