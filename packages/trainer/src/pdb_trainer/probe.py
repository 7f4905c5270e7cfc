"""Is there anything to learn from? What a few tries per task say of a reinforcement learning run.

A group whose episodes all end alike teaches nothing where a reward is relative to the group's mean. Of the
share ``p`` of tries that a task passed, a group of ``G`` episodes is mixed with chance
``1 - p**G - (1 - p)**G``; the mean over all tasks is the chance that the next group of the run is. It is a
plug-in estimate: a task that passed none of few tries counts as one that never passes.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from pdb_trainer.errors import ProbeError

LEAST_MIXED = 0.2
"""With a smaller share of mixed tasks, stop: other tasks or another start are wanted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Passes:
    """How often a task was solved."""

    passed: int
    tries: int

    @property
    def rate(self) -> float:
        """The share of tries."""
        return self.passed / self.tries

    @property
    def is_mixed(self) -> bool:
        """Whether some tries passed and some did not."""
        return 0 < self.passed < self.tries


@dataclass(frozen=True, slots=True, kw_only=True)
class Demand:
    """What a run wants of its tasks."""

    group_size: int
    groups: int
    """Mixed groups in a batch."""
    tries: int
    """Groups that may be drawn for one batch."""
    least_mixed: float = LEAST_MIXED


@dataclass(frozen=True, slots=True, kw_only=True)
class Forecast:
    """What the probe says of a run."""

    tasks: int
    never: int
    """Tasks that no try passed."""
    mixed: int
    always: int
    mixed_chance: float
    """That a group of the run is mixed."""
    kept_groups: float
    """Mixed groups to expect in the allowed tries."""

    @property
    def mixed_share(self) -> float:
        """Of the tasks, those that are mixed."""
        return self.mixed / self.tasks


def chance_mixed(rate: float, group_size: int) -> float:
    """That of ``group_size`` independent tries, each passing with ``rate``, some pass and some do not."""
    return 1.0 - rate**group_size - (1.0 - rate) ** group_size


def forecast(passes: Mapping[str, Passes], demand: Demand) -> Forecast:
    """What to expect, tasks being drawn alike. Raises ProbeError when no task was tried."""
    if not passes:
        raise ProbeError("No task was tried, so nothing is known: give some tasks.")
    chance = sum(chance_mixed(one.rate, demand.group_size) for one in passes.values()) / len(passes)
    return Forecast(
        tasks=len(passes),
        never=sum(one.passed == 0 for one in passes.values()),
        mixed=sum(one.is_mixed for one in passes.values()),
        always=sum(one.passed == one.tries for one in passes.values()),
        mixed_chance=chance,
        kept_groups=demand.tries * chance,
    )


def objections(found: Forecast, demand: Demand) -> tuple[str, ...]:
    """Why a run should not begin; none for one that may."""
    found_objections: list[str] = []
    if found.kept_groups < demand.groups:
        found_objections.append(
            f"the run cannot fill its batches: {demand.tries} groups of {demand.group_size} give "
            f"{found.kept_groups:.2f} mixed ones, and a batch wants {demand.groups}"
        )
    if found.mixed_share < demand.least_mixed:
        found_objections.append(
            f"{found.mixed} of {found.tasks} tasks ({found.mixed_share:.0%}) are mixed, and under "
            f"{demand.least_mixed:.0%} there is too little to learn from"
        )
    return tuple(found_objections)


def refuse_hopeless(found: Forecast, demand: Demand) -> None:
    """Raise ProbeError with what to change, when there are objections."""
    if why := objections(found, demand):
        raise ProbeError(
            f"{_sentence('; '.join(why))}. Take tasks that pass sometimes, larger groups, more tries, a "
            "reward with partial credit or a better start; or go on anyway with --anyway."
        )


def _sentence(words: str) -> str:
    return words[0].upper() + words[1:]
