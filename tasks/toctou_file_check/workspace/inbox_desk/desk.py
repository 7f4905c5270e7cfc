"""A desk that takes in documents."""

from pathlib import Path

from inbox_desk.claims import Claims, Watcher, tidy
from inbox_desk.journal import Journal, Receipt
from inbox_desk.staging import PartFile, Staging


class Refused(Exception):
    """A document that the desk does not take."""


def unwatched(stage: str, name: str) -> None:
    """A watcher that lets everything pass."""


class Desk:
    """Files documents into ``folder``, which it shares with desks of other stations."""

    def __init__(
        self,
        folder: Path,
        station: str,
        watcher: Watcher = unwatched,
        largest_bytes: int = 1_000_000,
    ) -> None:
        self._folder = folder
        self._station = station
        self._watcher = watcher
        self._largest_bytes = largest_bytes
        self._staging = Staging(folder, station)
        self._claims = Claims(folder, station, watcher)
        self.journal = Journal(folder, station)

    def take_in(self, name: str, content: bytes) -> Receipt:
        """Store a document; the receipt says under which name.

        Raises Refused for one that is empty or too large.
        """
        self._check_size(name, content)
        self._watcher("accepted", name)
        part = self._staging.write(content)
        try:
            self._watcher("staged", name)
            receipt = self._file(part, name)
        finally:
            part.discard()
        self.journal.add(receipt)
        self._watcher("filed", receipt.filed_as)
        return receipt

    def read(self, receipt: Receipt) -> bytes:
        """The document that a receipt stands for."""
        return (self._folder / receipt.filed_as).read_bytes()

    def take_out(self, receipt: Receipt) -> bytes:
        """Hand a document out again; its name is free then."""
        content = self.read(receipt)
        (self._folder / receipt.filed_as).unlink()
        return content

    def unfiled(self) -> list[str]:
        """The names of part files and markers that lie in the folder."""
        return sorted(path.name for path in self._folder.glob(".*") if path.is_file())

    def documents(self) -> list[str]:
        """The names of all documents in the folder."""
        return sorted(
            path.name
            for path in self._folder.iterdir()
            if path.is_file() and not path.name.startswith(".")
        )

    def _file(self, part: PartFile, name: str) -> Receipt:
        claim = self._claims.obtain(tidy(name))
        try:
            self._watcher("publishing", claim.target.name)
            part.publish(claim.target)
        finally:
            claim.drop()
        return Receipt(self._station, name, claim.target.name, part.size_bytes)

    def _check_size(self, name: str, content: bytes) -> None:
        if not content:
            raise Refused(f"{name} is empty")
        if len(content) > self._largest_bytes:
            raise Refused(f"{name} is larger than {self._largest_bytes} bytes")
