"""Counts on the shelves, with a journal from which changes can be taken back."""

from collections.abc import Mapping
from dataclasses import dataclass


class OutOfStock(Exception):
    """Fewer pieces lie on the shelf than were asked for."""

    def __init__(self, sku: str, missing: int) -> None:
        super().__init__(f"{missing} more of {sku} needed")
        self.sku = sku
        self.missing = missing


@dataclass(frozen=True)
class Change:
    """One count as it was before a write."""

    sku: str
    before: int


class Shelves:
    """How many pieces of everything there are."""

    def __init__(self, counts: Mapping[str, int]) -> None:
        self._counts = dict(counts)
        self._journal: list[Change] = []

    def counts(self) -> dict[str, int]:
        """A copy of all counts."""
        return dict(self._counts)

    def remove(self, sku: str, pieces: int) -> None:
        """Take pieces off the shelf; raises OutOfStock before anything is changed."""
        present = self._counts.get(sku, 0)
        if pieces > present:
            raise OutOfStock(sku, pieces - present)
        self._journal.append(Change(sku, present))
        self._counts[sku] = present - pieces

    def mark(self) -> int:
        """A place in the journal to go back to."""
        return len(self._journal)

    def take_back(self, mark: int) -> int:
        """Undo everything since the mark, newest first; answers how many changes that was."""
        undone = 0
        while len(self._journal) > mark:
            change = self._journal.pop()
            self._counts[change.sku] = change.before
            undone += 1
        return undone

    def forget(self, mark: int) -> None:
        """Make everything since the mark final."""
        del self._journal[mark:]
