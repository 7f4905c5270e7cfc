"""Where the time of a step goes."""

import time


class Stopwatch:
    """Seconds between laps, by name."""

    def __init__(self) -> None:
        self._last = time.monotonic()
        self._laps: dict[str, float] = {}

    def lap(self, name: str) -> None:
        """What came since the last lap was ``name``."""
        now = time.monotonic()
        self._laps[name] = self._laps.get(name, 0.0) + now - self._last
        self._last = now

    def numbers(self) -> dict[str, float]:
        """To be logged."""
        return {f"seconds/{name}": seconds for name, seconds in self._laps.items()}
