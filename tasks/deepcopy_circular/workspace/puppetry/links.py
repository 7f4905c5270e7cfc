"""Links: relations between two nodes that need not be near each other in the tree."""

from __future__ import annotations

from puppetry.node import Node, Vector


class Link:
    """A relation from ``owner``, which lists it, to ``target``."""

    kind = "link"

    def __init__(self, owner: Node, target: Node) -> None:
        self.owner = owner
        self.target = target

    def between(self, owner: Node, target: Node) -> Link:
        """The same relation for another pair of nodes."""
        return type(self)(owner, target)

    def reach(self) -> Vector:
        """The way from the owner to the target."""
        from_x, from_y = self.owner.position()
        to_x, to_y = self.target.position()
        return (to_x - from_x, to_y - from_y)

    def cue(self) -> str:
        """One line for the cue sheet."""
        dx, dy = self.reach()
        return f"{self.owner.path()} {self.kind} {self.target.name} by {dx:g},{dy:g}"


class Aim(Link):
    """Turns the owner towards the target."""

    kind = "aims at"

    def facing(self) -> str:
        """The side that the owner shows to the audience: left, right or front."""
        dx, _ = self.reach()
        if dx == 0:
            return "front"
        return "right" if dx > 0 else "left"


class Tether(Link):
    """Keeps the target within ``length`` of the owner."""

    kind = "holds"

    def __init__(self, owner: Node, target: Node, length: float = 10) -> None:
        super().__init__(owner, target)
        self.length = length

    def between(self, owner: Node, target: Node) -> Link:
        return Tether(owner, target, self.length)

    def is_taut(self) -> bool:
        """Whether the target is as far away as the tether allows, or farther."""
        dx, dy = self.reach()
        return dx * dx + dy * dy >= self.length * self.length


def aim(owner: Node, target: Node) -> Aim:
    """Add an aim to ``owner``."""
    link = Aim(owner, target)
    owner.links.append(link)
    return link


def tether(owner: Node, target: Node, length: float) -> Tether:
    """Add a tether to ``owner``."""
    link = Tether(owner, target, length)
    owner.links.append(link)
    return link
