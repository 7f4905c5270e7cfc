"""Finds the names that a misspelt one probably meant."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Iterable

_LONGEST = 40
_MOST = 2000


def nearest(name: str, candidates: Iterable[str], count: int = 1) -> list[str]:
    """Up to ``count`` candidates within about a third of the name's length in edits, best first.

    A private name (``__x``) comes with its mangled form (``_Class__x``).
    """
    if len(name) > _LONGEST:
        return []
    allowed = max(1, (len(name) + 1) // 3)
    scored: list[tuple[int, str]] = []
    for position, candidate in enumerate(candidates):
        if position >= _MOST:
            break
        if name[:2] == "__" and candidate[:1] == "_" and candidate.endswith(name) and candidate != name:
            scored.append((0, candidate))
        elif abs(len(candidate) - len(name)) <= allowed and candidate != name:
            distance = edits(name.lower(), candidate.lower())
            if distance <= allowed:
                scored.append((distance, candidate))
    scored.sort()
    return [candidate for _, candidate in scored[:count]]


def edits(left: str, right: str) -> int:
    """The number of insertions, deletions, replacements and swaps of neighbours between two words."""
    before: list[int] = []
    row = list(range(len(right) + 1))
    for i, a in enumerate(left, 1):
        following = [i]
        for j, b in enumerate(right, 1):
            cost = min(row[j] + 1, following[j - 1] + 1, row[j - 1] + (a != b))
            if i > 1 and j > 1 and a == right[j - 2] and left[i - 2] == b:
                cost = min(cost, before[j - 2] + 1)
            following.append(cost)
        before, row = row, following
    return row[-1]
