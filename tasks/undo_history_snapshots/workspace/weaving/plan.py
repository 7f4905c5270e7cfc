"""The plan of a cloth: cells by row, and the yarns that their letters stand for."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

EMPTY = "."


class Plan:
    """A grid of yarn letters with a legend."""

    def __init__(self, width: int, height: int) -> None:
        if width < 1 or height < 1:
            raise ValueError("a plan has at least one cell")
        self.rows = [[EMPTY] * width for _ in range(height)]
        self.yarns: dict[str, dict[str, str]] = {}
        self.repeats = 1

    def state(self) -> dict[str, Any]:
        """Everything that makes this plan, apart from the plan."""
        return deepcopy(vars(self))

    def restore(self, state: dict[str, Any]) -> None:
        """Take on a state that ``state`` gave earlier."""
        vars(self).update(state)

    def put(self, x: int, y: int, letter: str) -> None:
        """Weave one cell with a yarn of the legend, or leave it empty."""
        if letter != EMPTY and letter not in self.yarns:
            raise KeyError(f"no yarn is called {letter!r}")
        if not (0 <= y < len(self.rows) and 0 <= x < len(self.rows[0])):
            raise IndexError(f"no cell at {x}, {y}")
        self.rows[y][x] = letter

    def describe(self, letter: str, **traits: str) -> None:
        """Add traits, such as colour or fibre, to a yarn; a new letter is a new yarn."""
        self.yarns.setdefault(letter, {}).update(traits)

    def picture(self) -> list[str]:
        """The rows as text."""
        return ["".join(row) for row in self.rows]

    def used(self) -> dict[str, int]:
        """How many cells each yarn fills in the whole cloth, by letter."""
        cells = [cell for row in self.rows for cell in row if cell != EMPTY]
        return {letter: cells.count(letter) * self.repeats for letter in sorted(set(cells))}
