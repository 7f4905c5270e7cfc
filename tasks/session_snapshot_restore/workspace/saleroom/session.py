"""Paddles, lots and bids of one day."""

from __future__ import annotations

from collections import Counter, defaultdict
from datetime import date
from typing import Any

Bid = tuple[int, int]
"""A paddle and what it bids."""


class LowBid(Exception):
    """Somebody has bid as much already."""


class Session:
    """Everything that happened in the room."""

    def __init__(self, day: date) -> None:
        self.day = day
        self.paddles: dict[int, str] = {}
        self.reserves: dict[int, int] = {}
        self.bids: defaultdict[int, list[Bid]] = defaultdict(list)
        self.raised: Counter[int] = Counter()
        self.withdrawn: set[int] = set()

    def state(self) -> dict[str, Any]:
        """All fields by name."""
        return dict(vars(self))

    @classmethod
    def from_state(cls, state: dict[str, Any]) -> Session:
        """A session with the fields that ``state`` gave."""
        session = cls(state["day"])
        session.paddles.update(state["paddles"])
        session.reserves.update(state["reserves"])
        session.bids.update(state["bids"])
        session.raised.update(state["raised"])
        session.withdrawn.update(state["withdrawn"])
        return session

    def add_paddle(self, name: str) -> int:
        """Hand the next paddle to a bidder."""
        number = len(self.paddles) + 1
        self.paddles[number] = name
        return number

    def add_lot(self, lot: int, reserve: int = 0) -> None:
        """Put a lot up; it is sold for ``reserve`` or more."""
        self.reserves[lot] = reserve

    def withdraw(self, lot: int) -> None:
        """Take a lot out of the sale; it stays in the house."""
        self.withdrawn.add(lot)

    def bid(self, lot: int, paddle: int, amount: int) -> None:
        """Note a bid; it has to be higher than those before."""
        if lot not in self.reserves or lot in self.withdrawn:
            raise KeyError(f"lot {lot} is not for sale")
        if paddle not in self.paddles:
            raise KeyError(f"nobody has paddle {paddle}")
        best = self.best(lot)
        if best is not None and amount <= best[1]:
            raise LowBid(f"{best[1]} is bid already for lot {lot}")
        self.bids[lot].append((paddle, amount))
        self.raised[paddle] += 1

    def best(self, lot: int) -> Bid | None:
        """The bid that leads, if there is one."""
        bids = self.bids[lot]
        return bids[-1] if bids else None

    def sale(self, lot: int) -> Bid | None:
        """Who gets a lot and for how much; None when it stays in the house."""
        best = self.best(lot)
        if best is None or lot in self.withdrawn or best[1] < self.reserves[lot]:
            return None
        return best
