"""The board: departures, with notices below them."""

from __future__ import annotations

from dataclasses import dataclass

from concourse.boxes import Box, Label, Meter, Panel, Row, Rule, Stack
from concourse.pool import Pool
from concourse.renderer import Renderer
from concourse.text import Picture, changed, wrap

SHARES = [2, 5, 1, 2]
"""Columns of a departure: time, place, platform, seats taken."""


@dataclass(frozen=True)
class Departure:
    """A train that leaves; ``number`` stays the same when the rest changes."""

    number: int
    time: str
    place: str
    platform: str
    taken: int = 0
    seats: int = 100


class Line:
    """The boxes that show one departure."""

    def __init__(self, pool: Pool) -> None:
        self.row = pool.take(Row)
        self._time = pool.take(Label)
        self._place = pool.take(Label)
        self._platform = pool.take(Label)
        self._seats = pool.take(Meter)
        self.row.set([self._time, self._place, self._platform, self._seats], SHARES)

    def show(self, departure: Departure) -> None:
        """Show this departure from now on."""
        self._time.set(departure.time)
        self._place.set(departure.place)
        self._platform.set(departure.platform, "middle")
        self._seats.set(departure.taken, departure.seats)


class Board:
    """What hangs in the hall: a heading, a page of departures, and notices."""

    def __init__(self, width: int = 40, lines: int = 10, pool: Pool | None = None) -> None:
        self.width = width
        self.lines = lines
        self.pool = pool or Pool()
        self.renderer = Renderer(self.pool)
        self._all = self.pool.take(Stack)
        self._heading: list[Box] = []
        self._shown: dict[int, Line] = {}
        self._notices: dict[str, Panel] = {}
        self._first = 0
        self._sent: Picture = []

    def head(self, text: str, mark: str = "=") -> None:
        """Put a heading with a rule above the departures, or change it."""
        if not self._heading:
            self._heading = [self.pool.take(Label), self.pool.take(Rule)]
        label, rule = self._heading
        if isinstance(label, Label) and isinstance(rule, Rule):
            label.set(text, "middle")
            rule.set(mark)
        self._arrange()

    def show(self, departures: list[Departure]) -> None:
        """Show these departures, in this order, in place of those before."""
        wanted = {departure.number for departure in departures}
        for number in [number for number in self._shown if number not in wanted]:
            self.pool.give_back(self._shown.pop(number).row)
        for departure in departures:
            line = self._shown.pop(departure.number, None) or Line(self.pool)
            line.show(departure)
            self._shown[departure.number] = line
        self._arrange()

    def turn(self) -> int:
        """Go to the next page of departures, after the last to the first; its number from 1."""
        self._first += self.lines
        self._arrange()
        return self._first // self.lines + 1

    def announce(self, title: str, text: str) -> None:
        """Put a notice below the departures; one with the same title takes on the new text."""
        if title not in self._notices:
            self._notices[title] = self.pool.take(Panel)
        panel = self._notices[title]
        for old in panel.children:
            self.pool.give_back(old)
        body = self.pool.take(Stack)
        labels: list[Box] = []
        for words in wrap(text, self.width - 2):
            label = self.pool.take(Label)
            label.set(words)
            labels.append(label)
        body.set_children(labels)
        panel.set(title, [body])
        self._arrange()

    def withdraw(self, title: str) -> None:
        """Take a notice down, if there is one with that title."""
        panel = self._notices.pop(title, None)
        if panel is not None:
            self._arrange()
            self.pool.give_back(panel)

    def picture(self) -> Picture:
        """The board as it looks now."""
        return self.renderer.picture(self._all, self.width)

    def news(self) -> dict[int, str]:
        """The lines that are other than at the last call, for displays on a slow wire."""
        now = self.picture()
        lines = changed(self._sent, now)
        self._sent = now
        return lines

    def _arrange(self) -> None:
        rows = [line.row for line in self._shown.values()]
        if self._first >= len(rows):
            self._first = 0
        page = rows[self._first : self._first + self.lines]
        self._all.set_children([*self._heading, *page, *self._notices.values()])
