"""Weeks as the payroll sees them, and time sheets."""

from collections import Counter
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta

from roster.plan import Roster
from roster.sites import parse_offset
from roster.spans import DAY, Span

HEAD_OFFICE = "+01:00"
LONG_DAY_MINUTES = 600
SUNDAY = 6


def payroll_week(day: date) -> Span:
    """The week in which the day lies."""
    monday = day - timedelta(days=day.weekday())
    start = datetime.combine(monday, time.min, parse_offset(HEAD_OFFICE))
    return Span(start, start + 7 * DAY)


def clock_text(minutes: int) -> str:
    """Minutes as hours and minutes, such as 7:30."""
    hours, rest = divmod(minutes, 60)
    return f"{hours}:{rest:02}"


@dataclass(frozen=True)
class Rates:
    """What an hour is worth, and how much more of it at night and on Sundays."""

    hour_cents: int
    night_percent: int = 25
    sunday_percent: int = 50


@dataclass(frozen=True)
class TimeSheet:
    """What somebody has worked in a week, in minutes."""

    person: str
    by_day: dict[str, int]
    by_site: dict[str, int]
    night: int

    @property
    def total(self) -> int:
        """All of it."""
        return sum(self.by_day.values())

    def long_days(self) -> list[str]:
        """Days with more than ten hours."""
        return [day for day, minutes in self.by_day.items() if minutes > LONG_DAY_MINUTES]

    def sunday(self) -> int:
        """The minutes that were worked on a Sunday."""
        return sum(
            minutes for day, minutes in self.by_day.items() if date.fromisoformat(day).weekday() == SUNDAY
        )

    def pay_cents(self, rates: Rates) -> int:
        """What the week is worth, rounded down."""
        extra = self.night * rates.night_percent + self.sunday() * rates.sunday_percent
        return (self.total * 100 + extra) * rates.hour_cents // 6000

    def lines(self) -> list[str]:
        """The sheet as it is printed."""
        days = [f"{day} {clock_text(minutes)}" for day, minutes in self.by_day.items()]
        return [self.person, *days, f"total {clock_text(self.total)}, night {clock_text(self.night)}"]


def time_sheet(roster: Roster, person: str, week: Span) -> TimeSheet:
    """The person's time sheet for the week."""
    by_day: Counter[str] = Counter()
    by_site: Counter[str] = Counter()
    night = 0
    for shift in roster.shifts(person):
        worked = shift.span.clipped(week)
        if worked is None:
            continue
        for day, part in worked.days():
            by_day[day.isoformat()] += part.minutes
        by_site[shift.site.name] += worked.minutes
        night += shift.site.night_minutes(worked)
    return TimeSheet(person, dict(sorted(by_day.items())), dict(sorted(by_site.items())), night)


def all_sheets(roster: Roster, week: Span) -> dict[str, TimeSheet]:
    """The time sheets of everybody who has worked in the week."""
    sheets = (time_sheet(roster, person, week) for person in roster.people())
    return {sheet.person: sheet for sheet in sheets if sheet.total}
