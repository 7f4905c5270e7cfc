"""The roster."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import date, timedelta

from roster.sites import Site
from roster.spans import Span

REST = timedelta(hours=11)


class RosterError(ValueError):
    """A shift that cannot be worked."""


@dataclass(frozen=True)
class Shift:
    """Somebody at a site for a while."""

    person: str
    site: Site
    span: Span


class Roster:
    """Shifts of everybody at all sites."""

    def __init__(self, sites: Iterable[Site]) -> None:
        self._sites = {site.name: site for site in sites}
        self._shifts: list[Shift] = []

    def add(self, shift: Shift) -> None:
        """Put the shift on the roster; raises RosterError if the person cannot work it."""
        for other in self.shifts(shift.person):
            if shift.span.overlaps(other.span):
                raise RosterError(f"{shift.person} is at {other.site.name} at that time")
            earlier, later = sorted((shift, other), key=lambda one: one.span.start)
            if later.span.start - earlier.span.end < REST:
                raise RosterError(f"{shift.person} has too little rest after {earlier.site.name}")
        self._shifts.append(shift)

    def read(self, lines: Iterable[str]) -> None:
        """Add a shift for every line such as `2024-03-06 pier 22:00-06:00 ada, ben`."""
        for line in lines:
            fields = line.split(maxsplit=3)
            if len(fields) != 4:
                raise RosterError(f"{line!r} has no day, site, hours and names")
            day, name, hours, people = fields
            if name not in self._sites:
                raise RosterError(f"there is no site {name}")
            site = self._sites[name]
            span = site.span(date.fromisoformat(day), hours)
            for person in people.split(","):
                self.add(Shift(person.strip(), site, span))

    def hand_over(self, shift: Shift, person: str) -> None:
        """Let another person work the shift; nothing changes if that person cannot."""
        self._shifts.remove(shift)
        try:
            self.add(replace(shift, person=person))
        except RosterError:
            self._shifts.append(shift)
            raise

    def shifts(self, person: str) -> list[Shift]:
        """The person's shifts, the earliest first."""
        shifts = [shift for shift in self._shifts if shift.person == person]
        return sorted(shifts, key=lambda shift: shift.span.start)

    def people(self) -> list[str]:
        """Everybody who has a shift."""
        return sorted({shift.person for shift in self._shifts})

    def present(self, window: Span) -> dict[str, list[str]]:
        """Who is at each site at some time in the window."""
        found: dict[str, list[str]] = {}
        for shift in self._shifts:
            if shift.span.overlaps(window):
                found.setdefault(shift.site.name, []).append(shift.person)
        return found
