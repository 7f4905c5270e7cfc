"""Panels: what stands on the desk."""

from __future__ import annotations

from glasshouse.links import Link
from glasshouse.sensors import Sensor
from glasshouse.signals import Signal
from glasshouse.units import CELSIUS, Average, Step, Unit


class Panel:
    """Something with a title and a few lines to read."""

    def __init__(self, title: str) -> None:
        self.title = title

    def messages(self) -> list[Signal]:
        """Signals of the panel that tell something for the log."""
        return []

    def lines(self) -> list[str]:
        """What the panel shows now."""
        raise NotImplementedError


class Gauge(Panel):
    """The present value of a sensor, and the highest so far."""

    def __init__(self, title: str, sensor: Sensor, unit: Unit = CELSIUS, step: float = 0.0) -> None:
        super().__init__(title)
        self._unit = unit
        self._now: float | None = None
        self._top: float | None = None
        Link(sensor.changed).convert(unit.of).only(Step(step).is_far).to(self.show)

    def show(self, value: float) -> None:
        """Show a value of the gauge's unit."""
        self._now = value
        self._top = value if self._top is None else max(self._top, value)

    def lines(self) -> list[str]:
        if self._now is None or self._top is None:
            return [f"{self.title}: no value"]
        return [f"{self.title}: {self._unit.text(self._now)} (top {self._unit.text(self._top)})"]


class Alarm(Panel):
    """Raises a message each time that a sensor leaves its range."""

    def __init__(self, title: str, sensor: Sensor, low: float, high: float) -> None:
        super().__init__(title)
        self.low = low
        self.high = high
        self.raised = Signal(f"{title} raised")
        self.count = 0
        self._inside = True
        Link(sensor.changed).only(self._leaves).to(self.sound)

    def _leaves(self, value: float) -> bool:
        was_inside = self._inside
        self._inside = self.low <= value <= self.high
        return was_inside and not self._inside

    def messages(self) -> list[Signal]:
        return [self.raised]

    def sound(self, value: float) -> None:
        """Raise a message about a value."""
        self.count += 1
        self.raised.tell(f"{self.title}: {value:g}")

    def lines(self) -> list[str]:
        state = "quiet" if self._inside else "ALARM"
        return [f"{self.title}: {state}, raised {self.count} times"]


class Trend(Panel):
    """Where a sensor is going, by its running average."""

    def __init__(self, title: str, sensor: Sensor, size: int = 3) -> None:
        super().__init__(title)
        self._marks: list[str] = []
        self._level: float | None = None
        Link(sensor.changed).convert(Average(size).push).convert(self.mark).to(self.draw)

    def mark(self, level: float) -> str:
        """The mark for the way from the level before to ``level``."""
        before, self._level = self._level, level
        if before is None or before == level:
            return "-"
        return "/" if level > before else "\\"

    def draw(self, mark: str) -> None:
        """Put one more mark on the paper."""
        self._marks.append(mark)

    def lines(self) -> list[str]:
        return [f"{self.title}: {''.join(self._marks[-20:])}"]


class Pump(Panel):
    """Lets water in when the soil is dry and stops when it is wet."""

    def __init__(self, title: str, sensor: Sensor, dry: float, wet: float) -> None:
        super().__init__(title)
        self.switched = Signal(f"{title} switched")
        self.running = False
        self._dry = dry
        self._wet = wet
        Link(sensor.changed).convert(self.decide).only(self.is_change).to(self.switch)

    def messages(self) -> list[Signal]:
        return [self.switched]

    def decide(self, value: float) -> bool:
        """Whether the pump runs at ``value``; between dry and wet it stays as it is."""
        if value <= self._dry:
            return True
        return self.running and value < self._wet

    def is_change(self, running: bool) -> bool:
        """Whether the pump does something else now."""
        return running != self.running

    def switch(self, running: bool) -> None:
        """Start or stop."""
        self.running = running
        self.switched.tell(f"{self.title} {'on' if running else 'off'}")

    def lines(self) -> list[str]:
        return [f"{self.title}: {'running' if self.running else 'at rest'}"]


class Compare(Panel):
    """How far apart two sensors are."""

    def __init__(self, title: str, left: Sensor, right: Sensor, unit: Unit = CELSIUS) -> None:
        super().__init__(title)
        self._unit = unit
        self._left: float | None = None
        self._right: float | None = None
        Link(left.changed).convert(unit.of).to(self.take_left)
        Link(right.changed).convert(unit.of).to(self.take_right)

    def take_left(self, value: float) -> None:
        """Take in a value of the first sensor."""
        self._left = value

    def take_right(self, value: float) -> None:
        """Take in a value of the second sensor."""
        self._right = value

    def lines(self) -> list[str]:
        if self._left is None or self._right is None:
            return [f"{self.title}: no value"]
        return [f"{self.title}: {self._unit.text(self._left - self._right)} apart"]


class Log(Panel):
    """Messages, the newest last."""

    def __init__(self, title: str = "log", size: int = 50) -> None:
        super().__init__(title)
        self._size = size
        self._messages: list[str] = []

    def note(self, message: str) -> None:
        """Write a message down."""
        self._messages.append(message)
        del self._messages[: -self._size]

    def lines(self) -> list[str]:
        return list(self._messages)
