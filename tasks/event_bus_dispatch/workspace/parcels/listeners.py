"""Those who listen, and a station in which they are wired together."""

from collections import Counter
from collections.abc import Mapping

from parcels.bus import Bus
from parcels.depot import Depot, Place
from parcels.events import Event, Flagged, Held, Loaded, ParcelEvent, Received, Released
from parcels.topics import Subscription


class Opening:
    """Notes the parcel that the day began with."""

    def __init__(self, bus: Bus) -> None:
        self.first: str | None = None
        bus.once(ParcelEvent, self._begin, priority=10)

    def _begin(self, event: ParcelEvent) -> None:
        self.first = event.parcel


class Inspector:
    """Flags every fragile parcel the first time that anything happens to it."""

    def __init__(self, bus: Bus, depot: Depot) -> None:
        self.flagged: list[str] = []
        self._bus = bus
        self._depot = depot
        bus.subscribe(ParcelEvent, self._look, priority=20, accepts=self._is_news)

    def _is_news(self, event: ParcelEvent) -> bool:
        return event.parcel not in self.flagged

    def _look(self, event: ParcelEvent) -> None:
        if self._depot.parcel(event.parcel).fragile:
            self.flagged.append(event.parcel)
            self._bus.publish(Flagged(event.parcel, "fragile"))


class LaneBoard:
    """Counts the parcels that wait on each lane."""

    def __init__(self, bus: Bus, depot: Depot) -> None:
        self._depot = depot
        self._waiting: Counter[str] = Counter()
        bus.subscribe(ParcelEvent, self._count, priority=30)

    def waiting(self) -> dict[str, int]:
        """How many parcels wait, for every lane on which any do."""
        return {lane: count for lane, count in sorted(self._waiting.items()) if count}

    def _count(self, event: ParcelEvent) -> None:
        lane = self._depot.lane_of(self._depot.parcel(event.parcel).town)
        match event:
            case Received() | Released():
                self._waiting[lane] += 1
            case Held() | Loaded():
                self._waiting[lane] -= 1
            case _:
                pass


class AuditLog:
    """Writes down everything that happens."""

    def __init__(self, bus: Bus) -> None:
        self.lines: list[str] = []
        bus.subscribe(Event, self._write, priority=90)

    def _write(self, event: Event) -> None:
        self.lines.append(event.label())


class Notifier:
    """Tells customers when their parcel is on its way."""

    def __init__(self, bus: Bus) -> None:
        self.messages: list[str] = []
        self._bus = bus
        self._expected: dict[str, Subscription] = {}

    def expect(self, number: str, customer: str) -> None:
        """Write to the customer as soon as the parcel is loaded; the last one who asks is told."""

        def tell(event: ParcelEvent) -> None:
            if isinstance(event, Loaded):
                self.messages.append(f"{customer}: {number} travels with {event.truck}")
                self.forget(number)

        self.forget(number)
        self._expected[number] = self._bus.subscribe(
            ParcelEvent, tell, priority=40, accepts=lambda event: event.parcel == number
        )

    def forget(self, number: str) -> None:
        """Write to nobody about the parcel."""
        subscription = self._expected.pop(number, None)
        if subscription is not None:
            subscription.cancel()


class Station:
    """A depot with everybody who listens."""

    def __init__(self, lanes: Mapping[str, str]) -> None:
        self.bus = Bus()
        self.depot = Depot(self.bus, lanes)
        self.audit = AuditLog(self.bus)
        self.opening = Opening(self.bus)
        self.inspector = Inspector(self.bus, self.depot)
        self.board = LaneBoard(self.bus, self.depot)
        self.notifier = Notifier(self.bus)

    def places(self, place: Place, *numbers: str) -> list[str]:
        """Those of the parcels that are in the place."""
        return [number for number in numbers if self.depot.parcel(number).place is place]
