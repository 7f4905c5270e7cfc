"""The loss of one microbatch under an objective, and its share of what is logged."""

from dataclasses import dataclass, field

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from pdb_trainer.lora import REFERENCE
from pdb_trainer.loss import (
    LossSettings,
    LossSums,
    PolicyTokens,
    likelihood_loss,
    policy_loss,
)
from pdb_trainer.model import PackedTensors, PolicyModel
from pdb_trainer.packing import Microbatch
from pdb_trainer.sums import Sums


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyObjective:
    """Improve on rollouts (GRPO), by the clipped loss."""

    version: int
    """Number of the weights before the update: tokens of it are compared with the sampler."""
    loss: LossSettings = field(default_factory=LossSettings)
    anchor_weight: float = 0.05
    """Of the replay pack's negative log-likelihood, where one is given."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LikelihoodObjective:
    """Weighted log-likelihood: imitation, or the outcome-only loss, -A · Σ log p / T."""


Objective = PolicyObjective | LikelihoodObjective


@dataclass(frozen=True, slots=True, kw_only=True)
class StepSums(Sums):
    """What to log of any objective."""

    loss: Tensor
    entropy: Tensor
    tokens: Tensor
    """That the loss is over."""
    computed: Tensor
    """Context included."""
    kl: Tensor
    anchor: Tensor


@dataclass(frozen=True, slots=True, kw_only=True)
class MicrobatchLoss:
    """A loss to differentiate, and sums to log."""

    loss: Tensor
    step: StepSums
    policy: LossSums


def microbatch_loss(
    model: PolicyModel,
    microbatch: Microbatch,
    objective: Objective,
    *,
    temperature: float,
    kl_weight: float | None,
) -> MicrobatchLoss:
    """``kl_weight`` is β over the tokens that the KL is a mean of; None is without a reference."""
    rows = PackedTensors.of(microbatch, model.device)
    logprobs, entropy = model.logprobs(rows, temperature=temperature)
    weight = _on(logprobs, microbatch.weight[microbatch.loss_mask])
    nothing = torch.zeros((), device=model.device)
    match objective:
        case LikelihoodObjective():
            loss, kl, policy = likelihood_loss(logprobs, weight), nothing, LossSums.zero(model.device)
        case PolicyObjective():
            reference = None if kl_weight is None else _reference(model, rows, temperature)
            tokens = _policy_tokens(microbatch, weight, objective.version, reference)
            parts = policy_loss(logprobs, tokens, objective.loss)
            loss, kl, policy = parts.policy + (kl_weight or 0.0) * parts.kl, parts.kl, parts.sums
    step = StepSums(
        loss=loss.detach(),
        entropy=entropy.sum(),
        tokens=nothing + len(logprobs),
        computed=nothing + microbatch.tokens,
        kl=kl.detach(),
        anchor=nothing,
    )
    return MicrobatchLoss(loss=loss, step=step, policy=policy)


def anchor_loss(model: PolicyModel, pack: Microbatch, weight: float) -> MicrobatchLoss:
    """``weight`` times the negative log-likelihood of a replay pack, whose own weights add up to 1."""
    rows = PackedTensors.of(pack, model.device)
    logprobs, _ = model.logprobs(rows)
    plain = likelihood_loss(logprobs, _on(logprobs, pack.weight[pack.loss_mask]))
    nothing = torch.zeros((), device=model.device)
    step = StepSums(
        loss=weight * plain.detach(),
        entropy=nothing,
        tokens=nothing,
        computed=nothing + pack.tokens,
        kl=nothing,
        anchor=plain.detach(),
    )
    return MicrobatchLoss(loss=weight * plain, step=step, policy=LossSums.zero(model.device))


@torch.no_grad()
def _reference(model: PolicyModel, rows: PackedTensors, temperature: float) -> Tensor:
    return model.logprobs(rows, REFERENCE, temperature)[0]


def _policy_tokens(
    microbatch: Microbatch, weight: Tensor, version: int, reference: Tensor | None
) -> PolicyTokens:
    mask = microbatch.loss_mask
    numbers, response = np.unique(microbatch.response_id[mask], return_inverse=True)
    return PolicyTokens(
        old_logprobs=_on(weight, microbatch.old_logprobs[mask]),
        weight=weight,
        response=torch.from_numpy(response.astype(np.int64)).to(weight.device),
        responses=len(numbers),
        fresh=torch.from_numpy(microbatch.version[mask] == version).to(weight.device),
        reference_logprobs=reference,
    )


def _on(like: Tensor, values: NDArray[np.float32]) -> Tensor:
    return torch.from_numpy(values).to(like.device, like.dtype)
