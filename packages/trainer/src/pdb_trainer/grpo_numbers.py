"""What a step of GRPO was like, in numbers to log."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from pdb_trainer.batch_making import Batch
from pdb_trainer.groups import Fate, Left
from pdb_trainer.rollout import Rollout
from pdb_trainer.step_report import StepReport

_BAND = (0.3, 0.7)
"""Solve rates of a group between which its task is neither easy nor out of reach."""
SHOWN = ("reward/mean", "episodes/solved", "loss", "kl", "entropy", "seconds/rollouts", "seconds/update")
"""Of one line to a person."""


def rollout_numbers(rollouts: Sequence[Rollout], left: Sequence[Left]) -> Iterator[tuple[str, float]]:
    """Of all episodes that a step ran to their ends."""
    rewards = np.array([rollout.reward for rollout in rollouts], np.float64)
    turns = [turn for rollout in rollouts for turn in rollout.turns]
    yield "episodes/count", len(rollouts)
    yield "episodes/solved", _mean([rollout.solved for rollout in rollouts])
    yield "episodes/turns", _mean([len(rollout.turns) for rollout in rollouts])
    yield "episodes/sampled_tokens", _mean([rollout.sampled_tokens for rollout in rollouts])
    yield "reward/mean", _mean(rewards.tolist())
    yield "reward/deviation", float(rewards.std()) if len(rewards) else 0.0
    for name in sorted({name for rollout in rollouts for name in rollout.rewards}):
        yield f"reward/{name}", _mean([rollout.rewards.get(name, 0.0) for rollout in rollouts])
    for reason, count in Counter(rollout.exit_reason for rollout in rollouts).items():
        yield f"exit/{reason}", count / len(rollouts)
    yield "replies/truncated", truncated(rollouts)
    yield "replies/malformed", _mean([turn.parse_error is not None for turn in turns])
    yield "replies/cached_tokens", float(sum(turn.cached_tokens for turn in turns))
    for fate in Fate:
        yield f"fate/{fate}", float(sum(one.fate is fate for one in left))


def truncated(rollouts: Sequence[Rollout]) -> float:
    """The share of replies that were cut at their length."""
    return _mean([turn.finish == "length" for rollout in rollouts for turn in rollout.turns])


def batch_numbers(batch: Batch) -> Iterator[tuple[str, float]]:
    """Of what is learned from."""
    weighed, packing = batch.weighed, batch.packing
    rates = _solve_rates(batch.rollouts)
    yield "groups/count", weighed.groups
    yield "groups/uniform", weighed.uniform_groups
    yield "groups/in_band", _mean([_BAND[0] <= rate <= _BAND[1] for rate in rates.values()])
    yield "groups/rejected", len(weighed.rejected_groups)
    yield "stale/tokens", weighed.stale_tokens
    yield "stale/episodes", len(weighed.stale_episodes)
    yield "rows/count", len(batch.chains.rows)
    yield "rows/dropped", len(packing.dropped)
    yield "rows/merge_compression_ratio", batch.chains.merge_compression_ratio
    yield "rows/breaks", sum(batch.chains.breaks.values())
    yield "microbatches/count", len(packing.microbatches)
    yield "microbatches/fill", packing.fill


def report_numbers(report: StepReport) -> Iterator[tuple[str, float]]:
    """Of the update itself."""
    yield "loss", report.loss
    yield "grad_norm", report.grad_norm
    yield "learning_rate", report.learning_rate
    yield "entropy", report.entropy
    yield "tokens/learned", report.tokens
    yield "tokens/computed", report.computed_tokens
    yield "skipped/total", report.skipped_total
    for name in ("kl", "beta", "anchor_loss"):
        value: float | None = getattr(report, name)
        if value is not None:
            yield name, value
    policy = report.policy
    if policy is None:
        return
    for name in ("ratio_mean", "old_kl", "log_ratio_mean", "clipped_high", "clipped_low", "clipped_dual"):
        yield f"policy/{name}", getattr(policy, name)
    yield "policy/responses_at_bounds", policy.responses_at_bounds
    if policy.parity is not None:
        yield "parity/kl", policy.parity.kl
        yield "parity/ratio", policy.parity.ratio


def _solve_rates(rollouts: Sequence[Rollout]) -> Mapping[str, float]:
    groups: dict[str, list[bool]] = {}
    for rollout in rollouts:
        groups.setdefault(rollout.group, []).append(rollout.solved)
    return {group: sum(solved) / len(solved) for group, solved in groups.items()}


def _mean(values: Sequence[float]) -> float:
    return float(sum(values) / len(values)) if values else 0.0
