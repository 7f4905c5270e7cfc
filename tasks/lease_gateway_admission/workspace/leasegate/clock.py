"""Time, in minutes since the laboratory opened."""

import time
from typing import Protocol


class Clock(Protocol):
    """Anything that knows the time."""

    def now(self) -> int:
        """The minute that it is."""
        ...


class WallClock:
    """Counts from when it was made."""

    def __init__(self) -> None:
        self._opened_at = time.monotonic()

    def now(self) -> int:
        """The minute that it is."""
        return int((time.monotonic() - self._opened_at) // 60)


class ManualClock:
    """Stands still until it is moved on; for planning and for tests."""

    def __init__(self, minute: int = 0) -> None:
        self._minute = minute

    def now(self) -> int:
        """The minute that it is."""
        return self._minute

    def move_on(self, minutes: int) -> None:
        """Let time pass."""
        if minutes < 0:
            raise ValueError("time does not go back")
        self._minute += minutes
