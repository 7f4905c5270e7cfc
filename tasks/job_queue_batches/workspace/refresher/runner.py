"""Works off the queue."""

from collections.abc import Callable
from dataclasses import dataclass, field

from refresher.jobqueue import JobQueue
from refresher.jobs import Job


class JobFailed(Exception):
    """A page could not be refreshed this time."""


@dataclass
class Report:
    """What a runner has done: pages with what they show now, and keys that failed for good."""

    shown: list[tuple[str, str]] = field(default_factory=list)
    failed: list[str] = field(default_factory=list)
    retries: int = 0


class Runner:
    """Carries jobs out, one after the other, each up to ``attempts`` times."""

    def __init__(self, queue: JobQueue, refresh: Callable[[str, str], None], attempts: int = 3) -> None:
        self._queue = queue
        self._refresh = refresh
        self._attempts = attempts
        self.report = Report()

    def run_next(self, timeout_seconds: float = 0.0) -> bool:
        """Carry out one job; False when none came in time."""
        job = self._queue.take(timeout_seconds)
        if job is None:
            return False
        try:
            self._refresh(job.key, job.payload)
        except JobFailed:
            self._after_failure(job)
        else:
            self.report.shown.append((job.key, job.payload))
            self._queue.done(job)
        return True

    def run_all(self) -> int:
        """Carry out jobs until none is waiting; how many it were, further tries included."""
        count = 0
        while self.run_next():
            count += 1
        return count

    def _after_failure(self, job: Job) -> None:
        if job.attempt < self._attempts:
            self.report.retries += 1
            self._queue.retry(job)
        else:
            self.report.failed.append(job.key)
            self._queue.done(job)
