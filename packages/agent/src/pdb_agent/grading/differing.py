"""A value like a given one and yet unequal; stand-alone, for twins and inside their test modules.

Runs on Python 3.10 and later, standard library only.
"""

import random
from collections import deque
from collections.abc import Callable
from datetime import date, datetime, timedelta
from decimal import Decimal
from fractions import Fraction
from pathlib import PurePath
from typing import Any, Final

_ATTEMPTS = 8
_LETTERS = "abcdefghijklmnopqrstuvwxyz"
_DAY: Final = timedelta(days=1)


class NeverRaised(Exception):  # noqa: N818 - says what it is for
    """What no program raises."""


class Unlike:
    """Equal to nothing but what claims to equal everything."""

    __hash__ = None  # type: ignore[assignment]


def differing(value: Any, seed: int) -> Any:
    """A value of the same kind that is not equal to ``value``, the same for each ``seed``.

    Handles plain values, containers of them, and the standard library's numbers, dates and paths;
    for anything else an object that is equal to nothing. No method of ``value`` runs unless its type
    is one of those.
    """
    source = random.Random(seed)
    for _ in range(_ATTEMPTS):
        changed = _changed(value, source)
        if isinstance(changed, Unlike) or changed != value:
            return changed
    return Unlike()


def _changed(value: Any, source: random.Random) -> Any:
    change = _CHANGES.get(_type_of(value))
    if change is not None:
        return change(value, source)
    if isinstance(value, PurePath):
        return value / "x"
    return Unlike()


def _type_of(value: object) -> type[Any]:
    return type(value)


def _number(value: Any, source: random.Random) -> Any:
    return value + source.choice((-2, -1, 1, 2))


def _float(value: float, source: random.Random) -> float:
    """Far enough to be out of any usual tolerance."""
    if value != value or value in (float("inf"), float("-inf")):
        return 0.0
    return value + source.choice((-1, 1)) * float(max(1, round(abs(value) / 8)))


def _text(value: str, source: random.Random) -> str:
    places = [place for place, character in enumerate(value) if character.isascii() and character.isalnum()]
    if not places:
        return value + source.choice(_LETTERS)
    place = source.choice(places)
    old = value[place]
    if old.isdigit():
        new = source.choice([digit for digit in "123456789" if digit != old])
    else:
        new = source.choice([letter for letter in _LETTERS if letter != old.lower()])
        new = new.upper() if old.isupper() else new
    return value[:place] + new + value[place + 1 :]


def _bytes(value: bytes, source: random.Random) -> bytes:
    return _text(value.decode("latin-1"), source).encode("latin-1")


def _sequence(value: Any, source: random.Random) -> Any:
    items = list(value)
    if not items:
        return type(value)([0])
    place = source.randrange(len(items))
    items[place] = _changed(items[place], source)
    return type(value)(items)


def _set(value: Any, source: random.Random) -> Any:
    items = sorted(value, key=repr)
    if not items:
        return type(value)([0])
    old = source.choice(items)
    new = _changed(old, source)
    rest = [item for item in items if item is not old]
    return type(value)(rest if isinstance(new, Unlike) else [*rest, new])


def _mapping(value: Any, source: random.Random) -> Any:
    if not value:
        return {0: 0}
    key = source.choice(list(value))
    return {**value, key: _changed(value[key], source)}


def _date(value: Any, source: random.Random) -> Any:
    return value - _DAY if value.year == date.max.year else value + _DAY


_CHANGES: dict[type[Any], Callable[[Any, random.Random], Any]] = {
    type(None): lambda value, source: source.choice((0, False, "")),
    bool: lambda value, source: not value,
    int: _number,
    float: _float,
    complex: _number,
    Decimal: _number,
    Fraction: _number,
    str: _text,
    bytes: _bytes,
    list: _sequence,
    tuple: _sequence,
    deque: _sequence,
    set: _set,
    frozenset: _set,
    dict: _mapping,
    date: _date,
    datetime: _date,
    timedelta: lambda value, source: value + _DAY,
}
