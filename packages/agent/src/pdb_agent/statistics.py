"""Numbers over tasks: estimates, intervals and tests. Pure; the standard library's random numbers, seeded.

The unit is the task, never the episode: episodes of one task are alike, and taking
them as independent would make every interval too narrow. Tasks of one template are alike
too: where clusters are given, whole clusters are drawn, and count as the tasks below.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from random import Random

RESAMPLES = 10_000
SEED = 20_260_101
"""The same for every question, so that a number never depends on which were asked before."""
LEAST_TASKS = 10
"""Below it a percentile interval covers too rarely to be printed."""
FEW_TASKS = 20
"""Below it an interval covers somewhat less often than it says, and is marked."""
EXACT_TASKS = 20
"""Up to so many tasks that differ, every assignment of signs is counted: half a million."""
_TAIL = 0.025
_BYTES = 256
_TOLERANCE = 1e-9


@dataclass(frozen=True, slots=True, kw_only=True)
class Interval:
    """A 95% percentile interval over tasks."""

    low: float
    high: float
    tasks: int
    """That were resampled, or clusters of tasks."""

    @property
    def is_of_few(self) -> bool:
        """Whether the tasks are so few that it covers less often than 95%."""
        return self.tasks < FEW_TASKS


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimate:
    """A mean over tasks."""

    value: float
    tasks: int
    interval: Interval | None
    """None under LEAST_TASKS tasks."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tally:
    """Tasks on which the second arm is better, worse and equal."""

    wins: int
    losses: int
    ties: int


def pass_at_k(episodes: int, solved: int, k: int) -> float:
    """Probability that k of the episodes, drawn without replacement, hold a solution.

    1 - C(n-c, k) / C(n, k): the mean over all k-subsets. Raises ValueError for k > n.
    """
    _check(episodes, solved, k)
    return 1.0 - math.comb(episodes - solved, k) / math.comb(episodes, k)


def pass_hat_k(episodes: int, solved: int, k: int) -> float:
    """Probability that k of the episodes, drawn without replacement, are all solutions."""
    _check(episodes, solved, k)
    return math.comb(solved, k) / math.comb(episodes, k)


def mean(values: Sequence[float]) -> float:
    """The arithmetic mean of at least one value."""
    return math.fsum(values) / len(values)


def quantile(values: Sequence[float], share: float) -> float:
    """The value below which ``share`` of the values lie, interpolated between neighbours."""
    ordered = sorted(values)
    position = share * (len(ordered) - 1)
    below = math.floor(position)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (ordered[above] - ordered[below]) * (position - below)


def bootstrap_interval(
    values: Sequence[float], clusters: Sequence[str] | None = None, *, resamples: int = RESAMPLES
) -> Interval | None:
    """Of the mean of one value per task, by resampling tasks, or whole clusters of them.

    None under LEAST_TASKS of what is resampled. ``clusters`` names each task's.
    """
    units = _units(values, clusters)
    if len(units) < LEAST_TASKS:
        return None
    return _bootstrap(tuple(sorted(units)), resamples)


@lru_cache(maxsize=1024)
def _bootstrap(units: tuple[tuple[float, int], ...], resamples: int) -> Interval:
    """A report asks for the same interval in many places: strata that are the whole, rates that coincide."""
    sum_of = [total for total, _ in units]
    size_of = [size for _, size in units]
    are_tasks = max(size_of) == 1
    means = sorted(
        sum(map(sum_of.__getitem__, drawn))
        / (len(units) if are_tasks else sum(map(size_of.__getitem__, drawn)))
        for drawn in _draws(len(units), resamples)
    )
    last = resamples - 1
    return Interval(
        low=means[math.floor(_TAIL * last)], high=means[math.ceil((1.0 - _TAIL) * last)], tasks=len(units)
    )


def _draws(count: int, resamples: int) -> Iterator[Sequence[int]]:
    """Indices below ``count``, ``count`` of them at a time; a random byte is one where it can be."""
    random = Random(SEED)
    if count > _BYTES:
        yield from (random.choices(range(count), k=count) for _ in range(resamples))
        return
    evenly = _BYTES - _BYTES % count
    index_of = bytes(byte % count for byte in range(_BYTES))
    dropped = bytes(range(evenly, _BYTES))  # with these the first tasks would be drawn more often
    needed = count * resamples
    drawn = b""
    while len(drawn) < needed:
        drawn += random.randbytes(needed).translate(index_of, dropped)
    yield from (drawn[begin : begin + count] for begin in range(0, needed, count))


def _units(values: Sequence[float], clusters: Sequence[str] | None) -> list[tuple[float, int]]:
    """Sum and number of the values of each cluster; without clusters each value is one."""
    if clusters is None:
        return [(value, 1) for value in values]
    found: dict[str, tuple[float, int]] = {}
    for value, cluster in zip(values, clusters, strict=True):
        total, size = found.get(cluster, (0.0, 0))
        found[cluster] = (total + value, size + 1)
    return list(found.values())


def estimate(values: Sequence[float], clusters: Sequence[str] | None = None) -> Estimate | None:
    """The mean of one value per task with its interval; None without tasks."""
    if not values:
        return None
    interval = bootstrap_interval(values, clusters)
    return Estimate(value=mean(values), tasks=len(values), interval=interval)


def paired_estimate(
    before: Sequence[float], after: Sequence[float], clusters: Sequence[str] | None = None
) -> Estimate | None:
    """The mean difference over tasks, after minus before; both values of a task are drawn together.

    Raises ValueError when the two are not as long.
    """
    return estimate(differences(before, after), clusters)


def differences(before: Sequence[float], after: Sequence[float]) -> list[float]:
    """After minus before, task by task. Raises ValueError when the two are not as long."""
    return [late - early for early, late in zip(before, after, strict=True)]


def sign_flip_p(
    values: Sequence[float], clusters: Sequence[str] | None = None, *, resamples: int = RESAMPLES
) -> float:
    """Two-sided p of the differences' mean when each task's sign, or cluster's, is as likely plus as minus.

    Exact up to EXACT_TASKS differences that are not zero (zeros change nothing), sampled beyond.
    """
    totals = [total for total, _ in _units(values, clusters)]
    sizes = [abs(total) for total in totals if abs(total) > _TOLERANCE]
    if not sizes:
        return 1.0
    observed = abs(math.fsum(values)) - _TOLERANCE
    if len(sizes) <= EXACT_TASKS:
        return _exact_p(sizes, observed)
    draw = Random(SEED).getrandbits
    total = math.fsum(sizes)
    reached = 0
    for _ in range(resamples):
        signs = draw(len(sizes))
        flipped = sum(size for place, size in enumerate(sizes) if signs >> place & 1)
        reached += abs(total - 2 * flipped) >= observed
    return (reached + 1) / (resamples + 1)


def tally(values: Sequence[float]) -> Tally:
    """How many differences are above, below and at zero."""
    wins = sum(value > _TOLERANCE for value in values)
    losses = sum(value < -_TOLERANCE for value in values)
    return Tally(wins=wins, losses=losses, ties=len(values) - wins - losses)


def _exact_p(sizes: Sequence[float], observed: float) -> float:
    """By all assignments of signs; those of the first task's minus mirror those of its plus."""
    sums = [sizes[0]]
    for size in sizes[1:]:
        sums = [total + size for total in sums] + [total - size for total in sums]
    return sum(abs(total) >= observed for total in sums) / len(sums)


def _check(episodes: int, solved: int, k: int) -> None:
    if not 0 <= solved <= episodes or not 1 <= k <= episodes:
        raise ValueError(f"{solved} of {episodes} episodes, {k} drawn: no such draw")
