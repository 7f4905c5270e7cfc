"""Lines, taxes and totals of an invoice."""

from collections.abc import Iterable
from dataclasses import dataclass
from decimal import ROUND_HALF_UP, Decimal

CENT = Decimal("0.01")
HUNDRED = Decimal(100)


def to_cents(amount: Decimal) -> Decimal:
    """The amount in whole cents; half a cent goes away from zero."""
    return amount.quantize(CENT, rounding=ROUND_HALF_UP)


@dataclass(frozen=True)
class Line:
    """One position of an invoice; rates are in per cent."""

    description: str
    quantity: Decimal
    unit_price: Decimal
    tax_rate: Decimal
    discount: Decimal = Decimal(0)

    @property
    def net(self) -> Decimal:
        """What the position costs before tax."""
        full = self.quantity * self.unit_price
        return to_cents(full * (HUNDRED - self.discount) / HUNDRED)


class Invoice:
    """Positions and what they come to."""

    def __init__(self, lines: Iterable[Line]) -> None:
        self.lines = tuple(lines)

    @property
    def net(self) -> Decimal:
        """The sum of the positions before tax."""
        return sum((line.net for line in self.lines), Decimal("0.00"))

    def taxes(self) -> dict[Decimal, Decimal]:
        """The tax for each rate on the invoice, lowest rate first."""
        taxes: dict[Decimal, Decimal] = {}
        for line in self.lines:
            tax = to_cents(line.net * line.tax_rate / HUNDRED)
            taxes[line.tax_rate] = taxes.get(line.tax_rate, Decimal("0.00")) + tax
        return dict(sorted(taxes.items()))

    @property
    def due(self) -> Decimal:
        """What the customer pays."""
        return self.net + sum(self.taxes().values(), Decimal("0.00"))

    @property
    def is_credit(self) -> bool:
        """Whether money goes back to the customer."""
        return self.due < 0

    def totals(self) -> list[str]:
        """The closing rows of the printed invoice."""
        rows = [f"Net {self.net}"]
        for rate, tax in self.taxes().items():
            rows.append(f"Tax {rate} % {tax}")
        rows.append(f"{'Credit' if self.is_credit else 'Due'} {abs(self.due)}")
        return rows

    def credit_note(self) -> "Invoice":
        """The invoice that takes this one back."""
        return Invoice(
            Line(line.description, -line.quantity, line.unit_price, line.tax_rate, line.discount)
            for line in self.lines
        )
