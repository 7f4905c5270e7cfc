"""Draws parameters from a seed: the same key gives the same draws, on every machine."""

from collections.abc import Sequence
from random import Random
from typing import TypeVar

_OptionT = TypeVar("_OptionT")


class Draw:
    """A stream of choices that a text determines."""

    def __init__(self, key: str) -> None:
        self._random = Random(key)

    def number(self, low: int, high: int) -> int:
        """A whole number from ``low`` to ``high``, both included."""
        return self._random.randint(low, high)

    def pick(self, options: Sequence[_OptionT]) -> _OptionT:
        """One of the options."""
        return self._random.choice(options)

    def several(self, options: Sequence[_OptionT], count: int) -> list[_OptionT]:
        """``count`` different options, in drawn order."""
        return self._random.sample(options, count)

    def numbers(self, count: int, low: int, high: int, *, near: Sequence[int] = ()) -> list[int]:
        """``count`` whole numbers; about every other one lies next to one of ``near``."""
        return [
            self.pick(near) + self.number(-1, 1) if near and self.number(0, 1) else self.number(low, high)
            for _ in range(count)
        ]
