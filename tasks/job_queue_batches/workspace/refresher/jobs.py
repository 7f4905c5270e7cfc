"""Jobs, and the batches in which they are handed in."""

import threading
from dataclasses import dataclass


class Batch:
    """Jobs that were handed in together; any thread may wait for them."""

    def __init__(self, name: str, size: int) -> None:
        self.name = name
        self.size = size
        self._open = size
        self._changed = threading.Condition()

    def __repr__(self) -> str:
        return f"Batch({self.name!r}, {self._open} of {self.size} open)"

    def settle(self) -> None:
        """Note that one of the jobs is settled."""
        with self._changed:
            self._open -= 1
            self._changed.notify_all()

    def is_settled(self) -> bool:
        """Whether no job is open."""
        with self._changed:
            return self._open <= 0

    def wait(self, timeout_seconds: float) -> bool:
        """Wait until no job is open; False when the time is over before."""
        with self._changed:
            return self._changed.wait_for(lambda: self._open <= 0, timeout_seconds)


@dataclass
class Job:
    """The wish to show ``payload`` on the page ``key``."""

    key: str
    payload: str
    batch: Batch
    attempt: int = 1
