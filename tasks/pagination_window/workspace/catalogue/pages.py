"""Pages of a listing, and the links between them."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

Item = TypeVar("Item")


@dataclass(frozen=True)
class Links:
    """Where the links beside the window lead."""

    first: int | None
    previous: int | None
    next: int | None
    last: int | None


class Pages(Generic[Item]):
    """A listing, cut into pages."""

    def __init__(self, items: Sequence[Item], per_page: int = 20, width: int = 5) -> None:
        if per_page < 1 or width < 1:
            raise ValueError("A page has room for one item, a window for one number.")
        self._items = items
        self._per_page = per_page
        self._width = width

    @property
    def count(self) -> int:
        """How many pages there are."""
        return len(self._items) // self._per_page + 1

    def nearest(self, wanted: int) -> int:
        """The page to show when ``wanted`` is asked for."""
        return max(1, min(wanted, self.count))

    def items(self, wanted: int) -> Sequence[Item]:
        """What is on the page."""
        start = (self.nearest(wanted) - 1) * self._per_page
        return self._items[start : start + self._per_page]

    def window(self, wanted: int) -> list[int]:
        """The page numbers below the page."""
        first = self.nearest(wanted) - self._width // 2
        first = max(1, min(first, self.count - self._width + 1))
        last = min(self.count, first + self._width - 1)
        return list(range(first, last + 1))

    def row(self, wanted: int) -> str:
        """The window as text: the page in brackets, dots where page numbers are left out."""
        page = self.nearest(wanted)
        numbers = self.window(wanted)
        parts = [f"[{number}]" if number == page else str(number) for number in numbers]
        if 1 not in numbers:
            parts.insert(0, "...")
        if self.count not in numbers:
            parts.append("...")
        return " ".join(parts)

    def links(self, wanted: int) -> Links:
        """The links beside the window."""
        page = self.nearest(wanted)
        at_start, at_end = page == 1, page == self.count
        return Links(
            first=None if at_start else 1,
            previous=None if at_start else page - 1,
            next=None if at_end else page + 1,
            last=None if at_end else self.count,
        )

    def caption(self, wanted: int) -> str:
        """What the page shows, in words."""
        shown = self.items(wanted)
        if not shown:
            return f"Page {self.nearest(wanted)} of {self.count}: nothing to show"
        start = (self.nearest(wanted) - 1) * self._per_page + 1
        numbers = f"{start} to {start + len(shown) - 1} of {len(self._items)}"
        return f"Page {self.nearest(wanted)} of {self.count}: {numbers}"
