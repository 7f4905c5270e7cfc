"""A room that can be booked."""

from collections.abc import Iterable

from bookings.spans import Span, joined


class NotFree(Exception):
    """The room is taken or closed at that time."""


class Room:
    """The meetings of one day, within opening hours."""

    def __init__(self, opening: Span) -> None:
        self.opening = opening
        self._meetings: dict[Span, str] = {}

    def book(self, span: Span, title: str) -> None:
        """Enter a meeting; raises NotFree if that cannot be."""
        if not self.opening.covers(span):
            raise NotFree(f"The room is closed for part of {span.start} to {span.end}.")
        for taken, name in self._meetings.items():
            if taken.overlaps(span):
                raise NotFree(f"{name} is from {taken.start} to {taken.end}.")
        self._meetings[span] = title

    def cancel(self, title: str) -> int:
        """Take out the meetings of that title; answers how many there were."""
        spans = [span for span, name in self._meetings.items() if name == title]
        for span in spans:
            del self._meetings[span]
        return len(spans)

    def busy(self) -> list[Span]:
        """When the room is taken."""
        return joined(self._meetings)

    def free(self, at_least: int = 1) -> list[Span]:
        """The gaps of the day that last ``at_least`` so many minutes."""
        gaps: list[Span] = []
        start = self.opening.start
        for span in self.busy():
            if span.start - start >= at_least:
                gaps.append(Span(start, span.start))
            start = span.end
        if self.opening.end - start >= at_least:
            gaps.append(Span(start, self.opening.end))
        return gaps

    def first_free(self, length: int) -> Span | None:
        """The earliest span of that length that can be booked."""
        for gap in self.free(at_least=length):
            return Span(gap.start, gap.start + length)
        return None

    def longest_run(self) -> int:
        """The most minutes on end for which the room is taken."""
        return max((span.length for span in self.busy()), default=0)


def busy_anywhere(rooms: Iterable[Room]) -> list[Span]:
    """When one of the rooms at least is taken."""
    return joined(span for room in rooms for span in room.busy())


def quiet_hours(rooms: Iterable[Room], at_least: int = 1) -> list[Span]:
    """When none of the rooms is taken, within the hours that all are open."""
    rooms = list(rooms)
    start = max(room.opening.start for room in rooms)
    end = min(room.opening.end for room in rooms)
    quiet: list[Span] = []
    for span in busy_anywhere(rooms):
        if min(span.start, end) - start >= at_least:
            quiet.append(Span(start, min(span.start, end)))
        start = max(start, span.end)
    if end - start >= at_least:
        quiet.append(Span(start, end))
    return quiet
