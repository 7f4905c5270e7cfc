"""Units of measure, and small machines that a series of values runs through."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass


@dataclass(frozen=True)
class Unit:
    """A unit that a sensor's value is shown in."""

    sign: str
    factor: float = 1.0
    offset: float = 0.0
    digits: int = 1

    def of(self, value: float) -> float:
        """A sensor's value in this unit."""
        return value * self.factor + self.offset

    def text(self, value: float) -> str:
        """A value of this unit with its sign."""
        return f"{value:.{self.digits}f} {self.sign}"


CELSIUS = Unit("C")
FAHRENHEIT = Unit("F", 1.8, 32.0)
PERCENT = Unit("%", digits=0)
KILOLUX = Unit("klx", 0.001, digits=2)
UNITS = {unit.sign: unit for unit in (CELSIUS, FAHRENHEIT, PERCENT, KILOLUX)}


class Average:
    """The mean of the last few values."""

    def __init__(self, size: int) -> None:
        self._last: deque[float] = deque(maxlen=size)

    def push(self, value: float) -> float:
        """Take a value in and give the mean up to here."""
        self._last.append(value)
        return sum(self._last) / len(self._last)


class Step:
    """Tells values that are far from the one before from those that are near."""

    def __init__(self, size: float) -> None:
        self._size = size
        self._last: float | None = None

    def is_far(self, value: float) -> bool:
        """Whether ``value`` is at least a step away from the last that was."""
        if self._last is not None and abs(value - self._last) < self._size:
            return False
        self._last = value
        return True
