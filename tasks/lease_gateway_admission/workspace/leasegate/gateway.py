"""What tenants and the operator call."""

from collections.abc import Iterable, Mapping

from leasegate.admission import Admission
from leasegate.clock import Clock
from leasegate.events import Ended, EventBus
from leasegate.leases import Decision, LeaseRequest, Tenant, Window
from leasegate.ledger import Ledger
from leasegate.pool import RigPool
from leasegate.rules import LongestLease, Maintenance, MostLeases, RequestCheck, RuleChain


class Gateway:
    """The laboratory's front door; ``rigs`` names the rigs and says of which kind each is."""

    def __init__(self, clock: Clock, rigs: Mapping[str, str], tenants: Iterable[Tenant]) -> None:
        self._clock = clock
        self._bus = EventBus()
        by_name = {tenant.name: tenant for tenant in tenants}
        self._pool = RigPool(rigs, self._bus)
        self._ledger = Ledger(clock, self._bus)
        self._maintenance = Maintenance()
        self._admission = Admission(
            clock,
            self._bus,
            self._pool,
            RequestCheck(by_name, self._pool.kinds()),
            RuleChain(
                (LongestLease(by_name), MostLeases(by_name, self._ledger), self._maintenance)
            ),
        )

    def request(self, tenant: str, kind: str, minutes: int, start: int | None = None) -> Decision:
        """Ask for a rig."""
        self.sweep()
        return self._admission.admit(LeaseRequest(tenant, kind, minutes, start))

    def extend(self, key: str, minutes: int) -> Decision:
        """Ask for another length of a lease."""
        self.sweep()
        lease = self._pool.find(key)
        if lease is None:
            return Decision(None, "no such lease")
        return self._admission.extend(lease, minutes)

    def give_back(self, key: str) -> bool:
        """End a lease before its time; False when there is none of that key."""
        lease = self._pool.find(key)
        if lease is None:
            return False
        self._bus.publish(Ended(lease))
        return True

    def plan_maintenance(self, rig: str, start: int, end: int) -> None:
        """Keep a rig free of new leases; those that are granted already stay."""
        self._maintenance.plan(rig, Window(start, end))

    def sweep(self) -> int:
        """End the leases whose time is over; how many it were."""
        over = [lease for lease in self._pool.leases() if lease.window.end <= self._clock.now()]
        for lease in over:
            self._bus.publish(Ended(lease))
        return len(over)

    def open_leases(self) -> list[str]:
        """The keys of all leases, by rig and time."""
        return [lease.key for lease in self._pool.leases()]

    def free_rigs(self, kind: str, start: int, end: int) -> list[str]:
        """The rigs of a kind that are free from ``start`` to ``end``."""
        return self._pool.free_rigs(kind, Window(start, end))

    def account(self, tenant: str) -> tuple[int, int]:
        """How many leases, and how many minutes, a tenant has."""
        return self._ledger.count_of(tenant), self._ledger.minutes_of(tenant)

    def history(self) -> list[str]:
        """What has happened, in words."""
        return [f"{line.minute} {line.what} {line.about}" for line in self._ledger.history]
