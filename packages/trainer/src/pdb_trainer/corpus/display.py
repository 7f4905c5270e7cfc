"""How far collecting and building are: a bar on a terminal, a line now and then elsewhere."""

import time
from collections import Counter
from collections.abc import Callable
from typing import Self, TextIO

from pdb_agent.batch import Progress
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
from rich.progress import Progress as Bar

_EVERY_SECONDS = 5.0
"""Between two lines where there is no terminal."""


class Display:
    """Shows the last count it was told."""

    def __init__(self, what: str, stream: TextIO) -> None:
        self._what = what
        self._stream = stream
        self._told_at = time.monotonic()
        self._bar: Bar | None = None
        if stream.isatty():
            self._bar = Bar(
                MofNCompleteColumn(),
                BarColumn(),
                TimeRemainingColumn(),
                TextColumn("{task.description}"),
                console=Console(file=stream),
            )
            self._task = self._bar.add_task(what, total=None)

    def tell(self, done: int, total: int, words: str) -> None:
        """``done`` of ``total``, and how it goes."""
        if self._bar is not None:
            self._bar.update(self._task, completed=done, total=total, description=f"{self._what}: {words}")
        elif done == total or time.monotonic() - self._told_at >= _EVERY_SECONDS:
            self._told_at = time.monotonic()
            self._stream.write(f"{self._what} {done}/{total}: {words}\n")
            self._stream.flush()

    def __enter__(self) -> Self:
        if self._bar is not None:
            self._bar.start()
        return self

    def __exit__(self, *exception: object) -> None:
        if self._bar is not None:
            self._bar.stop()


def telling_of_episodes(display: Display) -> Callable[[Progress], None]:
    """What to tell after every episode of a run."""
    solved = Counter[bool]()

    def tell(now: Progress) -> None:
        if not now.ended.reason.is_infrastructure:
            solved[now.ended.graded is not None and now.ended.graded.solved] += 1
        display.tell(now.done, now.total, f"{solved[True]} of {solved.total()} solved")

    return tell
