"""What the page that is being read has borrowed."""

from contextvars import ContextVar
from typing import Protocol, TypeVar


class Borrowed(Protocol):
    """Anything that has to be given back."""

    def give_back(self) -> None:
        """Give it back; a second time does nothing."""


Thing = TypeVar("Thing", bound=Borrowed)

_kept: ContextVar[dict[Borrowed, str]] = ContextVar("kept")


def kept() -> dict[Borrowed, str]:
    """What is borrowed in this context, each with its purpose, the oldest first."""
    try:
        return _kept.get()
    except LookupError:
        _kept.set({})
        return _kept.get()


def keep(thing: Thing, purpose: str) -> Thing:
    """Note that ``thing`` was borrowed."""
    kept()[thing] = purpose
    return thing


def let_go(thing: Borrowed) -> None:
    """Give one thing back."""
    kept().pop(thing, None)
    thing.give_back()


def abandon() -> None:
    """Give back everything that is still borrowed."""
    while kept():
        thing, _ = kept().popitem()
        thing.give_back()
