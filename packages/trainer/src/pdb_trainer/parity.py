"""Whether sampler and learner compute the same model, asked before the first update is made."""

from collections.abc import Sequence

import numpy as np

from pdb_trainer.alarms import AlarmSettings
from pdb_trainer.errors import LearnerError
from pdb_trainer.learner import Learner
from pdb_trainer.packing import Microbatch
from pdb_trainer.sequences import Row
from pdb_trainer.step_report import Parity

_ENOUGH_TOKENS = 256


def measure(learner: Learner, microbatch: Microbatch, *, version: int) -> Parity | None:
    """Over the microbatch's tokens that the present weights, numbered ``version``, drew; None without one."""
    fresh = microbatch.loss_mask & (microbatch.version == version)
    if not fresh.any():
        return None
    difference = (learner.logprobs(microbatch) - microbatch.old_logprobs.astype(np.float64))[fresh]
    return Parity(
        tokens=int(fresh.sum()),
        kl=float(np.mean(np.exp(difference) - 1 - difference)),
        ratio=float(np.mean(np.exp(np.abs(difference)))),
    )


def some_of(rows: Sequence[Row]) -> list[Row]:
    """The first rows that have sampled tokens enough to tell: asking all of them would cost a step's time."""
    chosen: list[Row] = []
    sampled = 0
    for row in rows:
        if sampled >= _ENOUGH_TOKENS:
            break
        chosen.append(row)
        sampled += int(row.loss_mask.sum())
    return chosen


def gate(learner: Learner, microbatch: Microbatch, *, version: int, settings: AlarmSettings) -> None:
    """Raise LearnerError when they disagree: what is learned from such numbers is noise, or worse."""
    parity = measure(learner, microbatch, version=version)
    if parity and not parity.within(most_kl=settings.most_kl, most_ratio=settings.most_ratio):
        raise LearnerError(
            "Sampler and learner disagree about the same weights before the first update: KL "
            f"{parity.kl:.4f} (at most {settings.most_kl}), mean ratio {parity.ratio:.3f} (at most "
            f"{settings.most_ratio}) over {parity.tokens} tokens. Check that the adapter arrived, that both "
            "use the same base and precision, and that the sampler gives log-probabilities after temperature."
        )
