"""How often to try, and how long to wait in between."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass


@dataclass(frozen=True)
class RetryPolicy:
    """Growing waits between a limited number of tries; all times in seconds."""

    attempts: int = 5
    first_wait: float = 1.0
    growth: float = 2.0
    longest_wait: float = 60.0
    spread: float = 0.0

    def __post_init__(self) -> None:
        if self.attempts < 1:
            raise ValueError("A message is tried once at least.")
        if self.first_wait < 0 or self.growth < 1 or self.spread < 0:
            raise ValueError("Waits do not shrink.")

    def waits(self, chance: Callable[[], float]) -> Iterator[float]:
        """The waits in order; ``chance`` gives numbers from 0 to 1."""
        for number in range(self.attempts):
            wait = self.first_wait * self.growth**number
            yield min(self.longest_wait, wait * (1 + self.spread * chance()))

    def worst_case(self) -> float:
        """The longest time that all waits can take together."""
        return sum(self.waits(lambda: 1.0))
