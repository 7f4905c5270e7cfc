"""The chain of stages."""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from darkroom.stage import Bath, Notice, Stage, StagePlan
from darkroom.tray import Tray, TrayClosed


class PipelineStalled(Exception):
    """Operators did not come to an end in time."""


@dataclass(frozen=True)
class Outcome:
    """What became of the sheets: prints in the order in which they came out, and spoilt ones."""

    prints: list[str]
    spoilt: list[str]
    tallies: dict[str, dict[str, int]]
    """What was noticed how often, by stage."""


def unnoticed(stage: str, what: str) -> None:
    """A notice function for those who do not want to know."""


def read_plans(text: str, mixes: Mapping[str, Callable[[], Bath]]) -> list[StagePlan]:
    """Stage plans as they stand on the door: ``develop x2 /40, rinse``.

    ``x2`` puts two operators to work, ``/40`` renews a bath after forty sheets. ``mixes`` says
    how the baths of each stage are mixed. Raises ValueError for what it cannot read.
    """
    plans: list[StagePlan] = []
    for part in text.split(","):
        name, *details = part.split() or [""]
        if name not in mixes:
            raise ValueError(f"nobody knows how to mix a bath for {name!r}")
        plan = StagePlan(name, mixes[name])
        for detail in details:
            kind, number = detail[0], int(detail[1:])
            if kind == "x":
                plan = replace(plan, operators=number)
            elif kind == "/":
                plan = replace(plan, sheets_per_bath=number)
            else:
                raise ValueError(f"{detail!r} is neither x for operators nor / for sheets")
        plans.append(plan)
    return plans


class Pipeline:
    """A chain of stages. It works once: start, feed, finish."""

    def __init__(self, plans: Sequence[StagePlan], notice: Notice = unnoticed) -> None:
        if not plans:
            raise ValueError("a chain needs a stage")
        self._trays = [Tray() for _ in range(len(plans) + 1)]
        self._stages = [
            Stage(plan, self._trays[place], self._trays[place + 1], notice)
            for place, plan in enumerate(plans)
        ]
        self._is_open = False

    def start(self) -> None:
        """Put all operators to work."""
        self._is_open = True
        for stage in self._stages:
            stage.start()

    def feed(self, sheet: str) -> None:
        """Lay a sheet into the first tray; raises TrayClosed before start and after finish."""
        if not self._is_open:
            raise TrayClosed(f"{sheet} came while the chain was not open")
        self._trays[0].lay_in(sheet)

    def finish(self, patience_seconds: float = 10.0) -> Outcome:
        """Work off everything; raises PipelineStalled when that takes too long."""
        self._is_open = False
        self._trays[0].close()
        deadline = time.monotonic() + patience_seconds
        for stage in self._stages:
            if not stage.wait(deadline):
                raise PipelineStalled(f"{stage.plan.name} is still at work")
        return Outcome(
            prints=self._collect(),
            spoilt=[sheet for stage in self._stages for sheet in stage.spoilt],
            tallies={stage.plan.name: stage.tally.counts() for stage in self._stages},
        )

    def _collect(self) -> list[str]:
        prints: list[str] = []
        while (sheet := self._trays[-1].take()) is not None:
            prints.append(sheet)
        return prints
