"""Boxes that are lent out, taken back and lent out again."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import TypeVar

from concourse.boxes import Box

Kind = TypeVar("Kind", bound=Box)


class Pool:
    """Owns every box of a board, those in use and those that wait."""

    def __init__(self) -> None:
        self._idle: dict[type[Box], deque[Box]] = {}
        self._lent: dict[int, Box] = {}
        self._followers: list[Callable[[Box], None]] = []
        self.made = 0

    def follow(self, told: Callable[[Box], None]) -> None:
        """Call ``told`` with each box that somebody gives back, just before."""
        self._followers.append(told)

    def take(self, kind: type[Kind]) -> Kind:
        """A box as good as new: the one that has waited longest, or another one."""
        waiting = self._idle.get(kind)
        if waiting:
            box = waiting.popleft()
        else:
            box = kind()
            self.made += 1
        self._lent[id(box)] = box
        return box  # type: ignore[return-value]

    def give_back(self, box: Box) -> None:
        """Take back a box together with all boxes inside it."""
        for told in self._followers:
            told(box)
        for part in list(box.walk()):
            if self._lent.pop(id(part), None) is None:
                raise ValueError("this box was not lent out")
            part.renew()
            self._idle.setdefault(type(part), deque()).append(part)

    def in_use(self) -> int:
        """How many boxes are lent out."""
        return len(self._lent)
