"""The ledger: what every tenant earned and spent."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Entry:
    """One booking; ``cents`` is positive on every account."""

    tenant: str
    branch: str
    account: str
    month: str
    cents: int


class Ledger:
    """All entries of the bureau, in the order of posting."""

    def __init__(self) -> None:
        self._entries: list[Entry] = []
        self.reads = 0

    def post(self, entry: Entry) -> None:
        """Add an entry; negative amounts are refused."""
        if entry.cents < 0:
            raise ValueError("post the amount on the other account")
        self._entries.append(entry)

    def select(self, **where: str) -> list[Entry]:
        """Entries whose fields have all of the given values."""
        self.reads += 1
        return [
            entry
            for entry in self._entries
            if all(getattr(entry, name) == value for name, value in where.items())
        ]

    def branches(self, tenant: str) -> list[str]:
        """Names of the branches that a tenant has entries for."""
        return sorted({entry.branch for entry in self._entries if entry.tenant == tenant})

    def months(self, tenant: str) -> list[str]:
        """Months that a tenant has entries for, in order."""
        return sorted({entry.month for entry in self._entries if entry.tenant == tenant})
