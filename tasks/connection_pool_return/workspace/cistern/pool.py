"""The connections that sessions share."""

from collections import deque

from cistern.connection import NOBODY, Archive, Connection


class PoolExhausted(Exception):
    """All connections are borrowed."""


class Pool:
    """Up to ``size`` connections, made when needed; the one given back last is lent first."""

    def __init__(self, archive: Archive, size: int = 4) -> None:
        self._archive = archive
        self._size = size
        self._idle: deque[Connection] = deque()
        self._numbers: set[int] = set()
        self._last_number = 0

    def borrow(self) -> Connection:
        """A connection for the caller alone; raises PoolExhausted when there is none."""
        while self._idle:
            connection = self._idle.pop()
            if connection.is_alive():
                return connection
            self._numbers.discard(connection.number)
        if len(self._numbers) >= self._size:
            raise PoolExhausted(f"all {self._size} connections are borrowed")
        return self._make()

    def give_back(self, connection: Connection) -> None:
        """Take a connection back, on nobody's behalf."""
        connection.user = NOBODY
        if connection.is_alive():
            self._idle.append(connection)
        else:
            self._numbers.discard(connection.number)

    def idle_numbers(self) -> list[int]:
        """The connections that can be borrowed at once, the next one first."""
        return [connection.number for connection in reversed(self._idle)]

    def numbers(self) -> list[int]:
        """The connections that there are."""
        return sorted(self._numbers)

    def borrowed_count(self) -> int:
        """How many connections are not here now."""
        return len(self._numbers) - len(self._idle)

    def trim(self, keep: int) -> list[int]:
        """Do away with idle connections until only ``keep`` are idle, the longest idle first."""
        dropped: list[int] = []
        while len(self._idle) > keep:
            connection = self._idle.popleft()
            self._numbers.discard(connection.number)
            dropped.append(connection.number)
        return dropped

    def _make(self) -> Connection:
        self._last_number += 1
        self._numbers.add(self._last_number)
        return Connection(self._last_number, self._archive, on_idle=self.give_back)
