"""Answers kept for next time."""

from __future__ import annotations

import inspect
from collections import OrderedDict
from collections.abc import Callable
from functools import wraps
from typing import Any

Key = tuple[Any, ...]


class Shelf:
    """The answers asked for most recently, at most ``room`` of them."""

    def __init__(self, room: int = 200) -> None:
        self._room = room
        self._answers: OrderedDict[Key, Any] = OrderedDict()
        self.hits = 0

    def get(self, key: Key, make: Callable[[], Any]) -> Any:
        """The answer under ``key``, made first if it is not there."""
        if key in self._answers:
            self.hits += 1
            self._answers.move_to_end(key)
            return self._answers[key]
        answer = make()
        self._answers[key] = answer
        while len(self._answers) > self._room:
            self._answers.popitem(last=False)
        return answer

    def forget(self, part: str, value: Any) -> int:
        """Drop answers about ``value``, or about all values of ``part``; return how many."""
        touched = [key for key in self._answers if (part, value) in key or (part, None) in key]
        for key in touched:
            del self._answers[key]
        return len(touched)


def kept(*parts: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Keep a method's answers on ``self.shelf``, one for each combination of ``parts``.

    ``parts`` name the arguments that tell answers apart; one that a caller
    leaves out counts as None.
    """

    def decorate(method: Callable[..., Any]) -> Callable[..., Any]:
        signature = inspect.signature(method)

        @wraps(method)
        def ask(self: Any, *args: Any, **kwargs: Any) -> Any:
            given = signature.bind(self, *args, **kwargs).arguments
            key = (method.__name__, *((part, given.get(part)) for part in parts))
            return self.shelf.get(key, lambda: method(self, *args, **kwargs))

        return ask

    return decorate
