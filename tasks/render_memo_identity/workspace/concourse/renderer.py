"""Pictures of boxes, drawn when asked for and kept while they are good."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from concourse.boxes import Box
from concourse.pool import Pool
from concourse.text import Picture


@dataclass(frozen=True)
class Kept:
    """A picture and what it was drawn for."""

    version: tuple[Any, ...]
    width: int
    picture: Picture


class Renderer:
    """Draws the boxes of one pool.

    The last picture of each box is kept. It is good as long as the box has the
    version and the width of that time.
    """

    def __init__(self, pool: Pool) -> None:
        self._kept: dict[int, Kept] = {}
        self.painted = 0
        pool.follow(self.forget)

    def picture(self, box: Box, width: int) -> Picture:
        """The lines of ``box``, ``width`` columns wide."""
        version = box.version()
        kept = self._kept.get(id(box))
        if kept is not None and kept.version == version and kept.width == width:
            return kept.picture
        picture = box.draw(width, self.picture)
        self.painted += 1
        self._kept[id(box)] = Kept(version, width, picture)
        return picture

    def forget(self, box: Box) -> None:
        """Drop the pictures of a box and of all boxes inside it."""
        for part in box.walk():
            self._kept.pop(id(part), None)

    def forget_all(self) -> None:
        """Drop every picture, so that the whole board is drawn afresh."""
        self._kept.clear()
