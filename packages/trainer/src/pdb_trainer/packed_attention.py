"""Attention over packed rows: every row attends to itself only, at the cost of its own length squared.

Registered with transformers under NAME. A forward pass that gives ``row_starts`` is packed; one that does not
is transformers' own scaled dot product attention with its masks, which sampling with a cache needs.
"""

from itertools import pairwise
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.functional import scaled_dot_product_attention
from transformers import AttentionInterface, AttentionMaskInterface
from transformers.integrations.sdpa_attention import sdpa_attention_forward
from transformers.masking_utils import sdpa_mask

from pdb_trainer.errors import LearnerError

NAME = "pdb_trainer_packed"


def register() -> None:
    """Make NAME an ``attn_implementation``; again is no harm."""
    AttentionInterface.register(NAME, packed_attention)
    AttentionMaskInterface.register(NAME, sdpa_mask)


def no_mask(device: torch.device) -> Tensor:
    """A mask that says nothing. With four dimensions transformers passes it on and builds none of N by N."""
    return torch.ones(1, 1, 1, 1, dtype=torch.bool, device=device)


def packed_attention(
    module: nn.Module,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attention_mask: Tensor | None,
    **kwargs: Any,
) -> tuple[Tensor, Tensor | None]:
    """``query`` is ``[1, heads, N, D]``, key and value have as many heads or a divisor; ``[1, N, heads, D]``.

    ``row_starts`` among the keywords has one more entry than there are rows, from 0 to N.
    """
    starts: tuple[int, ...] | None = kwargs.pop("row_starts", None)
    if starts is None:
        return _with_mask(module, query, key, value, attention_mask, **kwargs)
    window: int | None = kwargs.get("sliding_window")
    parts: list[Tensor] = []
    for start, end in pairwise(starts):
        if window is not None and end - start > window:
            raise LearnerError(
                f"A row of {end - start} tokens is longer than the model's attention window of {window}: "
                f"set the microbatch to at most {window} tokens."
            )
        parts.append(
            scaled_dot_product_attention(
                query[:, :, start:end],
                key[:, :, start:end],
                value[:, :, start:end],
                is_causal=True,
                scale=kwargs.get("scaling"),
                enable_gqa=query.shape[1] != key.shape[1],
            )
        )
    return torch.cat(parts, dim=2).transpose(1, 2), None


def _with_mask(
    module: nn.Module, query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None, **kwargs: Any
) -> tuple[Tensor, Tensor | None]:
    """As transformers does it, which on a CPU would copy grouped keys and values for every query head."""
    if mask is None or query.device.type != "cpu":
        return sdpa_attention_forward(module, query, key, value, mask, **kwargs)
    attended = scaled_dot_product_attention(
        query,
        key,
        value,
        attn_mask=mask,
        scale=kwargs.get("scaling"),
        enable_gqa=query.shape[1] != key.shape[1],
    )
    return attended.transpose(1, 2), None
