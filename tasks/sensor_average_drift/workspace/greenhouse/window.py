"""Mean and variance over the latest samples of a series."""

from collections import deque
from collections.abc import Callable
from typing import Generic, TypeVar

Sample = TypeVar("Sample")


class RollingWindow(Generic[Sample]):
    """The latest samples, limited in number and in age.

    Sums are carried along: a sample is added to them when it comes in and
    taken off them when it leaves.
    """

    def __init__(self, size: int, max_age: float, measure: Callable[[Sample], float]) -> None:
        if size < 1:
            raise ValueError("A window holds one sample at least.")
        self._size = size
        self._max_age = max_age
        self._measure = measure
        self._samples: deque[tuple[float, Sample]] = deque()
        self._sum = 0.0
        self._sum_of_squares = 0.0

    def __len__(self) -> int:
        return len(self._samples)

    def add(self, moment: float, sample: Sample) -> None:
        """Take a sample in; the oldest leaves if there is no room."""
        self.drop_before(moment - self._max_age)
        if len(self._samples) == self._size:
            self._drop_oldest()
        value = self._measure(sample)
        self._sum += value
        self._sum_of_squares += value * value
        self._samples.append((moment, sample))

    def drop_before(self, moment: float) -> int:
        """Let samples from before ``moment`` leave; answers how many did."""
        dropped = 0
        while self._samples and self._samples[0][0] < moment:
            self._drop_oldest()
            dropped += 1
        return dropped

    def mean(self) -> float:
        """The mean of the samples in the window."""
        return self._sum / self._count()

    def variance(self) -> float:
        """The population variance of the samples in the window."""
        count = self._count()
        mean = self._sum / count
        return max(0.0, self._sum_of_squares / count - mean * mean)

    def _drop_oldest(self) -> None:
        _, sample = self._samples.popleft()
        value = self._measure(sample)
        self._sum -= value
        self._sum_of_squares -= value * value

    def _count(self) -> int:
        if not self._samples:
            raise LookupError("The window is empty.")
        return len(self._samples)
