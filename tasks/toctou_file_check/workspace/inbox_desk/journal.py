"""The journal of receipts."""

import json
from dataclasses import asdict, dataclass
from pathlib import Path


@dataclass(frozen=True)
class Receipt:
    """What a person gets for a document."""

    station: str
    handed_over_as: str
    filed_as: str
    size_bytes: int


class Journal:
    """The receipts of one station, one line of JSON each."""

    def __init__(self, folder: Path, station: str) -> None:
        self._folder = folder / ".journal"
        self._folder.mkdir(exist_ok=True)
        self._path = self._folder / f"{station}.jsonl"

    def add(self, receipt: Receipt) -> None:
        """Append a receipt."""
        with self._path.open("a", encoding="utf-8") as stream:
            stream.write(json.dumps(asdict(receipt)) + "\n")

    def own(self) -> list[Receipt]:
        """This station's receipts, oldest first."""
        return read_receipts(self._path)

    def all(self) -> list[Receipt]:
        """The receipts of all stations, by station and age."""
        paths = sorted(self._folder.glob("*.jsonl"))
        return [receipt for path in paths for receipt in read_receipts(path)]


def read_receipts(path: Path) -> list[Receipt]:
    """The receipts in one journal file; none where there is no file."""
    if not path.exists():
        return []
    lines = path.read_text(encoding="utf-8").splitlines()
    return [Receipt(**json.loads(line)) for line in lines]
