"""Trays: sheets on their way from one stage to the next."""

import queue


class TrayClosed(Exception):
    """A sheet was fed into a chain that is finishing."""


class _EndOfWork:
    """Lies in a tray behind its last sheet."""


class Tray:
    """First in, first out; any number of threads may lay in and take."""

    def __init__(self) -> None:
        self._queue: queue.Queue[str | _EndOfWork] = queue.Queue()

    def __len__(self) -> int:
        return self._queue.qsize()

    def lay_in(self, sheet: str) -> None:
        """Add a sheet at the end."""
        self._queue.put(sheet)

    def close(self) -> None:
        """Say that nothing comes after what lies here now."""
        self._queue.put(_EndOfWork())

    def take(self) -> str | None:
        """The next sheet, once there is one; None when work has ended, now and ever after."""
        found = self._queue.get()
        if isinstance(found, _EndOfWork):
            self._queue.put(found)
            return None
        return found
