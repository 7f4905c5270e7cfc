"""Log-probabilities of chosen tokens from hidden states, without ever holding all logits."""

from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

CHUNK_LOGITS = 1 << 25
"""Logits that exist at a time: 128 MiB in float32, twice over."""


def chosen_logprobs(
    hidden: Tensor,
    head_weight: Tensor,
    targets: Tensor,
    temperature: float = 1.0,
    *,
    chunk_logits: int = CHUNK_LOGITS,
) -> tuple[Tensor, Tensor]:
    """Log-probability of each target and entropy of each distribution, in nats, both ``[M]``.

    ``hidden`` is ``[M, H]`` at the places that predict, ``head_weight`` ``[V, H]`` and frozen, ``targets``
    ``[M]`` int64; logits are divided by ``temperature``. The results are float32, float64 for float64.
    Gradients flow from the log-probabilities to ``hidden`` only; the entropy is a measurement. Kept for the
    backward pass are the arguments and ``[M]`` normalisers; logits live for ``chunk_logits // V`` rows.
    """
    rows = max(1, chunk_logits // head_weight.shape[0])
    return _ChosenLogprobs.apply(hidden, head_weight.detach(), targets, temperature, rows)  # pyright: ignore[reportReturnType]


class _ChosenLogprobs(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, hidden: Tensor, weight: Tensor, targets: Tensor, temperature: float, rows: int
    ) -> tuple[Tensor, Tensor]:
        precision = torch.promote_types(hidden.dtype, torch.float32)
        logprobs = torch.empty(len(targets), dtype=precision, device=hidden.device)
        normaliser, entropy = torch.empty_like(logprobs), torch.empty_like(logprobs)
        for start in range(0, len(targets), rows):
            part = slice(start, start + rows)
            logits = _logits(hidden[part], weight, temperature, precision)
            highest = logits.amax(dim=-1, keepdim=True)
            logits.sub_(highest)  # exponentials stay in range
            chosen = logits.gather(1, targets[part, None])[:, 0]
            odds = torch.exp(logits)
            sums = odds.sum(dim=-1)
            total = sums.log()
            logprobs[part] = chosen - total
            entropy[part] = total - odds.mul_(logits).sum(dim=-1) / sums
            normaliser[part] = total + highest[:, 0]
        ctx.save_for_backward(hidden, weight, targets, normaliser)
        ctx.temperature, ctx.rows = temperature, rows
        ctx.mark_non_differentiable(entropy)
        return logprobs, entropy

    @staticmethod
    @once_differentiable
    def backward(  # pyright: ignore[reportIncompatibleMethodOverride]
        ctx: Any, slope_logprobs: Tensor, slope_entropy: Tensor
    ) -> tuple[Tensor, None, None, None, None]:
        hidden, weight, targets, normaliser = ctx.saved_tensors
        temperature, rows = ctx.temperature, ctx.rows
        result = torch.empty_like(hidden)
        for start in range(0, len(targets), rows):
            part = slice(start, start + rows)
            logits = _logits(hidden[part], weight, temperature, normaliser.dtype)
            # d logprob / d logit = (1 at the target) - probability
            slope = logits.sub_(normaliser[part, None]).exp_().neg_()
            slope.scatter_add_(1, targets[part, None], torch.ones_like(slope[:, :1]))
            slope.mul_((slope_logprobs[part] / temperature)[:, None])
            result[part] = slope.to(weight.dtype) @ weight
        return result, None, None, None, None


def _logits(hidden: Tensor, weight: Tensor, temperature: float, precision: torch.dtype) -> Tensor:
    """``[rows, V]``. The product is in the model's precision, as a server makes it; the rest is above it."""
    return (hidden @ weight.T).to(precision).div_(temperature)
