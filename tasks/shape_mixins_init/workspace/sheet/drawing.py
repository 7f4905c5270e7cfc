"""The sheet that shapes are drawn on."""

from collections.abc import Iterable

from sheet.shapes import Shape


class Sheet:
    """Shapes by name, drawn from the lowest layer to the highest."""

    def __init__(self, shapes: Iterable[Shape] = ()) -> None:
        self._shapes: dict[str, Shape] = {}
        for shape in shapes:
            self.add(shape)

    def add(self, shape: Shape) -> None:
        """Put a shape on the sheet; its name must be new."""
        if shape.name in self._shapes:
            raise ValueError(f"there is a shape {shape.name} already")
        self._shapes[shape.name] = shape

    def replace(self, shape: Shape) -> None:
        """Put the shape in place of the one of its name."""
        if shape.name not in self._shapes:
            raise KeyError(shape.name)
        self._shapes[shape.name] = shape

    def remove(self, *names: str) -> None:
        """Take shapes off the sheet; those that are not on it are passed over."""
        for name in names:
            self._shapes.pop(name, None)

    def named(self, name: str) -> Shape:
        """The shape of that name."""
        return self._shapes[name]

    def drawn(self) -> list[Shape]:
        """All shapes in the order of drawing."""
        return sorted(self._shapes.values(), key=self._layer)

    def names(self) -> list[str]:
        """The names in the order of drawing."""
        return [shape.name for shape in self.drawn()]

    def layers(self) -> dict[int, list[str]]:
        """The names by layer, lowest first."""
        found: dict[int, list[str]] = {}
        for shape in self.drawn():
            found.setdefault(self._layer(shape), []).append(shape.name)
        return found

    def svg(self) -> list[str]:
        """The lines of the drawing."""
        return ["<svg>", *(f"  {shape.svg()}" for shape in self.drawn()), "</svg>"]

    @staticmethod
    def _layer(shape: Shape) -> int:
        return getattr(shape, "layer", 0)
