"""File names for documents, and the claims of desks on them."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

LONGEST_STEM = 60
MOST_NUMBERS = 1_000
UNSAFE = re.compile(r"[^A-Za-z0-9._ -]+")

Watcher = Callable[[str, str], None]
"""Called with a stage and a name."""


class NoNameLeft(Exception):
    """All the numbers of a name are in use."""


def tidy(name: str) -> str:
    """A file name without folders, odd characters and leading dots."""
    last = name.replace("\\", "/").rsplit("/", 1)[-1]
    safe = UNSAFE.sub("_", last).strip(". ")
    path = Path(safe or "document")
    return path.stem[:LONGEST_STEM] + path.suffix


def numbered(name: str, number: int) -> str:
    """``name`` itself for 0; else with ``number`` before the suffix."""
    if number == 0:
        return name
    path = Path(name)
    return f"{path.stem}-{number}{path.suffix}"


@dataclass(frozen=True)
class Claim:
    """The right of one desk to publish at ``target``, for as long as its marker lies there."""

    target: Path
    marker: Path

    def drop(self) -> None:
        """Give the right up."""
        self.marker.unlink()


class Claims:
    """Gives out names in a folder, each to one desk at a time."""

    def __init__(self, folder: Path, station: str, watcher: Watcher) -> None:
        self._folder = folder
        self._station = station
        self._watcher = watcher

    def obtain(self, name: str) -> Claim:
        """A claim on the first numbered form of ``name`` that is not in use."""
        for number in range(MOST_NUMBERS):
            target = self._folder / numbered(name, number)
            if target.exists():
                continue
            self._watcher("named", target.name)
            claim = self._mark(target)
            if claim is not None:
                return claim
        raise NoNameLeft(f"{name} is in use {MOST_NUMBERS} times")

    def _mark(self, target: Path) -> Claim | None:
        """The claim on ``target``, or None when another desk has its marker there."""
        marker = self._folder / f".{target.name}.claim"
        self._watcher("claiming", target.name)
        try:
            with marker.open("x", encoding="utf-8") as stream:
                stream.write(self._station)
        except FileExistsError:
            return None
        return Claim(target, marker)
