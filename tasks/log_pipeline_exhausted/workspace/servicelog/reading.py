"""Records from the lines of a log."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import islice

SEPARATORS = (" | ", "\t", ";")
LOOKED_AT = 5


@dataclass(frozen=True)
class Record:
    """Something that a service had to say."""

    time: str
    level: str
    service: str
    message: str
    times: int = 1


def guess_separator(lines: Iterable[str]) -> str:
    """What stands between the fields of most of the first lines."""
    votes = dict.fromkeys(SEPARATORS, 0)
    for line in islice(lines, LOOKED_AT):
        for separator in SEPARATORS:
            if line.count(separator) >= 3:
                votes[separator] += 1
    return max(votes, key=lambda separator: votes[separator])


def read_records(lines: Iterable[str]) -> Iterator[Record]:
    """The records, in order. Blank lines and those that begin with # are passed over."""
    separator = guess_separator(lines)
    pending: Record | None = None
    for line in lines:
        text = line.rstrip()
        if not text or text.startswith("#"):
            continue
        record = parse(text, separator)
        if record is None:
            if pending is not None:
                pending = replace(pending, message=f"{pending.message}\n{text}")
            continue
        if pending is not None:
            yield pending
        pending = record
    if pending is not None:
        yield pending


def parse(text: str, separator: str) -> Record | None:
    """The record in a line, or None where the line holds none."""
    fields = [field.strip() for field in text.split(separator, 3)]
    if len(fields) < 4 or not fields[0][:1].isdigit():
        return None
    time, level, service, message = fields
    return Record(time, level.lower(), service, message)
