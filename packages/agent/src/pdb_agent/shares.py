"""Parts of wholes and middles of values, with their counts kept. Pure."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from pdb_agent.statistics import quantile
from pdb_agent.summary import EpisodeSummary


@dataclass(frozen=True, slots=True, kw_only=True)
class Share:
    """A part of a whole."""

    count: int
    total: int

    @property
    def value(self) -> float | None:
        """None of nothing."""
        return self.count / self.total if self.total else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Spread:
    """Where the middle of some values lies."""

    median: float
    first_quartile: float
    third_quartile: float


def spread(values: Sequence[float]) -> Spread | None:
    """Median and quartiles; None of nothing."""
    if not values:
        return None
    return Spread(
        median=quantile(values, 0.5),
        first_quartile=quantile(values, 0.25),
        third_quartile=quantile(values, 0.75),
    )


def per(total: float, count: int) -> float | None:
    """``total`` by ``count``; None by nothing."""
    return total / count if count else None


def share_of(episodes: Sequence[EpisodeSummary], holds: Callable[[EpisodeSummary], bool | None]) -> Share:
    """Of the episodes of which it can be said at all: None leaves one out."""
    answers = [answer for one in episodes if (answer := holds(one)) is not None]
    return Share(count=sum(answers), total=len(answers))
