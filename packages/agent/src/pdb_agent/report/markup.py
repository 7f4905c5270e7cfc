"""HTML and SVG as text that is escaped once, where it is made. Pure."""

from collections.abc import Iterable
from html import escape
from typing import Self

_VOID = frozenset({"br", "col", "hr", "meta"})
_STRAIGHT = frozenset({"line", "rect", "circle", "path", "polyline"})
Attribute = str | float | bool | None


class Markup(str):
    """Text that is markup already."""

    __slots__ = ()

    @classmethod
    def joined(cls, parts: Iterable["Markup"]) -> Self:
        """One after another."""
        return cls("".join(parts))


def tag(name: str, *children: str, **attributes: Attribute) -> Markup:
    """An element. Children that are no Markup are escaped; ``class_`` is class, ``_`` is a hyphen.

    An attribute that is None or False is left out, one that is True has no value.
    """
    given = "".join(_attribute(key, value) for key, value in attributes.items())
    if name in _VOID:
        return Markup(f"<{name}{given}>")
    if name in _STRAIGHT and not children:
        return Markup(f"<{name}{given}/>")
    inside = "".join(child if isinstance(child, Markup) else escape(child, quote=False) for child in children)
    return Markup(f"<{name}{given}>{inside}</{name}>")


def _attribute(key: str, value: Attribute) -> str:
    if value is None or value is False:
        return ""
    name = key.rstrip("_").replace("_", "-")
    if name == "viewbox":
        name = "viewBox"
    if value is True:
        return f" {name}"
    text = f"{value:.2f}".rstrip("0").rstrip(".") if isinstance(value, float) else str(value)
    return f' {name}="{escape(text)}"'
