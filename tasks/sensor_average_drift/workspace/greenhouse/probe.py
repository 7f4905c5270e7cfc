"""A temperature probe: counts in, degrees Celsius and their statistics out."""

from dataclasses import dataclass

from greenhouse.window import RollingWindow


@dataclass(frozen=True)
class Calibration:
    """The straight line that turns converter counts into degrees Celsius."""

    gain: float
    offset: float

    def apply(self, raw: int) -> float:
        """The temperature that ``raw`` counts stand for."""
        return self.gain * raw + self.offset


@dataclass(frozen=True)
class Reading:
    """Counts as the converter gave them, with the calibration in force at the time."""

    taken_at: float
    raw: int
    calibration: Calibration

    def row(self) -> tuple[float, int, float, float]:
        """The reading as a row of the station's log."""
        return (self.taken_at, self.raw, self.calibration.gain, self.calibration.offset)


@dataclass(frozen=True)
class Summary:
    """What the vent control looks at."""

    count: int
    mean: float
    variance: float


class Probe:
    """One probe of a greenhouse and the statistics of its latest readings."""

    def __init__(self, calibration: Calibration, size: int = 60, max_age: float = 900.0) -> None:
        self._calibration = calibration
        self._max_age = max_age
        self._window: RollingWindow[Reading] = RollingWindow(size, max_age, self.celsius)
        self.log: list[tuple[float, int, float, float]] = []

    def recalibrate(self, calibration: Calibration) -> None:
        """Put another calibration in force."""
        self._calibration = calibration

    def celsius(self, reading: Reading) -> float:
        """The temperature of a reading of this probe."""
        return self._calibration.apply(reading.raw)

    def record(self, taken_at: float, raw: int) -> float:
        """Take a reading in; answers its temperature."""
        reading = Reading(taken_at, raw, self._calibration)
        self.log.append(reading.row())
        self._window.add(taken_at, reading)
        return self.celsius(reading)

    def summary(self, now: float) -> Summary | None:
        """The statistics as of ``now``; None if no reading is recent enough."""
        self._window.drop_before(now - self._max_age)
        if not len(self._window):
            return None
        return Summary(len(self._window), self._window.mean(), self._window.variance())
