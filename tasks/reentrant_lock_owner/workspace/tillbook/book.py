"""The cash book: tills, and the entries that moved money between them."""

from dataclasses import dataclass

from tillbook.gate import Gate


@dataclass(frozen=True)
class Entry:
    """A change of one till's balance."""

    till: str
    cents: int
    note: str


class CashBook:
    """Balances in cents. Any thread may call; each call is one step to all others."""

    def __init__(self, gate: Gate | None = None, patience_seconds: float = 5.0) -> None:
        self.gate = gate or Gate()
        self.patience_seconds = patience_seconds
        self.entries: list[Entry] = []
        self._balances: dict[str, int] = {}

    def balance(self, till: str) -> int:
        """What lies in ``till``."""
        with self.gate.inside(self.patience_seconds):
            return self._balances.get(till, 0)

    def post(self, till: str, cents: int, note: str) -> None:
        """Add ``cents``, which may be negative, to ``till``."""
        with self.gate.inside(self.patience_seconds):
            if self._balances.get(till, 0) + cents < 0:
                raise ValueError(f"{till} does not hold {-cents} cents")
            self._balances[till] = self._balances.get(till, 0) + cents
            self.entries.append(Entry(till, cents, note))

    def move(self, source: str, target: str, cents: int) -> None:
        """Carry ``cents`` from one till to another."""
        with self.gate.inside(self.patience_seconds):
            self.post(source, -cents, f"to {target}")
            self.post(target, cents, f"from {source}")

    def empty_into(self, safe: str, tills: list[str]) -> int:
        """Carry everything from ``tills`` to ``safe``; what was carried."""
        with self.gate.inside(self.patience_seconds):
            total = 0
            for till in tills:
                cents = self.balance(till)
                self.move(till, safe, cents)
                total += cents
            return total
