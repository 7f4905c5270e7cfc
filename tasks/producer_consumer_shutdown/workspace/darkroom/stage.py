"""One stage of the chain."""

import threading
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from darkroom.crew import Crew
from darkroom.tray import Tray

Bath = Callable[[str], str]
Notice = Callable[[str, str], None]
"""Called with the name of a stage and what happened there."""


class BathSpent(Exception):
    """A bath cannot treat the sheet that it was given; a fresh one can."""


class SheetSpoilt(Exception):
    """No bath can save the sheet."""


@dataclass(frozen=True)
class StagePlan:
    """How a stage works. ``sheets_per_bath`` of 0 keeps a bath until it is spent."""

    name: str
    mix: Callable[[], Bath]
    operators: int = 1
    sheets_per_bath: int = 0

    def worn(self, treated: int) -> bool:
        """Whether a bath that has treated so many sheets is to be renewed."""
        return 0 < self.sheets_per_bath <= treated


class Tally:
    """Counts what happens at a stage; any thread may add."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._counts: Counter[str] = Counter()

    def add(self, what: str) -> None:
        """Count one of ``what``."""
        with self._lock:
            self._counts[what] += 1

    def counts(self) -> dict[str, int]:
        """How often each thing happened, by name."""
        with self._lock:
            return dict(sorted(self._counts.items()))


class Stage:
    """Takes sheets from ``tray``, treats them and lays them into ``outlet``."""

    def __init__(self, plan: StagePlan, tray: Tray, outlet: Tray, notice: Notice) -> None:
        self.plan = plan
        self.spoilt: list[str] = []
        self.tally = Tally()
        self._tray = tray
        self._outlet = outlet
        self._notice = notice
        self._crew = Crew(plan.name)

    def start(self) -> None:
        """Put the operators to work."""
        self._crew.assemble(self.plan.operators, self._operate)

    def wait(self, deadline: float) -> bool:
        """Wait for the operators; False when some are still at work at ``deadline``."""
        return self._crew.wait(deadline)

    def _operate(self, carried: str | None = None) -> None:
        """The work of one operator with one bath, ``carried`` first."""
        try:
            left_over = self._treat_all(self.plan.mix(), carried)
            if left_over is not None:
                self._relieve(left_over)
        finally:
            if self._crew.go_home():
                self._outlet.close()
            self._tell("left")

    def _treat_all(self, bath: Bath, carried: str | None) -> str | None:
        """Treat sheets until the bath is renewed; the sheet at hand then, None at the end of work."""
        treated = 0
        sheet = carried if carried is not None else self._tray.take()
        while sheet is not None:
            if self.plan.worn(treated):
                return sheet
            try:
                self._outlet.lay_in(bath(sheet))
            except BathSpent:
                return sheet
            except SheetSpoilt:
                self._put_aside(sheet)
            treated += 1
            sheet = self._tray.take()
        return None

    def _relieve(self, sheet: str) -> None:
        """Let a fresh operator go on with ``sheet``."""
        self._crew.call_in(partial(self._operate, sheet))
        self._tell("relieved")

    def _put_aside(self, sheet: str) -> None:
        self.spoilt.append(sheet)
        self._tell("spoilt")

    def _tell(self, what: str) -> None:
        self.tally.add(what)
        self._notice(self.plan.name, what)
