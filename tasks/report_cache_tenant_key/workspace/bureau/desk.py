"""The desk: figures and statements, for tenants and for the bureau itself."""

from __future__ import annotations

from bureau.ledger import Entry, Ledger
from bureau.money import amount, share
from bureau.shelf import Shelf, kept


class Desk:
    """Answers questions about a ledger."""

    def __init__(self, ledger: Ledger, shelf: Shelf | None = None) -> None:
        self.ledger = ledger
        self.shelf = shelf or Shelf()

    def post(self, entry: Entry) -> None:
        """Add an entry and drop the answers that counted without it."""
        self.ledger.post(entry)
        self.shelf.forget("tenant", entry.tenant)

    @kept("tenant", "month")
    def count(self, tenant: str, month: str) -> int:
        """How many entries a tenant has in a month."""
        return len(self.ledger.select(tenant=tenant, month=month))

    @kept("tenant", "branch", "month", "account")
    def total(self, month: str, account: str, **scope: str) -> int:
        """The sum of an account in cents; ``scope`` may name a tenant and a branch."""
        entries = self.ledger.select(month=month, account=account, **scope)
        return sum(entry.cents for entry in entries)

    def result(self, month: str, **scope: str) -> int:
        """Sales less costs, in cents."""
        return self.total(month, "sales", **scope) - self.total(month, "costs", **scope)

    @kept("tenant", "month", "locale")
    def statement(self, tenant: str, month: str, locale: str = "en") -> str:
        """What a tenant gets in the post."""
        sales = self.total(month, "sales", tenant=tenant)
        result = self.result(month, tenant=tenant)
        lines = [
            f"{tenant}, {month}: {self.count(tenant, month)} entries",
            f"sales {amount(sales, locale)}",
            f"result {amount(result, locale)} ({share(result, sales)} of sales)",
        ]
        return "\n".join(lines)

    def branch_results(self, tenant: str, month: str) -> dict[str, int]:
        """The result of every branch of a tenant, in cents."""
        return {
            branch: self.result(month, tenant=tenant, branch=branch)
            for branch in self.ledger.branches(tenant)
        }

    def course(self, tenant: str, account: str, locale: str = "en") -> list[str]:
        """An account of a tenant month by month, with the change from the month before."""
        lines: list[str] = []
        before: int | None = None
        for month in self.ledger.months(tenant):
            now = self.total(month, account, tenant=tenant)
            change = "" if before is None else f" ({amount(now - before, locale)})"
            lines.append(f"{month} {amount(now, locale)}{change}")
            before = now
        return lines

    def ranking(self, month: str) -> list[str]:
        """Tenants with entries in a month, the best result first, then by name."""
        tenants = {entry.tenant for entry in self.ledger.select(month=month)}
        return sorted(tenants, key=lambda tenant: (-self.result(month, tenant=tenant), tenant))
