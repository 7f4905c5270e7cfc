"""Boxes: what a board is built from."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from concourse.text import Picture, bar, beside, fit, framed, widths

Ask = Callable[["Box", int], Picture]


class Box:
    """Something that can be drawn into a width.

    Every change goes through a ``set`` method and counts in ``stamp``.
    """

    def __init__(self) -> None:
        self.stamp = 0
        self.children: list[Box] = []

    def renew(self) -> None:
        """Lose everything that was set."""
        self.stamp = 0
        self.children = []

    def touch(self) -> None:
        """Count a change."""
        self.stamp += 1

    def version(self) -> tuple[Any, ...]:
        """What changes whenever this box, or a box inside it, changes."""
        return (self.stamp, *(child.version() for child in self.children))

    def walk(self) -> Iterator[Box]:
        """This box and all boxes inside it."""
        yield self
        for child in self.children:
            yield from child.walk()

    def set_children(self, children: list[Box]) -> None:
        """Hold other boxes from now on."""
        if [id(child) for child in children] != [id(child) for child in self.children]:
            self.children = list(children)
            self.touch()

    def draw(self, width: int, ask: Ask) -> Picture:
        """The picture; ``ask`` gives the pictures of the boxes inside."""
        raise NotImplementedError


class Label(Box):
    """One line of text."""

    def __init__(self) -> None:
        super().__init__()
        self.text = ""
        self.align = "left"

    def renew(self) -> None:
        super().renew()
        self.text = ""
        self.align = "left"

    def set(self, text: str, align: str = "left") -> None:
        """Show ``text``."""
        if (text, align) != (self.text, self.align):
            self.text, self.align = text, align
            self.touch()

    def draw(self, width: int, ask: Ask) -> Picture:
        return [fit(self.text, width, self.align)]


class Meter(Box):
    """How full something is."""

    def __init__(self) -> None:
        super().__init__()
        self.value = 0
        self.full = 0

    def renew(self) -> None:
        super().renew()
        self.value = self.full = 0

    def set(self, value: int, full: int) -> None:
        """Show ``value`` parts of ``full``."""
        if (value, full) != (self.value, self.full):
            self.value, self.full = value, full
            self.touch()

    def draw(self, width: int, ask: Ask) -> Picture:
        return [bar(self.value, self.full, width)]


class Rule(Box):
    """A line from side to side."""

    def __init__(self) -> None:
        super().__init__()
        self.mark = "-"

    def renew(self) -> None:
        super().renew()
        self.mark = "-"

    def set(self, mark: str) -> None:
        """Draw the line with another character."""
        if mark != self.mark:
            self.mark = mark
            self.touch()

    def draw(self, width: int, ask: Ask) -> Picture:
        return [self.mark * width]


class Row(Box):
    """Boxes next to each other."""

    def __init__(self) -> None:
        super().__init__()
        self.shares: list[int] = []

    def renew(self) -> None:
        super().renew()
        self.shares = []

    def set(self, children: list[Box], shares: list[int]) -> None:
        """Hold ``children``, as wide as their shares say."""
        if shares != self.shares:
            self.shares = list(shares)
            self.touch()
        self.set_children(children)

    def draw(self, width: int, ask: Ask) -> Picture:
        columns = widths(width, self.shares)
        return beside([ask(*pair) for pair in zip(self.children, columns)], columns)


class Stack(Box):
    """Boxes on top of each other."""

    def draw(self, width: int, ask: Ask) -> Picture:
        return [line for child in self.children for line in ask(child, width)]


class Panel(Box):
    """A frame with a title around boxes on top of each other."""

    def __init__(self) -> None:
        super().__init__()
        self.title = ""

    def renew(self) -> None:
        super().renew()
        self.title = ""

    def set(self, title: str, children: list[Box]) -> None:
        """Hold ``children`` under a title."""
        if title != self.title:
            self.title = title
            self.touch()
        self.set_children(children)

    def draw(self, width: int, ask: Ask) -> Picture:
        inside = [line for child in self.children for line in ask(child, width - 2)]
        return framed(inside, self.title, width)
