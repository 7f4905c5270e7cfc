"""What shapes are put together from."""

from typing import Any


class Shape:
    """A name, and attributes that are written as they were given."""

    tag = "g"

    def __init__(self, *, name: str, **attributes: Any) -> None:
        self.name = name
        self.attributes = attributes

    def options(self) -> dict[str, Any]:
        """What a shape like this one is made with."""
        return {"name": self.name, **self.attributes}

    def changed(self, **options: Any) -> "Shape":
        """Another shape of this kind, with some options different."""
        return type(self)(**{**self.options(), **options})

    def svg_attributes(self) -> dict[str, Any]:
        """Names and values for the SVG element, in the order of writing."""
        return {"id": self.name, **self.attributes}

    def svg(self) -> str:
        """The shape as one line of SVG."""
        written = " ".join(f'{key}="{value}"' for key, value in self.svg_attributes().items())
        return f"<{self.tag} {written}/>"


class Styled(Shape):
    """A shape with colours."""

    fill = "none"
    stroke = "black"

    def __init__(self, *, fill: str | None = None, stroke: str | None = None, **options: Any) -> None:
        super().__init__(**options)
        self.fill = fill or self.fill
        self.stroke = stroke or self.stroke

    def options(self) -> dict[str, Any]:
        return {**super().options(), "fill": self.fill, "stroke": self.stroke}

    def svg_attributes(self) -> dict[str, Any]:
        return {**super().svg_attributes(), "fill": self.fill, "stroke": self.stroke}


class Placed(Shape):
    """A shape at a point of the sheet."""

    def __init__(self, *, x: float = 0, y: float = 0, **options: Any) -> None:
        Shape.__init__(self, **options)
        self.x = x
        self.y = y

    def options(self) -> dict[str, Any]:
        return {**super().options(), "x": self.x, "y": self.y}

    def svg_attributes(self) -> dict[str, Any]:
        return {**super().svg_attributes(), "x": f"{self.x:g}", "y": f"{self.y:g}"}

    def moved(self, dx: float, dy: float) -> Shape:
        """The same shape further right and down."""
        return self.changed(x=self.x + dx, y=self.y + dy)


class Layered(Shape):
    """A shape above or below others."""

    layer = 0

    def __init__(self, *, layer: int | None = None, **options: Any) -> None:
        super().__init__(**options)
        if layer is not None:
            self.layer = layer

    def options(self) -> dict[str, Any]:
        return {**super().options(), "layer": self.layer}
