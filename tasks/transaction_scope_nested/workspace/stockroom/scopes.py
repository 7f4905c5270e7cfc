"""Nested scopes of work on the shelves."""

from dataclasses import dataclass, replace
from types import TracebackType
from typing import Any

from stockroom.shelves import Shelves


class NotWritable(Exception):
    """A write outside every scope, or within a read-only one."""


@dataclass(frozen=True)
class ScopeOptions:
    """How a scope behaves."""

    read_only: bool = False
    tolerated: tuple[type[Exception], ...] = ()


class Scope:
    """A stretch of work that is kept or taken back as a whole."""

    def __init__(self, scopes: "Scopes", name: str, options: ScopeOptions) -> None:
        self.name = name
        self.options = options
        self.outcome = "new"
        self._scopes = scopes
        self._mark = 0

    def __enter__(self) -> "Scope":
        self._mark = self._scopes.shelves.mark()
        self._scopes.entered(self)
        self.outcome = "open"
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool:
        outermost = self._scopes.left(self)
        if kind is not None:
            undone = self._scopes.shelves.take_back(self._mark)
            self.outcome = f"took back {undone}"
            return issubclass(kind, self.options.tolerated)
        if outermost:
            self._scopes.shelves.forget(self._mark)
        self.outcome = "kept"
        return False


class Scopes:
    """Opens scopes on one set of shelves and lets writes through them."""

    def __init__(self, shelves: Shelves) -> None:
        self.shelves = shelves
        self._open: list[Scope] = []

    def open(self, name: str, **options: Any) -> Scope:
        """A scope to be entered with `with`, inside whichever scope is open now."""
        outer = self._open[-1].options if self._open else ScopeOptions()
        return Scope(self, name, replace(outer, **options))

    def remove(self, sku: str, pieces: int) -> None:
        """Take pieces off the shelf, as part of the innermost scope."""
        if not self._open:
            raise NotWritable("no scope is open")
        if self._open[-1].options.read_only:
            raise NotWritable(f"{self._open[-1].name} is read-only")
        self.shelves.remove(sku, pieces)

    def entered(self, scope: Scope) -> None:
        """Note that the scope is now the innermost."""
        self._open.append(scope)

    def left(self, scope: Scope) -> bool:
        """Note that the scope has ended; answers whether none is open any more."""
        self._open.remove(scope)
        return not self._open
