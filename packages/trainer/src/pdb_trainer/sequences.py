"""Rows for the learner: turns that continue each other are one row, computed once."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One chain of turns. All arrays have shape ``[T]``; a token's entry speaks of its own prediction."""

    episode: str
    group: str
    token_ids: NDArray[np.uint32]
    loss_mask: NDArray[np.bool_]
    """True for sampled tokens; the first token of a row is never one."""
    old_logprobs: NDArray[np.float32]
    """Of the sampler; 0 where the mask is False."""
    version: NDArray[np.int32]
    """Number of the weights that drew the token; -1 where the mask is False."""
    response_id: NDArray[np.int32]
    """Unique in the batch of rows; -1 where the mask is False."""
    weight: NDArray[np.float32]
    """What the token's loss is multiplied by: advantage, trajectory weight and every denominator of the whole
    batch (over all ranks and microbatches), so that a loss is a plain sum; 0 where the mask is False."""
