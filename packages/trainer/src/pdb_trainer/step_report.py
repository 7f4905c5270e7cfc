"""What one update did, in numbers to log and to watch."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Parity:
    """How far the sampler's log-probabilities are from the learner's, over tokens of the present weights."""

    tokens: int
    kl: float
    """Mean k3 of sampler against learner, in nats."""
    ratio: float
    """Mean exp |Δ log-probability|."""

    def within(self, *, most_kl: float = 0.015, most_ratio: float = 1.05) -> bool:
        """Whether both compute the same model, as far as rounding goes."""
        return self.kl <= most_kl and self.ratio <= most_ratio


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyStatistics:
    """How the policy stands to what the sampler drew; means are over tokens, shares too."""

    ratio_mean: float
    old_kl: float
    """Mean k3 of sampler against learner."""
    log_ratio_mean: float
    """Mean |Δ log-probability|."""
    clipped_high: float
    """Of tokens with a positive advantage: above the clip, without gradient."""
    clipped_low: float
    """Of tokens with a negative advantage: below the clip, without gradient."""
    clipped_dual: float
    """Of tokens with a negative advantage: stopped by the dual clip."""
    responses_at_bounds: float
    """Share of responses."""
    parity: Parity | None
    """None where no token was drawn by the present weights."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StepReport:
    """One update, or one that was skipped."""

    step: int
    """Updates made so far, this one included."""
    loss: float
    """What was minimised: policy or likelihood, KL and anchor."""
    grad_norm: float
    """Before clipping."""
    learning_rate: float
    tokens: int
    """That the loss is over."""
    computed_tokens: int
    """Of all microbatches, context included."""
    entropy: float
    """Mean over tokens, in nats."""
    skipped: bool
    """A loss or gradient was not finite, so nothing was updated."""
    skipped_total: int
    seconds: float
    policy: PolicyStatistics | None = None
    """None for imitation."""
    kl: float | None = None
    """Mean k3 to the reference; None without one."""
    beta: float | None = None
    """Weight of the KL in this update."""
    anchor_loss: float | None = None
    """Mean negative log-probability of the replay pack; None without one."""
