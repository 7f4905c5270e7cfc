"""Sensors, and the station that reads their values in."""

from __future__ import annotations

from collections import deque

from glasshouse.signals import Signal


class Sensor:
    """One thing that is measured."""

    def __init__(self, name: str, low: float = -1e9, high: float = 1e9) -> None:
        self.name = name
        self.low = low
        self.high = high
        self.changed = Signal(f"{name} changed")
        self.value: float | None = None
        self.past: deque[float] = deque(maxlen=100)

    def set(self, value: float) -> bool:
        """Take a value in and tell it; False when it cannot be or is not new."""
        if not self.low <= value <= self.high or value == self.value:
            return False
        self.value = value
        self.past.append(value)
        self.changed.tell(value)
        return True


class Station:
    """All sensors of a house."""

    def __init__(self) -> None:
        self._sensors: dict[str, Sensor] = {}
        self.refused: list[str] = []

    def add(self, name: str, low: float = -1e9, high: float = 1e9) -> Sensor:
        """Put up a sensor."""
        if name in self._sensors:
            raise ValueError(f"there is a sensor {name!r} already")
        self._sensors[name] = Sensor(name, low, high)
        return self._sensors[name]

    def sensor(self, name: str) -> Sensor:
        """The sensor of that name."""
        return self._sensors[name]

    def read(self, line: str) -> int:
        """Take in a line such as ``air=21.5 soil=40``; return how many values were new."""
        new = 0
        for piece in line.split():
            name, _, text = piece.partition("=")
            try:
                new += self._sensors[name].set(float(text))
            except (KeyError, ValueError):
                self.refused.append(piece)
        return new

    def watched(self) -> dict[str, int]:
        """How many watchers each sensor has."""
        return {name: sensor.changed.watched() for name, sensor in self._sensors.items()}
