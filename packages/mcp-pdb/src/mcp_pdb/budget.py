"""Cutting text to a budget, always saying how to get the rest. Pure: no I/O.

Every size is in characters. A result is never longer than its limit, the
note about what was cut included.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

ELLIPSIS = "…"


@dataclass(frozen=True, slots=True, kw_only=True)
class Budgets:
    """The longest each kind of answer may be."""

    stop: int = 1_500
    locals: int = 2_500
    value: int = 3_000
    sample: int = 350
    """Of a value that does not fit its budget anyway, unless a page of it is asked for."""
    stack: int = 2_500
    trace: int = 4_000
    output: int = 4_000
    hard_cap: int = 8_000
    """No answer of any kind is longer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """One part of an answer: its lines, and the most it may take of the answer's budget."""

    lines: tuple[str, ...]
    limit: int
    more: str = "more lines left out"
    """Said after the number of lines left out."""
    keeps_end: bool = False
    """Cut after the first line instead of at the end: for logs, whose end matters."""


def clip(text: str, limit: int, how_to_get_the_rest: str = "") -> str:
    """``text`` when it fits, else its beginning and a note; never longer than ``limit``."""
    if len(text) <= limit:
        return text
    if limit <= 0:
        return ""
    note = f"{ELLIPSIS} ({len(text):,} characters in all"
    note += f"; {how_to_get_the_rest})" if how_to_get_the_rest else ")"
    if len(note) >= limit:
        return text[: limit - 1] + ELLIPSIS
    return text[: limit - len(note)] + note


def clip_line(text: str, limit: int) -> str:
    """One line cut short with an ellipsis; line breaks inside become spaces."""
    flat = " ".join(text.splitlines()) if "\n" in text or "\r" in text else text
    return flat if len(flat) <= limit else flat[: max(limit - 1, 0)] + ELLIPSIS[: max(limit, 0)]


def fit_lines(lines: Sequence[str], limit: int, more: Callable[[int], str]) -> list[str]:
    """The first lines that fit in ``limit`` together, then ``more(number left out)`` if any were.

    The joined result is never longer than ``limit``.
    """
    if sum(map(len, lines)) + max(len(lines) - 1, 0) <= limit:
        return list(lines)
    note_length = len(more(len(lines)))
    if note_length > limit:
        return []
    kept: list[str] = []
    room = limit - note_length
    for line in lines:
        room -= len(line) + 1
        if room < 0:
            break
        kept.append(line)
    return [*kept, more(len(lines) - len(kept))]


def compose(sections: Sequence[Section], limit: int, closing: str = "") -> str:
    """Sections in order, each within its own limit and what is left; ``closing`` always fits.

    Sections that come first are served first: order them by importance.
    """
    closing = clip_line(closing, limit)
    room = limit - (len(closing) + 1 if closing else 0)
    out: list[str] = []
    for section in sections:
        allowed = min(section.limit, room)
        if not section.lines or allowed <= 0:
            continue
        fitted = _fitted(section, allowed)
        if not fitted:
            continue
        out.extend(fitted)
        room -= sum(map(len, fitted)) + len(fitted)
    if closing:
        out.append(closing)
    return "\n".join(out)


def _fitted(section: Section, limit: int) -> list[str]:
    def more(count: int) -> str:
        return f"{ELLIPSIS} {count} {section.more}"

    if not section.keeps_end:
        return fit_lines(section.lines, limit, more)
    first, *rest = section.lines
    backwards = fit_lines(rest[::-1], limit - len(first) - 1, more)
    return [first, *backwards[::-1]] if len(first) <= limit else []
