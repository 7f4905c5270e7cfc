"""Copying a subtree whose nodes refer to each other."""

from __future__ import annotations

from collections import deque

from puppetry.node import Node


class Duplicator:
    """Copies one subtree, once.

    Works through a queue instead of recursing, as puppets are deep and their
    links may run in circles.
    """

    def __init__(self, root: Node) -> None:
        self._root = root
        self._inside = {id(node) for node in root.walk()}
        self._twins: dict[int, Node] = {}
        self._waiting: deque[tuple[Node, Node]] = deque()

    def run(self) -> Node:
        """The copy of the root, with its whole tree below it and no parent."""
        copy = self._twin_of(self._root)
        while self._waiting:
            source, twin = self._waiting.popleft()
            self._twins[id(source)] = twin
            self._copy_parts(source, twin)
        return copy

    def _copy_parts(self, source: Node, twin: Node) -> None:
        for child in source.children:
            twin.attach(self._twin_of(child))
        for link in source.links:
            twin.links.append(link.between(twin, self._twin_of(link.target)))

    def _twin_of(self, source: Node) -> Node:
        """The copy of ``source``, or ``source`` when it lies outside the subtree."""
        if id(source) not in self._inside:
            return source
        if id(source) in self._twins:
            return self._twins[id(source)]
        twin = source.blank()
        self._waiting.append((source, twin))
        return twin


def duplicate(root: Node) -> Node:
    """A copy of ``root`` and everything below it, linked among itself as the original is."""
    return Duplicator(root).run()
