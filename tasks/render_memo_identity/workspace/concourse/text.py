"""Pieces of text of an exact size."""

from __future__ import annotations

Picture = list[str]


def fit(text: str, width: int, align: str = "left") -> str:
    """``text`` in exactly ``width`` columns; what is too long ends in a dash."""
    if len(text) > width:
        return text[: width - 1] + "-" if width > 1 else text[:width]
    if align == "right":
        return text.rjust(width)
    if align == "middle":
        return text.center(width)
    return text.ljust(width)


def wrap(text: str, width: int) -> list[str]:
    """``text`` split between words into lines of at most ``width`` columns."""
    lines: list[str] = []
    line = ""
    for word in text.split():
        longer = f"{line} {word}" if line else word
        if len(longer) > width and line:
            lines.append(line)
            line = word
        else:
            line = longer
    if line:
        lines.append(line)
    return lines


def bar(value: int, full: int, width: int) -> str:
    """A gauge ``width`` columns wide, filled by ``value`` parts of ``full``."""
    if full < 1:
        return fit("", width)
    filled = width * min(max(value, 0), full) // full
    return "#" * filled + "." * (width - filled)


def widths(total: int, shares: list[int]) -> list[int]:
    """``total`` columns dealt out by share; what is left over goes to the last."""
    if not shares:
        return []
    whole = sum(shares)
    dealt = [total * share // whole for share in shares]
    dealt[-1] += total - sum(dealt)
    return dealt


def beside(pictures: list[Picture], columns: list[int]) -> Picture:
    """Pictures next to each other, the lower ones filled up with blanks."""
    height = max((len(picture) for picture in pictures), default=0)
    lines: Picture = []
    for number in range(height):
        pieces = [
            picture[number] if number < len(picture) else " " * column
            for picture, column in zip(pictures, columns)
        ]
        lines.append("".join(pieces))
    return lines


def framed(picture: Picture, title: str, width: int) -> Picture:
    """``picture`` inside a line of its own, with a title in the upper edge."""
    upper = f"+{fit(f'- {title} ', width - 2).rstrip()}"
    return [
        upper.ljust(width - 1, "-") + "+",
        *(f"|{line}|" for line in picture),
        "+" + "-" * (width - 2) + "+",
    ]


def changed(before: Picture, after: Picture) -> dict[int, str]:
    """The lines of ``after`` that are new or other than before, by number from 0."""
    return {
        number: line
        for number, line in enumerate(after)
        if number >= len(before) or before[number] != line
    }
