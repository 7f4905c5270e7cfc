"""A fair, re-entrant gate."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from tillbook.line import Tenure, WaitLine


class GateTimeout(Exception):
    """The gate did not open in time."""


class Gate:
    """Lets one thread in at a time, and the same thread as often as it likes.

    ``on_wait`` is called each time a thread has taken its place in the line.
    """

    def __init__(self, on_wait: Callable[[], None] = lambda: None) -> None:
        self._changed = threading.Condition()
        self._line = WaitLine()
        self._tenure: Tenure | None = None
        self._on_wait = on_wait

    def waiting(self) -> list[str]:
        """The names of the threads in the line, the next one first."""
        with self._changed:
            return self._line.names()

    def enter(self, patience_seconds: float) -> None:
        """Come in, or raise GateTimeout after ``patience_seconds``."""
        caller = threading.get_ident()
        with self._changed:
            if self._tenure is None:
                self._tenure = Tenure(caller)
            elif self._tenure.belongs_to(caller):
                self._tenure.depth += 1
            else:
                self._wait_in_line(patience_seconds)

    def leave(self) -> None:
        """Go out once; after the last time the next thread in the line comes in."""
        with self._changed:
            if self._tenure is None:
                raise RuntimeError("nobody is inside")
            self._tenure.depth -= 1
            if self._tenure.depth == 0:
                ticket = self._line.next()
                self._tenure = ticket.call_in() if ticket else None
                self._changed.notify_all()

    @contextmanager
    def inside(self, patience_seconds: float) -> Iterator[None]:
        """Be inside for the length of a block."""
        self.enter(patience_seconds)
        try:
            yield
        finally:
            self.leave()

    def _wait_in_line(self, patience_seconds: float) -> None:
        ticket = self._line.join()
        self._on_wait()
        if not self._changed.wait_for(lambda: ticket.tenure is not None, patience_seconds):
            self._line.abandon(ticket)
            raise GateTimeout(f"not let in within {patience_seconds} s")
