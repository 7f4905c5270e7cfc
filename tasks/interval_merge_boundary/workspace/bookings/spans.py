"""Spans of time, and what can be worked out about them."""

from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, order=True)
class Span:
    """From ``start`` up to, not including, ``end``."""

    start: int
    end: int

    def __post_init__(self) -> None:
        if self.end <= self.start:
            raise ValueError("A span ends after it starts.")

    @property
    def length(self) -> int:
        """How many minutes it lasts."""
        return self.end - self.start

    def overlaps(self, other: "Span") -> bool:
        """Whether the two have a minute in common."""
        return self.start < other.end and other.start < self.end

    def covers(self, other: "Span") -> bool:
        """Whether all of the other lies within this one."""
        return self.start <= other.start and other.end <= self.end


def joined(spans: Iterable[Span]) -> list[Span]:
    """The same minutes in as few spans as they can be told in, in order."""
    result: list[Span] = []
    for span in sorted(spans):
        if result and result[-1].overlaps(span):
            latest = result.pop()
            span = Span(latest.start, max(latest.end, span.end))
        result.append(span)
    return result
