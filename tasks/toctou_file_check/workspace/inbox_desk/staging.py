"""Part files: documents on their way into the folder."""

import os
from dataclasses import dataclass
from itertools import count
from pathlib import Path


@dataclass(frozen=True)
class PartFile:
    """A document that has been written but not published."""

    path: Path
    size_bytes: int

    def publish(self, target: Path) -> None:
        """Move the whole document to ``target`` in one step."""
        os.replace(self.path, target)

    def discard(self) -> None:
        """Forget the document; nothing happens when it has been published."""
        self.path.unlink(missing_ok=True)


class Staging:
    """Writes part files for one station, next to where they are published."""

    def __init__(self, folder: Path, station: str) -> None:
        self._folder = folder
        self._station = station
        self._numbers = count(1)

    def write(self, content: bytes) -> PartFile:
        """A part file with ``content``, under a name of this station's own."""
        path = self._folder / f".{self._station}-{next(self._numbers)}.part"
        with path.open("xb") as stream:
            stream.write(content)
            stream.flush()
            os.fsync(stream.fileno())
        return PartFile(path, len(content))

    def left_over(self) -> list[str]:
        """Names of this station's part files that still lie in the folder."""
        return sorted(path.name for path in self._folder.glob(f".{self._station}-*.part"))
