"""Sites and what their clocks show."""

import re
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta, timezone

from roster.spans import DAY, Span

OFFSET = re.compile(r"([+-])(\d\d):(\d\d)")
HOURS = re.compile(r"(\d\d:\d\d)-(\d\d:\d\d)")


def parse_offset(text: str) -> timezone:
    """The clock of an offset such as -05:00."""
    match = OFFSET.fullmatch(text)
    if match is None:
        raise ValueError(f"{text!r} is no offset such as -05:00")
    ahead = timedelta(hours=int(match[2]), minutes=int(match[3]))
    return timezone(ahead if match[1] == "+" else -ahead)


def parse_hours(text: str) -> tuple[time, time]:
    """Both times of hours such as 22:00-06:00."""
    match = HOURS.fullmatch(text)
    if match is None:
        raise ValueError(f"{text!r} are no hours such as 22:00-06:00")
    return time.fromisoformat(match[1]), time.fromisoformat(match[2])


@dataclass(frozen=True)
class Site:
    """A place of work."""

    name: str
    offset: str
    night: str = "22:00-06:00"

    @property
    def clock(self) -> timezone:
        """What the site's moments are told in."""
        return parse_offset(self.offset)

    def span(self, day: date, hours: str) -> Span:
        """Hours of a day here, into the day after where they pass midnight."""
        first, last = parse_hours(hours)
        ends_on = day if last > first else day + DAY
        return Span(datetime.combine(day, first, self.clock), datetime.combine(ends_on, last, self.clock))

    def night_minutes(self, span: Span) -> int:
        """How much of the span is night."""
        return sum(part.minutes for part in span.daily(*parse_hours(self.night)))
