"""The kinds of shapes that can be drawn."""

from html import escape
from typing import Any

from sheet.shapes import Layered, Placed, Styled


class Box(Styled, Placed):
    """A rectangle on the ground."""

    tag = "rect"

    def __init__(self, *, width: float = 1, height: float = 1, **options: Any) -> None:
        super().__init__(**options)
        self.width = width
        self.height = height

    def options(self) -> dict[str, Any]:
        return {**super().options(), "width": self.width, "height": self.height}

    def svg_attributes(self) -> dict[str, Any]:
        return {**super().svg_attributes(), "width": f"{self.width:g}", "height": f"{self.height:g}"}


class Panel(Layered, Box):
    """A box that can lie above others."""

    fill = "white"


class Backdrop(Panel):
    """A box behind everything, unless it is told otherwise."""

    layer = -10
    stroke = "none"


class Badge(Placed, Layered):
    """A sign from the sheet's symbols."""

    tag = "use"

    def __init__(self, *, symbol: str, **options: Any) -> None:
        super().__init__(**options)
        self.symbol = symbol

    def options(self) -> dict[str, Any]:
        return {**super().options(), "symbol": self.symbol}

    def svg_attributes(self) -> dict[str, Any]:
        return {**super().svg_attributes(), "href": f"#{self.symbol}"}


class Pin(Styled, Badge):
    """A badge with colours of its own, high up by default."""

    layer = 5
    fill = "red"


class Caption(Placed, Layered):
    """A line of text."""

    tag = "text"

    def __init__(self, *, text: str, size: int = 12, **options: Any) -> None:
        super().__init__(**options)
        self.text = text
        self.size = size

    def options(self) -> dict[str, Any]:
        return {**super().options(), "text": self.text, "size": self.size}

    def svg_attributes(self) -> dict[str, Any]:
        return {**super().svg_attributes(), "font-size": self.size}

    def svg(self) -> str:
        return f"{super().svg().removesuffix('/>')}>{escape(self.text, quote=False)}</{self.tag}>"
