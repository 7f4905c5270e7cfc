"""Summaries of logs."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path

from servicelog.reading import Record, read_records
from servicelog.stages import Stage, through


@dataclass
class Summary:
    """What is in a log, in figures."""

    first: str | None = None
    last: str | None = None
    levels: Counter[str] = field(default_factory=Counter)
    services: Counter[str] = field(default_factory=Counter)

    def add(self, record: Record) -> None:
        """Count the record in."""
        self.first = self.first or record.time
        self.last = record.time
        self.levels[record.level] += record.times
        self.services[record.service] += record.times

    def lines(self) -> list[str]:
        """The summary as text."""
        if self.first is None:
            return ["nothing was logged"]
        counts = [f"{count} {level}" for level, count in sorted(self.levels.items())]
        return [f"{self.first} to {self.last}", ", ".join(counts)]


def summarise(lines: Iterable[str], *stages: Stage) -> Summary:
    """What the records in the lines come to after the stages."""
    summary = Summary()
    for record in through(read_records(lines), stages):
        summary.add(record)
    return summary


def summarise_file(path: Path, *stages: Stage) -> Summary:
    """The same, of a file."""
    with path.open(encoding="utf-8") as lines:
        return summarise(lines, *stages)


def head(lines: Iterable[str], count: int, *stages: Stage) -> list[str]:
    """The messages of the first records after the stages."""
    return [record.message for record in islice(through(read_records(lines), stages), count)]
