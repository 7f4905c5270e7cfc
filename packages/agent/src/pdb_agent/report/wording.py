"""Numbers as people read them. Pure."""

from collections.abc import Sequence
from decimal import Decimal

from pdb_agent.shares import Share, Spread
from pdb_agent.statistics import Estimate, Interval

NOTHING = "–"
"""What stands where a number is not defined."""
_MINUS = "\N{MINUS SIGN}"
_THOUSAND = 1000
_SMALL_P = 0.001


def percent(value: float | None, digits: int = 1) -> str:
    """``55.8%``."""
    return NOTHING if value is None else f"{100 * value:.{digits}f}%"


def interval(found: Interval | None) -> str:
    """The bounds in percent; marked when they are of few tasks."""
    if found is None:
        return ""
    mark = "*" if found.is_of_few else ""
    return f"{100 * found.low:.0f}–{100 * found.high:.0f}{mark}"


def estimate(found: Estimate | None) -> str:
    """``55.8%`` and its interval."""
    if found is None:
        return NOTHING
    shown = interval(found.interval)
    return percent(found.value) + (f" ({shown})" if shown else "")


def tasks_of(found: Estimate | None) -> str:
    """``29/30``: an estimate that is a share of tasks."""
    return NOTHING if found is None else f"{round(found.value * found.tasks)}/{found.tasks}"


def share(found: Share) -> str:
    """``98.4% (62/63)``."""
    return NOTHING if found.value is None else f"{percent(found.value)} ({found.count}/{found.total})"


def spread(found: Spread | None, digits: int = 1) -> str:
    """The median and the quartiles."""
    if found is None:
        return NOTHING
    low, high = plain(found.first_quartile, digits), plain(found.third_quartile, digits)
    return f"{plain(found.median, digits)} ({low}–{high})"


def plain(value: float | None, digits: int = 1) -> str:
    """``30.5``, ``30``; thousands are told apart."""
    if value is None:
        return NOTHING
    text = f"{value:,.{digits}f}"
    return (text.rstrip("0").rstrip(".") if "." in text else text).replace("-", _MINUS)


def signed(value: float, digits: int = 1) -> str:
    """With its sign, also a plus."""
    return f"{value:+,.{digits}f}".replace("-", _MINUS)


def points(change: Estimate) -> str:
    """A difference of shares with its interval."""
    text = f"{signed(100 * change.value)} points"
    if change.interval is None:
        return text
    low, high = signed(100 * change.interval.low), signed(100 * change.interval.high)
    return f"{text} ({low} to {high})"


def change_of(change: Estimate, digits: int = 1) -> str:
    """A difference with its interval."""
    text = signed(change.value, digits)
    if change.interval is None:
        return text
    low, high = signed(change.interval.low, digits), signed(change.interval.high, digits)
    return f"{text} ({low} to {high})"


def tokens(value: float | None) -> str:
    """``182 k``."""
    if value is None:
        return NOTHING
    return f"{value / _THOUSAND:,.0f} k" if value >= 10 * _THOUSAND else f"{value:,.0f}"


def dollars(value: Decimal | None) -> str:
    """``$0.031``; nothing when the price is unknown, which is not the same as free."""
    if value is None:
        return NOTHING
    return f"${value:.2f}" if value >= 1 or value == 0 else f"${value:.3f}"


def p_value(value: float) -> str:
    """``p = 0.013``."""
    return f"p < {_SMALL_P}" if value < _SMALL_P else f"p = {value:.3f}"


def words_of(name: str) -> str:
    """``hidden fail`` for ``hidden_fail``."""
    return name.replace("_", " ")


def listed(names: Sequence[str]) -> str:
    """``a, b and c``."""
    if len(names) < 2:
        return "".join(names)
    return f"{', '.join(names[:-1])} and {names[-1]}"
