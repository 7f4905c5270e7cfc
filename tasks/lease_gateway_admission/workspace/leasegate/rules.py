"""Checks of requests, and rules for leases."""

from collections.abc import Iterable, Mapping
from typing import Protocol

from leasegate.ledger import Ledger
from leasegate.leases import Lease, LeaseRequest, Tenant, Window

STEP_MINUTES = 15


class Rejected(Exception):
    """Something was not allowed; ``lease`` is the lease in question, once there is one."""

    def __init__(self, reason: str, lease: Lease | None = None) -> None:
        super().__init__(reason)
        self.reason = reason
        self.lease = lease


class RequestCheck:
    """Checks a request as it was written, before a rig is taken for it."""

    def __init__(self, tenants: Mapping[str, Tenant], kinds: Iterable[str]) -> None:
        self._tenants = tenants
        self._kinds = frozenset(kinds)

    def check(self, request: LeaseRequest, now: int) -> None:
        """Raise Rejected for a request that makes no sense."""
        if request.tenant not in self._tenants:
            raise Rejected("unknown tenant")
        if request.kind not in self._kinds:
            raise Rejected("unknown kind")
        if request.minutes <= 0 or request.minutes % STEP_MINUTES:
            raise Rejected(f"minutes come in steps of {STEP_MINUTES}")
        if request.window(now).start < now:
            raise Rejected("in the past")


class Rule(Protocol):
    """Judges a lease for which a rig has been taken."""

    def review(self, lease: Lease) -> Lease:
        """The lease, as it is or shortened; raises Rejected."""
        ...


class LongestLease:
    """Shortens a lease to what its tenant may have at a time."""

    def __init__(self, tenants: Mapping[str, Tenant]) -> None:
        self._tenants = tenants

    def review(self, lease: Lease) -> Lease:
        """The lease, not longer than allowed."""
        longest = self._tenants[lease.tenant].longest_minutes
        return lease if lease.minutes <= longest else lease.lasting(longest)


class MostLeases:
    """Limits how many leases a tenant has. The ledger counts the one in question already."""

    def __init__(self, tenants: Mapping[str, Tenant], ledger: Ledger) -> None:
        self._tenants = tenants
        self._ledger = ledger

    def review(self, lease: Lease) -> Lease:
        """The lease; raises Rejected when it is one too many."""
        if self._ledger.count_of(lease.tenant) > self._tenants[lease.tenant].most_leases:
            raise Rejected("too many leases", lease)
        return lease


class Maintenance:
    """Keeps rigs free for those who look after them."""

    def __init__(self) -> None:
        self._windows: dict[str, list[Window]] = {}

    def plan(self, rig: str, window: Window) -> None:
        """Nobody gets ``rig`` during ``window``."""
        self._windows.setdefault(rig, []).append(window)

    def review(self, lease: Lease) -> Lease:
        """The lease; raises Rejected when it meets maintenance."""
        if any(window.overlaps(lease.window) for window in self._windows.get(lease.rig, ())):
            raise Rejected("maintenance", lease)
        return lease


class RuleChain:
    """Rules, one after the other; each judges what the one before has left."""

    def __init__(self, rules: Iterable[Rule]) -> None:
        self._rules = tuple(rules)

    def review(self, lease: Lease) -> Lease:
        """What all rules allow; raises Rejected when one does not."""
        for rule in self._rules:
            lease = rule.review(lease)
        return lease
