"""Tiny random transformers, and rows for them: real parts, in milliseconds."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import torch
from pdb_trainer.lora import LoraSettings
from pdb_trainer.model import PolicyModel, prepared
from pdb_trainer.packing import Microbatch, pack
from pdb_trainer.sequences import Row
from torch import nn
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedModel, Qwen3Config, Qwen3ForCausalLM

VOCABULARY = 61
Family = Literal["qwen3", "llama"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Episode:
    """What the advantage asks of a rollout."""

    episode: str
    reward: float
    group: str = "g0"
    sampled_tokens: int = 1


def tiny_network(
    family: Family = "qwen3", dtype: torch.dtype = torch.float64, *, tied: bool = True
) -> PreTrainedModel:
    """Two layers with grouped keys and values; the same weights every time."""
    sizes: dict[str, Any] = {
        "vocab_size": VOCABULARY,
        "hidden_size": 16,
        "intermediate_size": 24,
        "num_hidden_layers": 2,
        "num_attention_heads": 4,
        "num_key_value_heads": 2,
        "head_dim": 8,
        "max_position_embeddings": 512,
        "tie_word_embeddings": tied,
        "initializer_range": 0.3,
        "bos_token_id": 0,
        "eos_token_id": 1,
        "pad_token_id": 0,
    }
    with torch.random.fork_rng():
        torch.manual_seed(11)
        network = (
            Qwen3ForCausalLM(Qwen3Config(**sizes))
            if family == "qwen3"
            else LlamaForCausalLM(LlamaConfig(**sizes))
        )
    nn.Module.to(network, dtype)
    return network


def tiny_policy(
    family: Family = "qwen3",
    dtype: torch.dtype = torch.float64,
    *,
    rank: int = 3,
    noise: float = 0.1,
    checkpointing: bool = False,
) -> PolicyModel:
    """With an adapter that does something, unless ``noise`` is 0."""
    model = PolicyModel(
        prepared(tiny_network(family, dtype), checkpointing=checkpointing), LoraSettings(rank=rank, alpha=6.0)
    )
    stir(model, noise)
    return model


def stir(model: PolicyModel, noise: float, seed: int = 5) -> None:
    """Add noise to the policy."""
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for each in model.adapters.parameters():
            each += noise * torch.randn(each.shape, generator=generator, dtype=each.dtype)


def a_row(
    length: int,
    *,
    seed: int = 0,
    episode: str = "e0",
    group: str = "g0",
    responses: Sequence[tuple[int, int]] = ((2, 5),),
    first_response: int = 0,
    version: int = 0,
    weight: float = 1.0,
) -> Row:
    """Random ids; the policy said the half-open ranges in ``responses``."""
    rng = np.random.default_rng((seed, length))
    mask, response = np.zeros(length, np.bool_), np.full(length, -1, np.int32)
    for number, (start, end) in enumerate(responses):
        mask[start:end] = True
        response[start:end] = first_response + number
    return Row(
        episode=episode,
        group=group,
        token_ids=rng.integers(0, VOCABULARY, length).astype(np.uint32),
        loss_mask=mask,
        old_logprobs=np.where(mask, -4 + rng.normal(0, 0.3, length), 0).astype(np.float32),
        version=np.where(mask, version, -1).astype(np.int32),
        response_id=response,
        weight=np.where(mask, weight * rng.normal(0, 0.1, length), 0).astype(np.float32),
    )


def one_microbatch(rows: Sequence[Row]) -> Microbatch:
    """All rows side by side."""
    (microbatch,) = pack(rows, max_tokens=sum(len(row.token_ids) for row in rows)).microbatches
    return microbatch
