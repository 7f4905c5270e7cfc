"""The rigs, and the windows for which they are leased."""

from collections.abc import Mapping

from leasegate.events import Amended, Booked, Ended, EventBus, Withdrawn
from leasegate.leases import Lease, LeaseRequest, Window


class RigPool:
    """Knows which rig is leased when. ``rigs`` says of which kind each one is."""

    def __init__(self, rigs: Mapping[str, str], bus: EventBus) -> None:
        self._rigs = dict(rigs)
        self._bus = bus
        self._leases: dict[str, Lease] = {}
        bus.subscribe(Amended, self.on_amended)
        bus.subscribe(Withdrawn, self.on_withdrawn)
        bus.subscribe(Ended, self.on_ended)

    def kinds(self) -> set[str]:
        """The kinds of which there is a rig."""
        return set(self._rigs.values())

    def leases(self) -> list[Lease]:
        """All leases, by rig and time."""
        return sorted(self._leases.values(), key=lambda lease: (lease.rig, lease.window.start))

    def find(self, key: str) -> Lease | None:
        """The lease that is known by ``key``."""
        return self._leases.get(key)

    def free_rigs(self, kind: str, window: Window) -> list[str]:
        """The rigs of a kind that nobody has for any minute of ``window``."""
        return [
            rig
            for rig, its_kind in self._rigs.items()
            if its_kind == kind and not self._is_taken(rig, window)
        ]

    def acquire(self, request: LeaseRequest, now: int) -> Lease | None:
        """Take the first free rig for what is asked, or None when all are taken."""
        window = request.window(now)
        rigs = self.free_rigs(request.kind, window)
        if not rigs:
            return None
        lease = Lease(request.tenant, rigs[0], window)
        self._leases[lease.key] = lease
        self._bus.publish(Booked(lease))
        return lease

    def can_last(self, lease: Lease, minutes: int) -> bool:
        """Whether a lease may get another length without meeting the next one."""
        window = lease.lasting(minutes).window
        return not any(
            other.rig == lease.rig and other.key != lease.key and other.window.overlaps(window)
            for other in self._leases.values()
        )

    def on_amended(self, event: Amended) -> None:
        """Put one lease in the place of another."""
        if self._leases.pop(event.before.key, None) is not None:
            self._leases[event.after.key] = event.after

    def on_withdrawn(self, event: Withdrawn) -> None:
        """Free a rig that was taken for nothing."""
        self._leases.pop(event.lease.key, None)

    def on_ended(self, event: Ended) -> None:
        """Free a rig. It may be free already, when a lease runs out while it is given back."""
        self._leases.pop(event.lease.key, None)

    def _is_taken(self, rig: str, window: Window) -> bool:
        return any(
            lease.rig == rig and lease.window.overlaps(window) for lease in self._leases.values()
        )
