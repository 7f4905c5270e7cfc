"""Losses over log-probabilities as plain sums: every denominator is in the weights already.

All tensors have shape ``[M]``, one entry per token that the policy said, and lie on one device.
"""

from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor

from pdb_trainer.errors import LearnerError
from pdb_trainer.sums import Sums


@dataclass(frozen=True, slots=True, kw_only=True)
class LossSettings:
    """The clipped policy loss, switch by switch."""

    importance: Literal["token", "response", "both"] = "both"
    """Weigh by the token's ratio, by its response's weight, or by both."""
    clip_low: float | None = 0.20
    clip_high: float | None = 0.28
    """Ratios are clipped to [1 - low, 1 + high] (DAPO, arXiv 2503.14476); None does not clip."""
    dual_clip: float | None = 10.0
    """With a negative advantage a ratio counts at most so often (arXiv 1912.09729); None is without."""
    log_ratio_clamp: float = 20.0
    response_scale: float = 48.0
    response_bounds: tuple[float, float] = (0.1, 5.0)
    """Of exp(scale · mean log ratio of the response), which no gradient flows through."""

    def __post_init__(self) -> None:
        if (self.clip_low is None) != (self.clip_high is None):
            raise LearnerError("clip_low and clip_high go together: give both, or neither.")


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyTokens:
    """What the rollouts say about the tokens; nothing here has a gradient."""

    old_logprobs: Tensor
    weight: Tensor
    """Its sign is the advantage's."""
    response: Tensor
    """``int64`` from 0: tokens of one response share a number, and no response is in two microbatches."""
    responses: int
    """How many there are."""
    fresh: Tensor
    """``bool``: drawn by the weights that are about to be updated."""
    reference_logprobs: Tensor | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class LossSums(Sums):
    """What to log of a policy loss."""

    tokens: Tensor
    positive: Tensor
    """Tokens with a positive advantage."""
    negative: Tensor
    ratio: Tensor
    old_kl: Tensor
    """k3 of sampler against learner: ρ - 1 - log ρ."""
    log_ratio: Tensor
    """|log ρ|."""
    clipped_high: Tensor
    """Tokens with a positive advantage whose ratio is above the clip: no gradient."""
    clipped_low: Tensor
    """Tokens with a negative advantage whose ratio is below the clip: no gradient."""
    clipped_dual: Tensor
    """Tokens with a negative advantage that the dual clip stops."""
    responses: Tensor
    at_bounds: Tensor
    """Responses whose weight is at a bound."""
    fresh: Tensor
    """Tokens of the present weights; the next two are over them: sampler and learner should agree."""
    fresh_ratio: Tensor
    """exp |log ρ|."""
    fresh_kl: Tensor


@dataclass(frozen=True, slots=True, kw_only=True)
class LossParts:
    """The policy's loss, the sum of KL over tokens, and what to log."""

    policy: Tensor
    kl: Tensor
    sums: LossSums


def policy_loss(logprobs: Tensor, tokens: PolicyTokens, settings: LossSettings) -> LossParts:
    """Σ -weight · surrogate, with the ratio of learner to sampler clipped and bounded as ``settings`` say.

    ``logprobs`` are the learner's and carry the gradient. Without tokens the loss is a zero with a gradient.
    """
    clamp = settings.log_ratio_clamp
    log_ratio = (logprobs - tokens.old_logprobs).clamp(-clamp, clamp)
    response_weight = _response_weights(log_ratio.detach(), tokens, settings)
    # Where the response's weight alone corrects, a token counts once: value 1, gradient of its log-prob.
    ratio = torch.exp(log_ratio if settings.importance != "response" else logprobs - logprobs.detach())
    factor = 1.0 if settings.importance == "token" else response_weight[tokens.response]
    surrogate = _clipped(ratio, tokens.weight, settings)
    return LossParts(
        policy=-(factor * surrogate).sum(),
        kl=reference_kl(logprobs, tokens.reference_logprobs, clamp),
        sums=_sums(log_ratio.detach(), tokens, response_weight, settings),
    )


def likelihood_loss(logprobs: Tensor, weight: Tensor) -> Tensor:
    """Σ -weight · log-probability: imitation with positive weights, the outcome-only loss with advantages."""
    return -(weight * logprobs).sum()


def reference_kl(logprobs: Tensor, reference: Tensor | None, clamp: float) -> Tensor:
    """Σ k3 = Σ r - 1 - log r with r = reference / policy (Schulman, 2020); never negative."""
    if reference is None:
        return torch.zeros((), dtype=logprobs.dtype, device=logprobs.device)
    log_ratio = (reference - logprobs).clamp(-clamp, clamp)
    return (torch.exp(log_ratio) - 1 - log_ratio).sum()


def _clipped(ratio: Tensor, weight: Tensor, settings: LossSettings) -> Tensor:
    """The pessimistic one of ratio and clipped ratio, times the weight; a negative one is bounded too."""
    surrogate = ratio * weight
    if settings.importance == "response":
        return surrogate
    if settings.clip_low is not None and settings.clip_high is not None:
        bounded = ratio.clamp(1 - settings.clip_low, 1 + settings.clip_high)
        surrogate = torch.minimum(surrogate, bounded * weight)
    if settings.dual_clip is not None:
        surrogate = torch.where(weight < 0, torch.maximum(surrogate, settings.dual_clip * weight), surrogate)
    return surrogate


def _response_weights(log_ratio: Tensor, tokens: PolicyTokens, settings: LossSettings) -> Tensor:
    """``[responses]``: exp(scale · mean log ratio), bounded."""
    totals = torch.zeros(tokens.responses, dtype=log_ratio.dtype, device=log_ratio.device)
    sizes = torch.zeros_like(totals).scatter_add_(0, tokens.response, torch.ones_like(log_ratio))
    means = totals.scatter_add_(0, tokens.response, log_ratio) / sizes
    low, high = settings.response_bounds
    return torch.exp(settings.response_scale * means).clamp(low, high)


def _sums(
    log_ratio: Tensor, tokens: PolicyTokens, response_weight: Tensor, settings: LossSettings
) -> LossSums:
    ratio = torch.exp(log_ratio)
    up, down = tokens.weight > 0, tokens.weight < 0
    old_kl = ratio - 1 - log_ratio
    nowhere = torch.zeros_like(up)
    bounded = settings.importance != "response"
    low, high, dual = settings.clip_low, settings.clip_high, settings.dual_clip
    lowest, highest = settings.response_bounds

    def total(values: Tensor) -> Tensor:
        return values.to(log_ratio.dtype).sum()

    return LossSums(
        tokens=total(torch.ones_like(ratio)),
        positive=total(up),
        negative=total(down),
        ratio=total(ratio),
        old_kl=total(old_kl),
        log_ratio=total(log_ratio.abs()),
        clipped_high=total(up & (ratio > 1 + high) if bounded and high is not None else nowhere),
        clipped_low=total(down & (ratio < 1 - low) if bounded and low is not None else nowhere),
        clipped_dual=total(down & (ratio > dual) if bounded and dual is not None else nowhere),
        responses=total(torch.ones_like(response_weight)),
        at_bounds=total((response_weight <= lowest) | (response_weight >= highest)),
        fresh=total(tokens.fresh),
        fresh_ratio=total(torch.exp(log_ratio.abs()) * tokens.fresh),
        fresh_kl=total(old_kl * tokens.fresh),
    )
