"""The day's business."""

from __future__ import annotations

from datetime import date

from saleroom.codec import from_text, to_text
from saleroom.session import Bid, Session

FEE_PERCENT = 12
STEPS = ((1000, 100), (200, 20), (50, 5), (0, 1))
"""From which price on bids rise by how much, the highest price first."""


class House:
    """Runs one session and writes the invoices."""

    def __init__(self, session: Session) -> None:
        self.session = session

    @classmethod
    def open(cls, day: date, bidders: list[str], reserves: dict[int, int]) -> House:
        """Begin a day with bidders, who get paddles from 1 on, and lots."""
        session = Session(day)
        for name in bidders:
            session.add_paddle(name)
        for lot, reserve in reserves.items():
            session.add_lot(lot, reserve)
        return cls(session)

    def put_away(self) -> str:
        """The whole session as text."""
        return to_text(self.session.state())

    @classmethod
    def take_up(cls, text: str) -> House:
        """A house that goes on where ``put_away`` was called."""
        return cls(Session.from_state(from_text(text)))

    def sold(self) -> dict[int, Bid]:
        """Every lot that found a buyer, in the order of their numbers."""
        sales = {lot: self.session.sale(lot) for lot in sorted(self.session.reserves)}
        return {lot: sale for lot, sale in sales.items() if sale is not None}

    def invoices(self) -> dict[str, int]:
        """What each buyer pays, fee included."""
        totals: dict[str, int] = {}
        for paddle, amount in self.sold().values():
            name = self.session.paddles[paddle]
            totals[name] = totals.get(name, 0) + amount + amount * FEE_PERCENT // 100
        return totals

    def asking(self, lot: int) -> int:
        """What the clerk calls next for a lot."""
        best = self.session.best(lot)
        if best is None:
            return max(1, self.session.reserves[lot] // 2)
        return best[1] + next(step for price, step in STEPS if best[1] >= price)

    def left(self) -> list[int]:
        """Lots that stay in the house."""
        return sorted(set(self.session.reserves) - set(self.sold()))

    def keenest(self) -> list[str]:
        """Bidders by how often they bid, then by paddle; those who never did are left out."""
        raised = self.session.raised
        order = sorted(raised, key=lambda paddle: (-raised[paddle], paddle))
        return [f"{self.session.paddles[paddle]} {raised[paddle]}" for paddle in order]

    def summary(self) -> str:
        """A line for the door."""
        sold = self.sold()
        taken = sum(amount for _, amount in sold.values())
        return f"{self.session.day:%d.%m.%Y}: {len(sold)} of {len(self.session.reserves)} lots, {taken}"
