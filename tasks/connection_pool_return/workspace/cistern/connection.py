"""Connections, and the archive at their other end."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial

NOBODY = "nobody"


class ConnectionLost(Exception):
    """The archive has hung up."""


class Archive:
    """Tables of rows, in memory."""

    def __init__(self, tables: Mapping[str, Sequence[str]] | None = None) -> None:
        self.tables = {name: list(rows) for name, rows in (tables or {}).items()}
        self.log: list[str] = []
        self._hung_up: set[int] = set()

    def hang_up(self, number: int) -> None:
        """Listen to a connection no longer."""
        self._hung_up.add(number)

    def listens_to(self, number: int) -> bool:
        """Whether a connection can still be used."""
        return number not in self._hung_up

    def add(self, table: str, row: str, user: str) -> None:
        """Add a row on behalf of ``user``."""
        self.tables.setdefault(table, []).append(row)
        self.log.append(f"{user} added {row}")

    def rows(self, table: str) -> list[str]:
        """The rows of a table as they are now."""
        return list(self.tables.get(table, ()))


class Rows:
    """Rows to be read once; calls ``on_end`` when the last one has been."""

    def __init__(self, rows: Iterator[str], on_end: Callable[[], None]) -> None:
        self._rows = rows
        self._on_end = on_end
        self._is_over = False

    def __iter__(self) -> "Rows":
        return self

    def __next__(self) -> str:
        for row in self._rows:
            return row
        if not self._is_over:
            self._is_over = True
            self._on_end()
        raise StopIteration


class Connection:
    """One line to the archive, which speaks on behalf of one user at a time."""

    def __init__(
        self, number: int, archive: Archive, on_idle: Callable[["Connection"], None]
    ) -> None:
        self.number = number
        self.user = NOBODY
        self.on_idle = on_idle
        self._archive = archive

    def __repr__(self) -> str:
        return f"<connection {self.number} for {self.user}>"

    def is_alive(self) -> bool:
        """Whether the archive still listens."""
        return self._archive.listens_to(self.number)

    def add(self, table: str, row: str) -> None:
        """Add a row."""
        self._require_alive()
        self._archive.add(table, row, self.user)

    def stream(self, table: str) -> Rows:
        """The rows of a table; the connection is idle when the last one has been read."""
        self._require_alive()
        return Rows(iter(self._archive.rows(table)), partial(self.on_idle, self))

    def _require_alive(self) -> None:
        if not self.is_alive():
            raise ConnectionLost(f"connection {self.number}")
