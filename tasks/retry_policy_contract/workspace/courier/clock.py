"""Time, as the courier sees it."""

import time
from typing import Protocol


class Clock(Protocol):
    """Tells the time in seconds and lets it pass."""

    def now(self) -> float:
        """The time."""
        ...

    def wait(self, seconds: float) -> None:
        """Let time pass."""
        ...


class SystemClock:
    """The time of the machine."""

    def now(self) -> float:
        """The time since some moment in the past."""
        return time.monotonic()

    def wait(self, seconds: float) -> None:
        """Sleep."""
        time.sleep(seconds)


class ManualClock:
    """A time that stands still but for waits, which it keeps a list of."""

    def __init__(self) -> None:
        self._now = 0.0
        self.waits: list[float] = []

    def now(self) -> float:
        """The sum of all waits."""
        return self._now

    def wait(self, seconds: float) -> None:
        """Move on at once."""
        self._now += seconds
        self.waits.append(seconds)
