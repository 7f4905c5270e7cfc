"""One example of a corpus: tokens, which of them are trained, and where they come from."""

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

Part = Literal["train", "held_out"]
FULL = "full"
MICROSKILL = "microskill:"
"""What the kind of a microskill's example begins with."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Provenance:
    """Where an example comes from."""

    policy: str
    """Who said it: ``provider/model``, ``oracle/solution``, or a policy of this trainer."""
    generation: int
    """0 for teachers; n for what the policy said that n rounds of training had made."""
    adapter_hash: str | None
    """Of the weights of a policy that was trained; None for teachers."""
    run: str
    """Name of the run's folder."""
    arm: str
    toolset: str
    number: int
    """Of the episode among those of its task and arm."""
    turns: int
    """Of the whole episode."""
    episode_hash: str
    """SHA-256 of the episode's conversation."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Example:
    """A conversation to imitate. Arrays have shape ``[T]``; a token's entry speaks of its own prediction."""

    id: str
    """Unique in its corpus, the same in every build."""
    task: str
    group: str
    """Of the task: held out together."""
    kind: str
    """``full``, or ``microskill:`` and the skill."""
    part: Part
    token_ids: NDArray[np.uint32]
    trained: NDArray[np.bool_]
    """True for tokens that the model said and that are to be learnt, each with equal weight."""
    provenance: Provenance

    @property
    def trained_tokens(self) -> int:
        """How many."""
        return int(self.trained.sum())
