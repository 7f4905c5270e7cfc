"""Signals: somebody tells, others watch, and neither owns the other."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from dataclasses import dataclass
from types import MethodType
from typing import Any


@dataclass(frozen=True, eq=False)
class Watcher:
    """A function and the object that it is called for, which may be gone."""

    owner: weakref.ref[Any]
    function: Callable[..., None]


class Signal:
    """Tells values to its watchers in the order in which they came."""

    def __init__(self, name: str) -> None:
        self.name = name
        self._watchers: list[Watcher] = []

    def attach(self, owner: Any, function: Callable[..., None]) -> Watcher:
        """Call ``function(owner, value)`` with each value as long as ``owner`` lives."""
        watcher = Watcher(weakref.ref(owner), function)
        self._watchers.append(watcher)
        return watcher

    def connect(self, method: MethodType) -> Watcher:
        """Call a bound method with each value as long as its object lives."""
        return self.attach(method.__self__, method.__func__)

    def cut(self, watcher: Watcher) -> None:
        """Call a watcher no more; nothing happens if it is off already."""
        if watcher in self._watchers:
            self._watchers.remove(watcher)

    def tell(self, value: Any) -> int:
        """Hand ``value`` to every watcher and return how many there were."""
        told = 0
        for watcher in list(self._watchers):
            owner = watcher.owner()
            if owner is None:
                self._watchers.remove(watcher)
            else:
                watcher.function(owner, value)
                told += 1
        return told

    def watched(self) -> int:
        """How many watchers are alive."""
        return sum(1 for watcher in self._watchers if watcher.owner() is not None)
