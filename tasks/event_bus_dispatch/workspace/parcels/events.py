"""What can happen in the depot."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Event:
    """Anything that happened."""

    def label(self) -> str:
        """A short line for logs."""
        return type(self).__name__.lower()


@dataclass(frozen=True)
class ParcelEvent(Event):
    """Something that happened to one parcel."""

    parcel: str

    def label(self) -> str:
        return f"{super().label()} {self.parcel}"


@dataclass(frozen=True)
class Received(ParcelEvent):
    """The parcel came in and was put on a lane."""

    lane: str


@dataclass(frozen=True)
class Flagged(ParcelEvent):
    """The parcel needs care."""

    reason: str


@dataclass(frozen=True)
class Held(ParcelEvent):
    """The parcel stays until it is released."""


@dataclass(frozen=True)
class Released(ParcelEvent):
    """The parcel may travel again."""


@dataclass(frozen=True)
class Loaded(ParcelEvent):
    """The parcel went from its lane into a truck."""

    lane: str
    truck: str


@dataclass(frozen=True)
class TruckEvent(Event):
    """Something that happened to a truck."""

    truck: str

    def label(self) -> str:
        return f"{super().label()} {self.truck}"


@dataclass(frozen=True)
class Departed(TruckEvent):
    """The truck left with its parcels."""

    parcels: tuple[str, ...]
