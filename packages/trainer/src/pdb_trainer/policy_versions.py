"""Which weights the next reply is drawn with, and how many replies are being drawn with each."""

from collections import Counter
from collections.abc import Generator
from contextlib import contextmanager

BASE = "base"
"""Name of the weights without an adapter."""


def version_name(number: int) -> str:
    """What the weights after ``number`` updates are called."""
    return f"policy-v{number}"


class PolicyVersions:
    """Shared by who draws replies and who publishes weights; neither asks the other.

    A reply keeps the version that it began with, so one that is no longer current may still be in use.
    """

    def __init__(self, current: str = BASE) -> None:
        self._current = current
        self._in_use: Counter[str] = Counter()

    @property
    def current(self) -> str:
        """Of the next reply."""
        return self._current

    def switch(self, name: str) -> None:
        """Draw the next replies with other weights, which the server already has."""
        self._current = name

    @contextmanager
    def use(self) -> Generator[str]:
        """The current version, in use until the end of the block."""
        name = self._current
        self._in_use[name] += 1
        try:
            yield name
        finally:
            self._in_use[name] -= 1
            self._in_use += Counter[str]()  # drops what is down to zero

    def is_in_use(self, name: str) -> bool:
        """Whether a reply of these weights is still being drawn."""
        return self._in_use[name] > 0
