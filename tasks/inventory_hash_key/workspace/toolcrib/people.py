"""Who may borrow."""

from __future__ import annotations


class People:
    """The members of the workshop and how many tools each has."""

    def __init__(self, names: list[str], limit: int = 3) -> None:
        self._held = dict.fromkeys(names, 0)
        self._limit = limit

    def may_borrow(self, name: str) -> bool:
        """Whether somebody is a member and has a hand free."""
        return name in self._held and self._held[name] < self._limit

    def took(self, name: str) -> None:
        """Count a tool that was handed to a member."""
        self._held[name] += 1

    def brought(self, name: str) -> None:
        """Count a tool that a member brought back."""
        self._held[name] -= 1

    def held(self, name: str) -> int:
        """How many tools a member has."""
        return self._held[name]
