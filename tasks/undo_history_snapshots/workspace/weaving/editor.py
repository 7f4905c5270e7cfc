"""Commands on a plan, each of which can be taken back."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from weaving.history import History
from weaving.plan import EMPTY, Plan


class Editor:
    """Changes one plan, step by step."""

    def __init__(self, plan: Plan, depth: int = 100) -> None:
        self.plan = plan
        self._history = History(plan, depth)
        self._open_groups = 0

    @contextmanager
    def group(self, label: str) -> Iterator[None]:
        """Make one step of all commands in the block; none of them stays if it raises."""
        self._open_groups += 1
        try:
            yield
        except BaseException:
            self._open_groups -= 1
            if not self._open_groups:
                self._history.reset()
            raise
        self._open_groups -= 1
        if not self._open_groups:
            self._history.add(label)

    def paint(self, x: int, y: int, letter: str) -> None:
        """Weave one cell."""
        with self.group(f"paint {letter}"):
            self.plan.put(x, y, letter)

    def stripe(self, y: int, letters: str) -> None:
        """Weave a row by repeating ``letters`` across it."""
        with self.group(f"stripe {letters}"):
            for x in range(len(self.plan.rows[y])):
                self.plan.put(x, y, letters[x % len(letters)])

    def clear(self, x: int, y: int) -> None:
        """Empty one cell."""
        with self.group("clear"):
            self.plan.put(x, y, EMPTY)

    def swap(self, first: str, second: str) -> None:
        """Let two yarns change places in the whole cloth."""
        other = {first: second, second: first}
        with self.group(f"swap {first} {second}"):
            for y, row in enumerate(self.plan.rows):
                for x, letter in enumerate(row):
                    self.plan.put(x, y, other.get(letter, letter))

    def add_row(self, y: int) -> None:
        """Insert an empty row above row ``y``."""
        with self.group("add row"):
            self.plan.rows.insert(y, [EMPTY] * len(self.plan.rows[0]))

    def dye(self, letter: str, colour: str) -> None:
        """Give a yarn a colour, and a place in the legend if it has none."""
        with self.group(f"dye {letter}"):
            self.plan.describe(letter, colour=colour)

    def repeat(self, times: int) -> None:
        """Say how often the plan is woven."""
        with self.group(f"repeat {times}"):
            self.plan.repeats = times

    def undo(self) -> str | None:
        """Take the newest step back; its label, or None when there is none."""
        return self._history.back()

    def redo(self) -> str | None:
        """Put the step on again that was taken back last; its label, or None."""
        return self._history.forward()

    def steps(self) -> list[str]:
        """Labels of the steps that made the plan what it is."""
        return self._history.labels()
