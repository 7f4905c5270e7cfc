"""Crews: the operators of a stage."""

import threading
import time
from collections.abc import Callable


class Crew:
    """Operators at work, each in a thread of its own."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._lock = threading.Lock()
        self._threads: list[threading.Thread] = []
        self._present = 0

    def assemble(self, size: int, work: Callable[[], None]) -> None:
        """Put ``size`` operators to work."""
        with self._lock:
            self._present = size
        for _ in range(size):
            self.call_in(work)

    def call_in(self, work: Callable[[], None]) -> None:
        """Put an operator to work."""
        with self._lock:
            number = len(self._threads) + 1
            thread = threading.Thread(target=work, name=f"{self._name}-{number}")
            self._threads.append(thread)
        thread.start()

    def go_home(self) -> bool:
        """Called by an operator whose work has ended; whether it was the last one."""
        with self._lock:
            self._present -= 1
            return self._present == 0

    def size(self) -> int:
        """How many operators there have been up to now."""
        with self._lock:
            return len(self._threads)

    def wait(self, deadline: float) -> bool:
        """Wait for all operators, also for later ones, until ``deadline`` on the monotonic clock."""
        done = 0
        while done < self.size():
            thread = self._threads[done]
            thread.join(max(0.0, deadline - time.monotonic()))
            if thread.is_alive():
                return False
            done += 1
        return True
