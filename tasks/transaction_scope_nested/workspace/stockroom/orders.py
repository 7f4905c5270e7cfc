"""The order desk: fills whole orders, line by line."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from stockroom.scopes import Scopes
from stockroom.shelves import OutOfStock


@dataclass(frozen=True)
class Line:
    """Pieces of one article, or of the other one where the first runs short."""

    sku: str
    pieces: int = 1
    otherwise: str | None = None


@dataclass(frozen=True)
class Order:
    """What one customer wants."""

    number: str
    lines: tuple[Line, ...]


@dataclass
class Report:
    """What became of the orders, by number."""

    filled: list[str] = field(default_factory=list)
    skipped: list[str] = field(default_factory=list)


class OrderDesk:
    """Fills orders; `kits` says which parts an article is put together from."""

    def __init__(self, scopes: Scopes, kits: Mapping[str, tuple[str, ...]] | None = None) -> None:
        self._scopes = scopes
        self._kits = dict(kits or {})

    def fill(self, orders: Iterable[Order]) -> Report:
        """Fill what can be filled entirely, in the given order."""
        report = Report()
        for order in orders:
            with self._scopes.open("order", tolerated=(OutOfStock,)) as scope:
                for line in order.lines:
                    with self._scopes.open("line"):
                        self._pick(line)
            (report.filled if scope.outcome == "kept" else report.skipped).append(order.number)
        return report

    def _pick(self, line: Line) -> None:
        if line.otherwise is None:
            self._assemble(line.sku, line.pieces)
            return
        with self._scopes.open("first choice", tolerated=(OutOfStock,)) as scope:
            self._assemble(line.sku, line.pieces)
        if scope.outcome != "kept":
            self._assemble(line.otherwise, line.pieces)

    def _assemble(self, sku: str, pieces: int) -> None:
        for part in self._kits.get(sku, (sku,)):
            with self._scopes.open("part"):
                self._scopes.remove(part, pieces)
