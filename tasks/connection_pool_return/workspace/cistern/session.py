"""Sessions: the archive as one user sees it."""

from types import TracebackType

from cistern.connection import Connection, Rows
from cistern.pool import Pool


class Session:
    """Reads and adds rows on behalf of ``user``. Used by one thread at a time."""

    def __init__(self, pool: Pool, user: str) -> None:
        self._pool = pool
        self._user = user
        self._connection: Connection | None = None

    def __enter__(self) -> "Session":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def add(self, table: str, *rows: str) -> None:
        """Add rows to a table."""
        connection = self._connected()
        for row in rows:
            connection.add(table, row)

    def stream(self, table: str) -> Rows:
        """The rows of a table, one after the other."""
        return self._connected().stream(table)

    def latest(self, table: str, count: int = 1) -> list[str]:
        """The last ``count`` rows of a table."""
        return list(self.stream(table))[-count:]

    def spread(self, table: str) -> tuple[int, int] | None:
        """The lowest and the highest level in a table; None when it is empty."""
        levels = [int(row) for row in self.stream(table)]
        return (min(levels), max(levels)) if levels else None

    def copy(self, source: str, target: str) -> int:
        """Add the rows of one table to another; how many they were."""
        rows = list(self.stream(source))
        self.add(target, *rows)
        return len(rows)

    def close(self) -> None:
        """Give the connection back, if there is one."""
        if self._connection is not None:
            connection, self._connection = self._connection, None
            self._pool.give_back(connection)

    def _connected(self) -> Connection:
        """The session's connection, borrowed on first use."""
        if self._connection is None:
            self._connection = self._pool.borrow()
            self._connection.user = self._user
        return self._connection
