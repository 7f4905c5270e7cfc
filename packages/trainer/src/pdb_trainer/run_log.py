"""What a run says of itself: metrics.jsonl, which is the record; TensorBoard, made from it; a line or bar."""

import json
import math
import os
import shutil
import time
from collections import deque
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Self, TextIO

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn
from rich.progress import Progress as Bar
from torch.utils.tensorboard.writer import SummaryWriter

from pdb_trainer.whole_files import write_whole

METRICS = "metrics.jsonl"
TENSORBOARD = "tensorboard"
_REMEMBERED = 20
"""Steps whose duration says how long the rest will take."""
_MINUTE, _HOUR = 60.0, 3600.0


class RunLog:
    """One line per step, and one only: what a run that is continued says again, it had not said.

    Opening it drops the records of steps after ``done``, which a killed run wrote and which come again.
    Raises OSError.
    """

    def __init__(
        self, folder: Path, *, done: int, total: int, shown: tuple[str, ...], stream: TextIO
    ) -> None:
        self._total = total
        self._shown = shown
        self._stream = stream
        self._durations: deque[float] = deque(maxlen=_REMEMBERED)
        self._began = time.monotonic()
        kept = _keep(folder / METRICS, done)
        shutil.rmtree(folder / TENSORBOARD, ignore_errors=True)
        self._file = (folder / METRICS).open("ab", buffering=0)
        self._board = SummaryWriter(str(folder / TENSORBOARD))
        for record in kept:
            self._draw(record)
        self._bar, self._bar_task = None, None
        if stream.isatty():
            self._bar = Bar(
                MofNCompleteColumn(),
                BarColumn(),
                TimeElapsedColumn(),
                TextColumn("{task.description}"),
                console=Console(file=stream),
            )
            self._bar_task = self._bar.add_task("starting", total=total, completed=done)
            self._bar.start()

    def write(self, step: int, numbers: Mapping[str, float]) -> None:
        """Record a step that is done. Raises OSError."""
        now = time.monotonic()
        self._durations.append(now - self._began)
        self._began = now
        record = {"step": step, "time": round(time.time(), 3)} | {
            name: value if math.isfinite(value) else None for name, value in numbers.items()
        }
        line = json.dumps(record).encode() + b"\n"
        while line:
            line = line[self._file.write(line) :]
        os.fsync(self._file.fileno())
        self._draw(record)
        self._board.flush()
        self._tell(step, numbers)

    def doing(self, words: str) -> None:
        """Say what goes on within a step; on a terminal only."""
        if self._bar is not None and self._bar_task is not None:
            self._bar.update(self._bar_task, description=words)

    def say(self, sentence: str) -> None:
        """Tell the person something that stays on the screen."""
        if self._bar is not None:
            self._bar.console.print(sentence, highlight=False, markup=False)
        else:
            self._stream.write(f"{sentence}\n")
            self._stream.flush()

    def close(self) -> None:
        """Put everything on the disk and leave the screen; idempotent."""
        if self._bar is not None:
            self._bar.stop()
        self._board.close()
        self._file.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def _draw(self, record: Mapping[str, Any]) -> None:
        for name, value in record.items():
            if name not in ("step", "time") and value is not None:
                self._board.add_scalar(name, value, record["step"], walltime=record["time"])

    def _tell(self, step: int, numbers: Mapping[str, float]) -> None:
        words = ", ".join(f"{name} {numbers[name]:.4g}" for name in self._shown if name in numbers)
        left = (self._total - step) * sum(self._durations) / len(self._durations)
        words += f"; about {duration(left)} left" if step < self._total else ""
        if self._bar is not None and self._bar_task is not None:
            self._bar.update(self._bar_task, completed=step, description=words)
        else:
            self.say(f"step {step}/{self._total}: {words}")


def duration(seconds: float) -> str:
    """Seconds, minutes or hours, whichever reads best."""
    if seconds < _MINUTE:
        return f"{seconds:.0f} s"
    if seconds < _HOUR:
        return f"{seconds / _MINUTE:.0f} min"
    return f"{seconds / _HOUR:.1f} h"


def read_metrics(folder: Path) -> list[dict[str, Any]]:
    """The records of a run, step by step; a last line that was cut off is left out."""
    path = folder / METRICS
    lines = path.read_bytes().split(b"\n")[:-1] if path.exists() else []
    return [json.loads(line) for line in lines]


def _keep(path: Path, done: int) -> list[dict[str, Any]]:
    """Cut the file back to the steps that are done."""
    records = [record for record in read_metrics(path.parent) if record["step"] <= done]
    if path.exists():
        write_whole(path, b"".join(json.dumps(record).encode() + b"\n" for record in records))
    return records
