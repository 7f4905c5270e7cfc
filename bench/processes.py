"""Which processes a run has brought into being, and what they hold.

Every run puts a mark of its own into the environment of its server; whatever
inherits it belongs to the run, also when its parent has died. Linux only.
"""

import time
from collections.abc import Iterator
from pathlib import Path
from uuid import uuid4

MARK = "DEBUGGER_BENCH_MARK"
PROC = Path("/proc")


def new_mark() -> dict[str, str]:
    """An environment addition that nobody else has."""
    return {MARK: uuid4().hex}


def marked(mark: dict[str, str]) -> list[int]:
    """Ids of the living processes that carry the mark; zombies hold nothing and are not counted."""
    needle = f"{MARK}={mark[MARK]}".encode()
    return [process for process, environment in _environments() if needle in environment.split(b"\0")]


def seconds_until_gone(mark: dict[str, str], limit_seconds: float = 15) -> tuple[float, list[int]]:
    """Wait for the last marked process to end; the time it took and who is left at the limit."""
    begin = time.monotonic()
    while left := marked(mark):
        if time.monotonic() - begin > limit_seconds:
            break
        time.sleep(0.01)
    return time.monotonic() - begin, left


def proportional_kilobytes(processes: list[int]) -> int:
    """Their memory, shared pages split among those that share them (PSS)."""
    return sum(_field(process, "smaps_rollup", "Pss:") for process in processes)


def resident_kilobytes(processes: list[int]) -> int:
    """Their memory, shared pages counted once for each (RSS)."""
    return sum(_field(process, "status", "VmRSS:") for process in processes)


def _environments() -> Iterator[tuple[int, bytes]]:
    for folder in PROC.iterdir():
        if folder.name.isdigit():
            try:
                yield int(folder.name), (folder / "environ").read_bytes()
            except OSError:
                continue


def _field(process: int, file: str, name: str) -> int:
    try:
        lines = (PROC / str(process) / file).read_text(encoding="ascii").splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1]) for line in lines if line.startswith(name)), 0)
