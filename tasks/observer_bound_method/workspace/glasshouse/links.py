"""Links: the way of a value from a signal to a panel."""

from __future__ import annotations

from collections.abc import Callable
from itertools import cycle
from types import MethodType
from typing import Any

from glasshouse.signals import Signal, Watcher

Call = Callable[[Any], Any]


class Link:
    """Steps that a value takes before it arrives.

    A link is written in one go and ends in ``to``::

        Link(sensor.changed).convert(unit.of).only(Step(0.5).is_far).to(self.show)
    """

    def __init__(self, signal: Signal) -> None:
        self._signal = signal
        self._steps: list[tuple[str, Call]] = []

    def convert(self, change: Call) -> Link:
        """Put what ``change`` makes of a value in its place."""
        self._steps.append(("convert", change))
        return self

    def only(self, wanted: Call) -> Link:
        """Let a value pass if ``wanted`` says so."""
        self._steps.append(("only", wanted))
        return self

    def every(self, count: int) -> Link:
        """Let only one value in ``count`` pass, the first of them."""
        numbers = cycle(range(count))
        return self.only(lambda _: next(numbers) == 0)

    def to(self, method: MethodType) -> Watcher:
        """Hand what arrives to a bound method, as long as its object lives."""
        holder, function = method.__self__, method.__func__
        steps = tuple(self._steps)

        def arrive(owner: Any, value: Any) -> None:
            for kind, call in steps:
                answer = call(value)
                if kind == "convert":
                    value = answer
                elif not answer:
                    return
            function(owner, value)

        return self._signal.attach(holder, arrive)
