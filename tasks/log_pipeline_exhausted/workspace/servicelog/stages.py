"""Steps that records go through, one after the other."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace

from servicelog.reading import Record

Stage = Callable[[Iterable[Record]], Iterable[Record]]

LEVELS = ("debug", "info", "warning", "error")


def at_least(level: str) -> Stage:
    """Records of this level or a higher one."""
    wanted = LEVELS[LEVELS.index(level) :]

    def stage(records: Iterable[Record]) -> Iterator[Record]:
        return (record for record in records if record.level in wanted)

    return stage


def of_service(*services: str) -> Stage:
    """Records of these services only."""

    def stage(records: Iterable[Record]) -> Iterator[Record]:
        return (record for record in records if record.service in services)

    return stage


def without_repeats(records: Iterable[Record]) -> Iterator[Record]:
    """One record for several in a row that say the same, with how many there were."""
    pending: Record | None = None
    for record in records:
        if pending is not None and said(pending) == said(record):
            pending = replace(pending, times=pending.times + record.times)
            continue
        if pending is not None:
            yield pending
        pending = record
    if pending is not None:
        yield pending


def said(record: Record) -> tuple[str, str, str]:
    """What makes two records say the same."""
    return record.level, record.service, record.message


def through(records: Iterable[Record], stages: Iterable[Stage]) -> Iterable[Record]:
    """The records after all stages."""
    for stage in stages:
        records = stage(records)
    return records
