"""The queue of jobs."""

import threading
from collections.abc import Iterable

from refresher.jobs import Batch, Job


class JobQueue:
    """First in, first out, with one waiting job for each page. Any thread may call."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._waiting: dict[str, Job] = {}
        self._at_work = 0

    def put(self, key: str, payload: str) -> Batch:
        """Hand in a single job, as a batch of its own."""
        return self.put_batch(key, [(key, payload)])

    def put_batch(self, name: str, pages: Iterable[tuple[str, str]]) -> Batch:
        """Hand in a job for each pair of key and payload."""
        pairs = list(pages)
        batch = Batch(name, len(pairs))
        with self._changed:
            for key, payload in pairs:
                self._admit(Job(key, payload, batch))
            self._changed.notify_all()
        return batch

    def take(self, timeout_seconds: float = 0.0) -> Job | None:
        """The job that has waited longest, or None when there is none in time.

        Whoever takes a job gives it to ``done`` or ``retry`` afterwards.
        """
        with self._changed:
            if not self._changed.wait_for(lambda: bool(self._waiting), timeout_seconds):
                return None
            key = next(iter(self._waiting))
            self._at_work += 1
            return self._waiting.pop(key)

    def done(self, job: Job) -> None:
        """Note that a job which was taken needs no more work."""
        with self._changed:
            self._at_work -= 1
            job.batch.settle()
            self._changed.notify_all()

    def retry(self, job: Job) -> None:
        """Let a job which was taken wait again, at the end, unless a newer one is there."""
        with self._changed:
            self._at_work -= 1
            if job.key in self._waiting:
                job.batch.settle()
            else:
                job.attempt += 1
                self._waiting[job.key] = job
            self._changed.notify_all()

    def withdraw(self, key: str) -> bool:
        """Drop the waiting job of a page that is no more, as settled; False when none waits."""
        with self._changed:
            job = self._waiting.pop(key, None)
            if job is None:
                return False
            job.batch.settle()
            self._changed.notify_all()
            return True

    def waiting_keys(self) -> list[str]:
        """The pages whose jobs are waiting, the next one first."""
        with self._changed:
            return list(self._waiting)

    def unfinished(self) -> int:
        """How many jobs are waiting or at work."""
        with self._changed:
            return len(self._waiting) + self._at_work

    def join(self, timeout_seconds: float) -> bool:
        """Wait until nothing is waiting or at work; False when the time is over before."""
        with self._changed:
            return self._changed.wait_for(
                lambda: not self._waiting and self._at_work == 0, timeout_seconds
            )

    def _admit(self, job: Job) -> None:
        """Add a job, or let it supersede the one that waits for its page."""
        waiting = self._waiting.get(job.key)
        if waiting is None:
            self._waiting[job.key] = job
            return
        waiting.payload = job.payload
        waiting.attempt = job.attempt
        waiting.batch.settle()
