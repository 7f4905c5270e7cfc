"""Which of many successes to keep: alternately the shortest and the longest, working inward."""

from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import Any, TypeVar

T = TypeVar("T")
Order = Callable[[T], Any]


def alternate_ends(items: Iterable[T], cap: int, order: "Order[T]") -> list[T]:
    """At most ``cap`` of the items: the least by ``order``, the greatest, the next least, and so on.

    With ``lo`` and ``hi`` at the ends of the sorted items, each turn takes one from its end and moves it
    inward; both ends are the same item only when it is the last one left. ``order`` has to tell items
    apart, so that the choice does not depend on how they come.
    """
    ordered = sorted(items, key=order)
    lo, hi = 0, len(ordered) - 1
    taken: list[T] = []
    while lo <= hi and len(taken) < cap:
        if len(taken) % 2 == 0:
            taken.append(ordered[lo])
            lo += 1
        else:
            taken.append(ordered[hi])
            hi -= 1
    return taken


def select(items: Sequence[T], key: Callable[[T], Hashable], cap: int, order: "Order[T]") -> list[T]:
    """At most ``cap`` items of each ``key``, chosen by ``alternate_ends``; in the order they came in."""
    by_key: dict[Hashable, list[int]] = defaultdict(list)
    for place, item in enumerate(items):
        by_key[key(item)].append(place)
    kept: set[int] = set()
    for places in by_key.values():
        kept.update(alternate_ends(places, cap, lambda place: order(items[place])))
    return [items[place] for place in sorted(kept)]
