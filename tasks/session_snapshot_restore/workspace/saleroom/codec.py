"""Values as JSON text and back, with the kinds that JSON does not know.

Numbers, texts, booleans and None stay as they are. Everything in ``SHAPES``
is written with the name of its shape, so that it comes back as what it was. A
mapping of any kind comes back as a dict with the same keys.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date
from typing import Any


@dataclass(frozen=True)
class Shape:
    """How a kind of value is taken to parts and put together."""

    name: str
    split: Callable[[Any], list[Any]]
    join: Callable[[list[Any]], Any]


SHAPES: dict[type, Shape] = {
    list: Shape("list", list, list),
    tuple: Shape("tuple", list, tuple),
    set: Shape("set", sorted, set),
    dict: Shape("map", lambda value: [list(pair) for pair in value.items()], dict),
    date: Shape("date", lambda value: [value.isoformat()], lambda parts: date.fromisoformat(parts[0])),
}
BY_NAME = {shape.name: shape for shape in SHAPES.values()}


def pack(value: Any) -> Any:
    """``value`` as something that JSON can hold."""
    shape = SHAPES.get(type(value))
    if shape is None:
        return value
    return {"shape": shape.name, "parts": [pack(part) for part in shape.split(value)]}


def unpack(packed: Any) -> Any:
    """The value that ``pack`` was given."""
    if isinstance(packed, dict) and "shape" in packed:
        parts = [unpack(part) for part in packed["parts"]]
        return BY_NAME[packed["shape"]].join(parts)
    return packed


def to_text(value: Any) -> str:
    """``value`` as one line of text."""
    return json.dumps(pack(value), sort_keys=True)


def from_text(text: str) -> Any:
    """The value that ``to_text`` was given; ValueError when the text is not from there."""
    return unpack(json.loads(text))
