"""One optimiser step from microbatches: sums of losses, one reduction, clipping, a guard, AdamW."""

import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.utils._pytree import tree_map

from pdb_trainer.errors import LearnerError
from pdb_trainer.kl import KlController
from pdb_trainer.lora import POLICY, REFERENCE
from pdb_trainer.loss import LossSums
from pdb_trainer.microbatch_loss import (
    MicrobatchLoss,
    Objective,
    PolicyObjective,
    StepSums,
    anchor_loss,
    microbatch_loss,
)
from pdb_trainer.model import PackedTensors, PolicyModel
from pdb_trainer.packing import Microbatch
from pdb_trainer.step_report import Parity, PolicyStatistics, StepReport

Reduce = Callable[[Tensor], object]
"""Adds a vector up over all ranks, in place."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OptimiserSettings:
    """AdamW on the adapter."""

    learning_rate: float = 2e-5
    betas: tuple[float, float] = (0.9, 0.95)
    weight_decay: float = 0.0
    clip_norm: float = 1.0
    """Of the whole gradient, after it is summed over ranks."""
    warmup_steps: int = 5
    """Linear up to the rate, constant afterwards."""
    most_skipped: int = 8
    """Updates that are not finite are skipped; more than these end the run."""

    def rate_at(self, step: int) -> float:
        """Of the update that follows ``step`` updates."""
        return self.learning_rate * min(1.0, (step + 1) / max(1, self.warmup_steps))


def alone(vector: Tensor) -> None:
    """The reduction of a single process."""


@dataclass(slots=True, kw_only=True)
class Learner:
    """Updates a model's policy; its state is all that a resumed run needs besides the base.

    With several ranks ``reduce`` is their sum, and every rank makes the same calls on as many microbatches.
    """

    model: PolicyModel
    settings: OptimiserSettings = OptimiserSettings()
    kl: KlController | None = None
    """None is without a reference."""
    temperature: float = 1.0
    """That the rollouts were sampled at."""
    reduce: Reduce = alone
    steps: int = 0
    """Updates made."""
    skipped: int = 0
    """Updates that were not finite."""
    _optimiser: torch.optim.AdamW = field(init=False)

    def __post_init__(self) -> None:
        self._optimiser = torch.optim.AdamW(
            self.model.adapters.parameters(),
            lr=self.settings.learning_rate,
            betas=self.settings.betas,
            weight_decay=self.settings.weight_decay,
        )

    def update(
        self,
        microbatches: Sequence[Microbatch],
        *,
        objective: Objective,
        anchor: Microbatch | None = None,
        kl_tokens: int | None = None,
    ) -> StepReport:
        """One step down the sum of all losses; the rows' weights hold every denominator already.

        ``anchor`` is a replay pack to imitate beside, its weights adding up to 1. ``kl_tokens`` is what the
        KL is a mean over: more than the tokens here where rows without an advantage were left out, which is
        the default. Raises LearnerError past the limit of skipped updates.
        """
        began = time.monotonic()
        step, policy, over = self._gradients(microbatches, objective, anchor, kl_tokens)
        norm = self._reduce_gradients()
        rate = self.settings.rate_at(self.steps)
        applied = self._step(norm, rate, step)
        report = StepReport(
            step=self.steps,
            loss=float(step.loss),
            grad_norm=norm,
            learning_rate=rate,
            tokens=int(step.tokens),
            computed_tokens=int(step.computed),
            entropy=_share(step.entropy, step.tokens),
            skipped=not applied,
            skipped_total=self.skipped,
            seconds=time.monotonic() - began,
            policy=_statistics(policy) if isinstance(objective, PolicyObjective) else None,
            kl=None if over is None else float(step.kl) / over,
            beta=None if over is None or self.kl is None else self.kl.beta,
            anchor_loss=None if anchor is None else float(step.anchor),
        )
        if applied and self.kl and report.kl is not None:
            self.kl = self.kl.after(report.kl)
        return report

    @torch.no_grad()
    def logprobs(self, microbatch: Microbatch, adapter: str | None = POLICY) -> NDArray[np.float64]:
        """The learner's log-probabilities ``[N]`` of a microbatch's tokens, 0 where the mask is False."""
        rows = PackedTensors.of(microbatch, self.model.device)
        chosen, _ = self.model.logprobs(rows, adapter, self.temperature)
        result = np.zeros(microbatch.tokens)
        result[microbatch.loss_mask] = chosen.double().cpu().numpy()
        return result

    def adapter(self) -> dict[str, Tensor]:
        """The policy's tensors under peft's names, on the CPU, in full precision."""
        return self.model.adapter(POLICY)

    def load_adapter(self, tensors: Mapping[str, Tensor]) -> None:
        """Go on with this policy. Raises LearnerError where it does not fit."""
        self.model.load_adapter(tensors, POLICY)

    def freeze_reference(self) -> None:
        """Keep the policy of this moment as what the KL is measured to."""
        self.model.adapters.freeze_reference()

    def state(self) -> dict[str, Any]:
        """Adapters, optimiser, counts, β and random state: all that a run needs to go on exactly.

        Copies on the CPU, which later updates leave alone.
        """
        reference = self.model.adapter(REFERENCE) if self.model.adapters.has_reference else None
        return {
            "policy": self.adapter(),
            "reference": reference,
            "optimiser": _copied(self._optimiser.state_dict()),
            "steps": self.steps,
            "skipped": self.skipped,
            "beta": self.kl.beta if self.kl else None,
            "random": torch.get_rng_state(),
        }

    def load_state(self, state: Mapping[str, Any]) -> None:
        """Go on from what ``state`` gave. Raises LearnerError where it belongs to another model or recipe."""
        if (state["beta"] is None) != (self.kl is None):
            raise LearnerError(
                "The saved state and this recipe differ in having a KL: resume with the same recipe."
            )
        self.load_adapter(state["policy"])
        if state["reference"] is not None:
            self.model.load_adapter(state["reference"], REFERENCE)
        self._optimiser.load_state_dict(_copied(state["optimiser"]))
        self.steps, self.skipped = state["steps"], state["skipped"]
        if self.kl:
            self.kl = replace(self.kl, beta=state["beta"])
        torch.set_rng_state(state["random"])

    def _gradients(
        self,
        microbatches: Sequence[Microbatch],
        objective: Objective,
        anchor: Microbatch | None,
        kl_tokens: int | None,
    ) -> tuple[StepSums, LossSums, int | None]:
        """Leave this rank's gradients; sums over all ranks, and what the KL is a mean over (None without)."""
        with_kl = self.kl is not None and isinstance(objective, PolicyObjective)
        if with_kl and not self.model.adapters.has_reference:
            raise LearnerError("A KL needs a reference: call freeze_reference() before the first update.")
        over = max(1, kl_tokens or self._tokens(microbatches)) if with_kl else None
        kl_weight = self.kl.beta / over if self.kl and over else None
        device = self.model.device
        step, policy = StepSums.zero(device), LossSums.zero(device)
        self._optimiser.zero_grad(set_to_none=True)

        def add(part: MicrobatchLoss) -> None:
            nonlocal step, policy
            part.loss.backward()
            step, policy = step.plus(part.step), policy.plus(part.policy)

        for microbatch in microbatches:
            add(
                microbatch_loss(
                    self.model, microbatch, objective, temperature=self.temperature, kl_weight=kl_weight
                )
            )
        if anchor is not None and isinstance(objective, PolicyObjective):
            add(anchor_loss(self.model, anchor, objective.anchor_weight))
        vector = torch.cat([step.stacked(), policy.stacked()])
        self.reduce(vector)
        split = len(step.stacked())
        return StepSums.unstacked(vector[:split]), LossSums.unstacked(vector[split:]), over

    def _tokens(self, microbatches: Sequence[Microbatch]) -> int:
        """Of the policy, over all ranks."""
        count = sum(int(each.loss_mask.sum()) for each in microbatches)
        vector = torch.tensor([count], dtype=torch.float64, device=self.model.device)
        self.reduce(vector)
        return int(vector)

    def _reduce_gradients(self) -> float:
        """Sum gradients over ranks as one flat vector, clip them, and return their norm before."""
        parameters = self.model.adapters.parameters()
        gradients = [torch.zeros_like(each) if each.grad is None else each.grad for each in parameters]
        flat = torch.cat([each.reshape(-1) for each in gradients])
        self.reduce(flat)
        sizes = [each.numel() for each in parameters]
        for parameter, part in zip(parameters, flat.split(sizes), strict=True):
            parameter.grad = part.view_as(parameter)
        return float(torch.nn.utils.clip_grad_norm_(parameters, self.settings.clip_norm))

    def _step(self, norm: float, rate: float, step: StepSums) -> bool:
        """Move the weights, unless there is nothing to learn from or a number is not finite."""
        if not (math.isfinite(norm) and math.isfinite(float(step.loss))):
            self.skipped += 1
            if self.skipped > self.settings.most_skipped:
                raise LearnerError(
                    f"{self.skipped} updates were not finite (loss {float(step.loss)}, gradient {norm}), "
                    f"more than the {self.settings.most_skipped} that are skipped: go on from an earlier "
                    "checkpoint with a lower learning rate."
                )
            return False
        if not float(step.tokens) and not float(step.anchor):
            return False
        for group in self._optimiser.param_groups:
            group["lr"] = rate
        self._optimiser.step()
        self.steps += 1
        return True


def _copied(state: dict[str, Any]) -> dict[str, Any]:
    """Tensors of a nested state on the CPU; AdamW changes its own in place, and keeps what it is given."""
    return tree_map(lambda each: each.detach().cpu().clone() if isinstance(each, Tensor) else each, state)


def _share(part: Tensor, whole: Tensor) -> float:
    return float(part) / max(1.0, float(whole))


def _statistics(sums: LossSums) -> PolicyStatistics:
    fresh = int(sums.fresh)
    return PolicyStatistics(
        ratio_mean=_share(sums.ratio, sums.tokens),
        old_kl=_share(sums.old_kl, sums.tokens),
        log_ratio_mean=_share(sums.log_ratio, sums.tokens),
        clipped_high=_share(sums.clipped_high, sums.positive),
        clipped_low=_share(sums.clipped_low, sums.negative),
        clipped_dual=_share(sums.clipped_dual, sums.negative),
        responses_at_bounds=_share(sums.at_bounds, sums.responses),
        parity=Parity(tokens=fresh, kl=float(sums.fresh_kl) / fresh, ratio=float(sums.fresh_ratio) / fresh)
        if fresh
        else None,
    )
