"""The operator's desk: pages of panels and one log."""

from __future__ import annotations

from collections.abc import Iterable

from glasshouse.panels import Alarm, Gauge, Log, Panel, Pump, Trend
from glasshouse.sensors import Station
from glasshouse.units import UNITS


class Desk:
    """Owns every panel that an operator can see."""

    def __init__(self, station: Station) -> None:
        self.station = station
        self.log = Log()
        self._pages: dict[str, dict[str, Panel]] = {}
        self._closed: list[str] = []

    def open(self, page: str, panel: Panel) -> None:
        """Put a panel on a page, in place of one with the same title."""
        for signal in panel.messages():
            signal.connect(self.log.note)
        self._pages.setdefault(page, {})[panel.title] = panel

    def open_gauge(self, page: str, title: str, sensor: str, sign: str = "C", step: float = 0.0) -> None:
        """Put up a gauge for a sensor in the unit with this sign."""
        self.open(page, Gauge(title, self.station.sensor(sensor), UNITS[sign], step))

    def open_alarm(self, page: str, title: str, sensor: str, low: float, high: float) -> None:
        """Put up an alarm for a sensor."""
        self.open(page, Alarm(title, self.station.sensor(sensor), low, high))

    def open_trend(self, page: str, title: str, sensor: str, size: int = 3) -> None:
        """Put up a trend of a sensor."""
        self.open(page, Trend(title, self.station.sensor(sensor), size))

    def open_pump(self, page: str, title: str, sensor: str, dry: float, wet: float) -> None:
        """Put up a pump that goes by a sensor."""
        self.open(page, Pump(title, self.station.sensor(sensor), dry, wet))

    def move(self, title: str, page: str, other: str) -> None:
        """Take a panel from one page to another."""
        panel = self._pages[page].pop(title)
        self._pages.setdefault(other, {})[title] = panel

    def close(self, page: str, title: str) -> None:
        """Take a panel down; KeyError when it is not there."""
        del self._pages[page][title]
        self._closed.append(title)

    def clear(self, page: str) -> None:
        """Take down all panels of a page."""
        self._closed.extend(self._pages.pop(page, {}))

    def titles(self, page: str) -> list[str]:
        """What is on a page, in the order of opening."""
        return list(self._pages.get(page, {}))

    def closed(self) -> list[str]:
        """Titles of the panels that were taken down, the latest last."""
        return list(self._closed)

    def printout(self, pages: Iterable[str] | None = None) -> list[str]:
        """The lines of some pages, or of all, with the log at the end."""
        lines: list[str] = []
        for page in self._pages if pages is None else pages:
            lines.append(f"[{page}]")
            for panel in self._pages.get(page, {}).values():
                lines.extend(panel.lines())
        return [*lines, "[log]", *self.log.lines()]
