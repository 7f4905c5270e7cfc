"""Nodes: named places in a tree, each with an offset from its parent."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from puppetry.links import Link

Vector = tuple[float, float]


class Node:
    """A place in a puppet or on the stage."""

    def __init__(self, name: str, offset: Vector = (0, 0)) -> None:
        if not name or "/" in name:
            raise ValueError(f"not a node name: {name!r}")
        self.name = name
        self.offset = offset
        self.parent: Node | None = None
        self.children: list[Node] = []
        self.links: list[Link] = []
        self.tags: dict[str, str] = {}

    def attach(self, child: Node) -> Node:
        """Put ``child`` last below this node and return it."""
        if child.parent is not None:
            child.parent.children.remove(child)
        child.parent = self
        self.children.append(child)
        return child

    def detach(self) -> None:
        """Take this node, with all that is below it, out of its tree."""
        if self.parent is not None:
            self.parent.children.remove(self)
            self.parent = None

    def walk(self) -> Iterator[Node]:
        """This node and everything below it, parents first."""
        yield self
        for child in self.children:
            yield from child.walk()

    def child(self, name: str) -> Node:
        """The child called ``name``; KeyError when there is none."""
        for child in self.children:
            if child.name == name:
                return child
        raise KeyError(f"{self.path()} has no child {name!r}")

    def find(self, path: str) -> Node:
        """The node at ``path``, names joined by slashes, below this one."""
        node = self
        for name in path.split("/"):
            node = node.child(name)
        return node

    def path(self) -> str:
        """Names from the top of the tree to this node, joined by slashes."""
        if self.parent is None:
            return self.name
        return f"{self.parent.path()}/{self.name}"

    def move(self, dx: float, dy: float) -> None:
        """Shift this node, and so everything below it."""
        x, y = self.offset
        self.offset = (x + dx, y + dy)

    def position(self) -> Vector:
        """Where this node is, measured from the top of its tree."""
        x, y = self.offset
        if self.parent is None:
            return (x, y)
        base_x, base_y = self.parent.position()
        return (base_x + x, base_y + y)

    def blank(self) -> Node:
        """A loose node with the same name, offset and tags, and nothing around it."""
        twin = Node(self.name, self.offset)
        twin.tags = dict(self.tags)
        return twin
