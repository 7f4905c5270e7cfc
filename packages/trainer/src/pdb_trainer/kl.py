"""The price of leaving the reference, adapted to how far the policy is (Ziegler et al., arXiv 1909.08593)."""

import math
from dataclasses import dataclass, replace
from typing import Self


@dataclass(frozen=True, slots=True, kw_only=True)
class KlController:
    """β ← clip(β · (1 + rate · clip(KL / target - 1, ±step_bound)), bounds) after every update."""

    beta: float = 0.01
    adaptive: bool = True
    target: float = 0.02
    """Nats per token."""
    rate: float = 0.1
    step_bound: float = 0.2
    bounds: tuple[float, float] = (1e-4, 0.1)

    def after(self, kl: float) -> Self:
        """The controller once a mean KL per token was measured; one that is not finite changes nothing."""
        if not self.adaptive or self.beta == 0 or not math.isfinite(kl):
            return self
        error = min(max(kl / self.target - 1, -self.step_bound), self.step_bound)
        low, high = self.bounds
        return replace(self, beta=min(max(self.beta * (1 + self.rate * error), low), high))
