"""Signs that a run goes wrong, as sentences; each says where to look."""

from collections.abc import Sequence
from dataclasses import dataclass

from pdb_trainer.step_report import StepReport


@dataclass(frozen=True, slots=True, kw_only=True)
class AlarmSettings:
    """Where each alarm begins."""

    least_entropy: float = 0.05
    entropy_steps: int = 10
    most_kl: float = 0.015
    most_ratio: float = 1.05
    most_truncated: float = 0.10


def alarms(reports: Sequence[StepReport], truncated: float, settings: AlarmSettings) -> list[str]:
    """What is wrong after the last report; ``truncated`` is the share of replies cut at their length."""
    if not reports:
        return []
    found: list[str] = []
    recent = [report.entropy for report in reports[-settings.entropy_steps :]]
    if len(recent) == settings.entropy_steps and max(recent) < settings.least_entropy:
        found.append(
            f"Entropy has been below {settings.least_entropy} for {len(recent)} steps (now "
            f"{recent[-1]:.3f}): the policy hardly explores any more. Stop, or go on from an earlier "
            "checkpoint with a lower learning rate."
        )
    parity = reports[-1].policy.parity if reports[-1].policy else None
    if parity and not parity.within(most_kl=settings.most_kl, most_ratio=settings.most_ratio):
        found.append(
            f"Sampler and learner disagree about the same weights: KL {parity.kl:.4f} (at most "
            f"{settings.most_kl}), mean ratio {parity.ratio:.3f} (at most {settings.most_ratio}). "
            "Check that the adapter arrived, and that the sampler returns log-probabilities after "
            "temperature, without top-p and top-k."
        )
    if truncated > settings.most_truncated:
        found.append(
            f"{truncated:.0%} of the replies were cut at their length (at most {settings.most_truncated:.0%}"
            "): allow longer replies, or draw no conclusion."
        )
    return found
