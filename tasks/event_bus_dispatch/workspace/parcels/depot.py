"""The depot: parcels on lanes, trucks at the door."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import Enum

from parcels.bus import Bus
from parcels.events import Departed, Held, Loaded, Received, Released


class DepotError(Exception):
    """Something that cannot be done with a parcel as it is."""


class Place(Enum):
    """Where a parcel is."""

    LANE = "lane"
    HELD = "held"
    TRUCK = "truck"
    GONE = "gone"


@dataclass(frozen=True)
class Parcel:
    """A parcel as the depot knows it."""

    number: str
    town: str
    fragile: bool = False
    place: Place = Place.LANE
    truck: str | None = None


class Depot:
    """Moves parcels and tells the bus about it, after the fact."""

    def __init__(self, bus: Bus, lanes: Mapping[str, str]) -> None:
        self._bus = bus
        self._lanes = dict(lanes)
        self._parcels: dict[str, Parcel] = {}

    def parcel(self, number: str) -> Parcel:
        """The parcel as it is now."""
        if number not in self._parcels:
            raise DepotError(f"no parcel {number}")
        return self._parcels[number]

    def lane_of(self, town: str) -> str:
        """The lane for a town; all towns that have none of their own share lane Z."""
        return self._lanes.get(town, "Z")

    def receive(self, number: str, town: str, fragile: bool = False) -> None:
        """Take a parcel in."""
        if number in self._parcels:
            raise DepotError(f"parcel {number} is here already")
        self._parcels[number] = Parcel(number, town, fragile)
        self._bus.publish(Received(number, self.lane_of(town)))

    def hold(self, number: str) -> None:
        """Keep a parcel back."""
        self._move(number, Place.LANE, Place.HELD)
        self._bus.publish(Held(number))

    def release(self, number: str) -> None:
        """Put a parcel that was kept back on its lane again."""
        self._move(number, Place.HELD, Place.LANE)
        self._bus.publish(Released(number))

    def load(self, number: str, truck: str) -> None:
        """Carry a parcel from its lane into a truck."""
        parcel = self._move(number, Place.LANE, Place.TRUCK)
        self._parcels[number] = replace(parcel, truck=truck)
        self._bus.publish(Loaded(number, self.lane_of(parcel.town), truck))

    def depart(self, truck: str) -> None:
        """Send a truck off with all that is in it."""
        numbers = tuple(
            parcel.number
            for parcel in self._parcels.values()
            if parcel.place is Place.TRUCK and parcel.truck == truck
        )
        if not numbers:
            raise DepotError(f"truck {truck} is empty")
        for number in numbers:
            self._move(number, Place.TRUCK, Place.GONE)
        self._bus.publish(Departed(truck, numbers))

    def _move(self, number: str, before: Place, after: Place) -> Parcel:
        parcel = self.parcel(number)
        if parcel.place is not before:
            raise DepotError(f"parcel {number} is not in place {before.value}: {parcel.place.value}")
        self._parcels[number] = replace(parcel, place=after)
        return self._parcels[number]
