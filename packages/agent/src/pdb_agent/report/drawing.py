"""Parts of figures: scales, axes, frames, legends. SVG whose colours come from the page's style. Pure."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from pdb_agent.report.markup import Markup, tag

WIDTH = 420.0
"""Of every figure, in its own units: about what a telephone shows, so that letters keep their size."""
COLOURS = 6
"""Arms beyond so many share colours."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Scale:
    """Values to positions."""

    low: float
    high: float
    start: float
    end: float
    is_logarithmic: bool = False

    def __call__(self, value: float) -> float:
        """Where ``value`` lies."""
        low, high, at = self.low, self.high, value
        if self.is_logarithmic:
            low, high, at = math.log10(low), math.log10(high), math.log10(value)
        part = (at - low) / (high - low) if high > low else 0.5
        return self.start + part * (self.end - self.start)


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """A drawing with its words."""

    name: str
    """Of its place in the page, and unique there."""
    title: str
    caption: str
    drawing: Markup


def svg(height: float, description: str, *parts: Markup) -> Markup:
    """A drawing that a screen reader tells by its description."""
    box = f"0 0 {WIDTH:g} {height:g}"
    return tag("svg", *parts, viewbox=box, role="img", aria_label=description)


def text(x: float, y: float, words: str, *, anchor: str = "start", kind: str = "label") -> Markup:
    """Words at a place; ``kind`` is label, value, soft or name."""
    return tag("text", words, x=x, y=y, text_anchor=None if anchor == "start" else anchor, class_=kind)


def line(x1: float, y1: float, x2: float, y2: float, kind: str = "rule") -> Markup:
    """A straight line; ``kind`` is rule, axis, whisker or diagonal."""
    return tag("line", x1=x1, y1=y1, x2=x2, y2=y2, class_=kind)


def box(x: float, y: float, width: float, height: float, kind: str, title: str = "") -> Markup:
    """A filled rectangle with a title that shows under a pointer."""
    size = {"width": max(0.0, width), "height": max(0.0, height)}
    return tag("rect", *_title(title), x=x, y=y, class_=kind, **size)


def dot(x: float, y: float, radius: float, kind: str, title: str = "") -> Markup:
    """A round mark with a title that shows under a pointer."""
    return tag("circle", *_title(title), cx=x, cy=y, r=radius, class_=kind)


def group(*parts: Markup, kind: str) -> Markup:
    """Parts of one kind."""
    return tag("g", *parts, class_=kind)


def arm_kind(index: int) -> str:
    """The class that colours the arm with this number."""
    return f"arm-{index % COLOURS}"


def bottom_axis(scale: Scale, y: float, ticks: Sequence[float], label: str, *, unit: str = "") -> Markup:
    """Ticks below a plot, and what they count."""
    marks = [
        Markup.joined(
            [
                line(scale(tick), y, scale(tick), y + 4, "axis"),
                text(scale(tick), y + 17, f"{tick:g}{unit}", anchor="middle"),
            ]
        )
        for tick in ticks
    ]
    middle = (scale.start + scale.end) / 2
    return Markup.joined(
        [
            line(scale.start, y, scale.end, y, "axis"),
            *marks,
            text(middle, y + 35, label, anchor="middle", kind="soft"),
        ]
    )


def left_axis(scale: Scale, x: float, ticks: Sequence[float], *, unit: str = "", reach: float) -> Markup:
    """Ticks left of a plot with faint lines across it, as far as ``reach``."""
    return Markup.joined(
        Markup.joined(
            [
                line(x, scale(tick), reach, scale(tick), "rule"),
                text(x - 6, scale(tick) + 4, f"{tick:g}{unit}", anchor="end"),
            ]
        )
        for tick in ticks
    )


def legend(entries: Sequence[tuple[str, str]], x: float, y: float) -> Markup:
    """Squares of a kind with their words, in a row."""
    parts: list[Markup] = []
    for kind, words in entries:
        parts += [box(x, y - 9, 10, 10, kind), text(x + 14, y, words)]
        x += 14 + text_width(words) + 16
    return Markup.joined(parts)


def text_width(words: str) -> float:
    """About how wide words are in a figure."""
    return 6.4 * len(words)


def shortened(words: str, width: float) -> str:
    """Words that fit into about ``width``."""
    most = max(4, int(width / 6.4))
    return words if len(words) <= most else f"{words[: most - 1]}…"


def round_ticks(high: float, count: int = 5) -> list[float]:
    """From 0 to at least ``high``, at round distances."""
    rough = max(high, 1.0) / count
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(factor * power for factor in (1, 2, 2.5, 5, 10) if factor * power >= rough)
    return [step * number for number in range(math.ceil(max(high, 1.0) / step - 1e-9) + 1)]


def _title(words: str) -> list[Markup]:
    return [tag("title", words)] if words else []
