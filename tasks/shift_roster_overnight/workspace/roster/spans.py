"""Stretches of time."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta

DAY = timedelta(days=1)


@dataclass(frozen=True)
class Span:
    """The time from one moment to a later one, by the clock that `start` is told in."""

    start: datetime
    end: datetime

    def __post_init__(self) -> None:
        if self.start.tzinfo is None or self.end.tzinfo is None:
            raise ValueError("the offset of a moment is missing")
        if self.start >= self.end:
            raise ValueError("a span ends after it starts")

    @property
    def minutes(self) -> int:
        """How long it is, in whole minutes."""
        return (self.end - self.start) // timedelta(minutes=1)

    def overlaps(self, other: "Span") -> bool:
        """Whether there is a moment in both."""
        return self.start < other.end and other.start < self.end

    def clipped(self, window: "Span") -> "Span | None":
        """The part of this span that lies in the window."""
        if not self.overlaps(window):
            return None
        return Span(max(window.start, self.start), min(window.end, self.end))

    def days(self) -> Iterator[tuple[date, "Span"]]:
        """Its parts by calendar day."""
        start = self.start
        while start < self.end:
            midnight = datetime.combine(start.date() + DAY, time.min, start.tzinfo)
            yield start.date(), Span(start, min(midnight, self.end))
            start = midnight

    def daily(self, first: time, last: time) -> Iterator["Span"]:
        """Its parts between two times of the day; `last` is on the day after unless it is later than `first`."""
        day = self.start.date() - DAY
        while datetime.combine(day, first, self.start.tzinfo) < self.end:
            from_ = datetime.combine(day, first, self.start.tzinfo)
            to = datetime.combine(day if last > first else day + DAY, last, self.start.tzinfo)
            part = Span(from_, to).clipped(self)
            if part is not None:
                yield part
            day += DAY
