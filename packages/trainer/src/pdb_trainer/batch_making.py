"""From a step's groups to what the learner computes: rows, weights, microbatches."""

from collections.abc import Sequence
from dataclasses import dataclass

from pdb_trainer.advantage import AdvantageSettings, Weighed, weigh
from pdb_trainer.groups import SealedGroup
from pdb_trainer.packing import Packing, pack
from pdb_trainer.rollout import Rollout
from pdb_trainer.sequences import Chains, Row, chains


@dataclass(frozen=True, slots=True, kw_only=True)
class Batch:
    """One update's work, with what it was made of."""

    rollouts: tuple[Rollout, ...]
    chains: Chains
    weighed: Weighed
    packing: Packing

    @property
    def solved_rows(self) -> list[Row]:
        """Of the episodes that solved their task."""
        solved = {rollout.episode for rollout in self.rollouts if rollout.solved}
        return [row for row in self.chains.rows if row.episode in solved]


def make_batch(
    groups: Sequence[SealedGroup], *, version: int, settings: AdvantageSettings, max_tokens: int
) -> Batch:
    """Everything of an update of the weights numbered ``version``, deterministically."""
    rollouts = tuple(rollout for group in groups for rollout in group.rollouts)
    chained = chains(rollouts)
    weighed = weigh(chained.rows, rollouts, version=version, settings=settings)
    packing = pack(weighed.rows, max_tokens=max_tokens)
    return Batch(rollouts=rollouts, chains=chained, weighed=weighed, packing=packing)


def is_uniform(group: SealedGroup) -> bool:
    """Whether all its episodes are worth the same, so that nothing is to be learned from comparing them."""
    return len({rollout.reward for rollout in group.rollouts}) <= 1


def enough(groups: Sequence[SealedGroup], wanted: int) -> list[SealedGroup]:
    """The first ``wanted`` groups that are mixed."""
    return [group for group in groups if not is_uniform(group)][:wanted]
