"""Which groups of tasks are held out of a corpus, to see how well what was learnt carries over."""

import hashlib
from collections.abc import Mapping


def held_out_groups(sizes: Mapping[str, int], share: float, seed: int) -> frozenset[str]:
    """Groups that together have about ``share`` of all examples, never more; ``sizes`` counts examples.

    Groups are tried in an order that the seed and their names alone decide, so that a group keeps its place
    when others come. Where even the smallest group is too big, the smallest is held out, unless it is the
    only one.
    """
    wanted = share * sum(sizes.values())
    if wanted == 0 or len(sizes) < 2:
        return frozenset()
    ordered = sorted(sizes, key=lambda group: hashlib.sha256(f"{seed}\0{group}".encode()).digest())
    taken: list[str] = []
    count = 0
    for group in ordered:
        if count + sizes[group] <= wanted:
            taken.append(group)
            count += sizes[group]
    return frozenset(taken or [min(ordered, key=lambda group: sizes[group])])
