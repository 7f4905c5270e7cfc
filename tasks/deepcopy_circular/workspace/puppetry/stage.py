"""The stage: prefabs, the copies stamped from them, and cue sheets."""

from __future__ import annotations

from collections.abc import Iterator

from puppetry.duplicate import duplicate
from puppetry.links import Aim, Link, Tether
from puppetry.node import Node, Vector


class Stage:
    """Everything that the audience sees hangs below ``root``."""

    def __init__(self, name: str = "stage") -> None:
        self.root = Node(name)
        self._prefabs: dict[str, Node] = {}
        self._stamped: dict[str, int] = {}

    def define(self, kind: str, puppet: Node) -> None:
        """Keep ``puppet`` as the prefab ``kind``; it is not on the stage itself."""
        if kind in self._prefabs:
            raise ValueError(f"prefab {kind!r} is already defined")
        self._prefabs[kind] = puppet

    def place(self, node: Node) -> Node:
        """Put a single piece, such as a lamp, on the stage."""
        return self.root.attach(node)

    def stamp(self, kind: str, at: Vector, name: str | None = None) -> Node:
        """Put a copy of a prefab on the stage at ``at``.

        Without a name the copy is called after its kind and counted from 1.
        """
        puppet = duplicate(self._prefabs[kind])
        self._stamped[kind] = self._stamped.get(kind, 0) + 1
        puppet.name = name or f"{kind}-{self._stamped[kind]}"
        puppet.offset = at
        puppet.tags["kind"] = kind
        return self.root.attach(puppet)

    def node(self, path: str) -> Node:
        """The node at ``path`` below the stage."""
        return self.root.find(path)

    def links(self) -> Iterator[Link]:
        """Every link that starts on the stage."""
        for node in self.root.walk():
            yield from node.links

    def cue_sheet(self) -> list[str]:
        """One line for each link on the stage, in the order of the tree."""
        return [link.cue() for link in self.links()]

    def facing(self, path: str) -> str:
        """The side that the node at ``path`` shows; front when it aims nowhere."""
        for link in self.node(path).links:
            if isinstance(link, Aim):
                return link.facing()
        return "front"

    def taut(self) -> list[str]:
        """Paths of the nodes that have a taut tether."""
        tethers = (link for link in self.links() if isinstance(link, Tether))
        return [link.owner.path() for link in tethers if link.is_taut()]

    def count(self) -> int:
        """How many nodes are on the stage, its root not counted."""
        return sum(1 for _ in self.root.walk()) - 1
