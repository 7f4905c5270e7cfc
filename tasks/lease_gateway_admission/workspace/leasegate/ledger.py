"""What each tenant has, and what has happened."""

from dataclasses import dataclass

from leasegate.clock import Clock
from leasegate.events import Amended, Booked, Ended, EventBus, Refused, Withdrawn
from leasegate.leases import Lease


@dataclass(frozen=True)
class Line:
    """One line of the history."""

    minute: int
    what: str
    about: str


class Ledger:
    """Keeps the account of leases; it learns of them by events."""

    def __init__(self, clock: Clock, bus: EventBus) -> None:
        self._clock = clock
        self._open: dict[str, Lease] = {}
        self.history: list[Line] = []
        bus.subscribe(Booked, self.on_booked)
        bus.subscribe(Amended, self.on_amended)
        bus.subscribe(Withdrawn, self.on_withdrawn)
        bus.subscribe(Ended, self.on_ended)
        bus.subscribe(Refused, self.on_refused)

    def count_of(self, tenant: str) -> int:
        """How many leases a tenant has."""
        return len(self._of(tenant))

    def minutes_of(self, tenant: str) -> int:
        """How many minutes a tenant has leased."""
        return sum(lease.minutes for lease in self._of(tenant))

    def on_booked(self, event: Booked) -> None:
        """Open an account line for a lease."""
        self._open[event.lease.key] = event.lease
        self._note("booked", event.lease.key)

    def on_amended(self, event: Amended) -> None:
        """Go on with another lease in the place of the one before."""
        if self._open.pop(event.before.key, None) is not None:
            self._open[event.after.key] = event.after
            self._note("amended", event.after.key)

    def on_withdrawn(self, event: Withdrawn) -> None:
        """Close the line of a lease that was not granted."""
        self._close(event.lease, "withdrawn")

    def on_ended(self, event: Ended) -> None:
        """Close the line of a lease that is over."""
        self._close(event.lease, "ended")

    def on_refused(self, event: Refused) -> None:
        """Note a refusal; there is nothing to close."""
        self._note("refused", f"{event.request.tenant}: {event.reason}")

    def _of(self, tenant: str) -> list[Lease]:
        return [lease for lease in self._open.values() if lease.tenant == tenant]

    def _close(self, lease: Lease, what: str) -> None:
        if self._open.pop(lease.key, None) is not None:
            self._note(what, lease.key)

    def _note(self, what: str, about: str) -> None:
        self.history.append(Line(self._clock.now(), what, about))
