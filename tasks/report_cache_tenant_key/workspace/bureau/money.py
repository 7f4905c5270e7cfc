"""Amounts of money, written in the way of a country."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Style:
    """Marks that a country writes numbers with."""

    group: str
    decimal: str
    minus: str = "-"


STYLES = {
    "en": Style(",", "."),
    "de": Style(".", ","),
    "ch": Style("'", "."),
    "audit": Style("", ".", minus="less "),
}


def amount(cents: int, locale: str) -> str:
    """``cents`` as text, such as 1,250.00."""
    style = STYLES[locale]
    whole, rest = divmod(abs(cents), 100)
    digits = f"{whole:,}".replace(",", style.group)
    sign = style.minus if cents < 0 else ""
    return f"{sign}{digits}{style.decimal}{rest:02}"


def share(part: int, whole: int) -> str:
    """``part`` of ``whole`` in percent, rounded down."""
    return f"{100 * part // whole}%" if whole else "none"
