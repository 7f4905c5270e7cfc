"""What lives below a process, read from /proc, and how to end it."""

import contextlib
import os
import signal
import time
from collections.abc import Iterator

import anyio

PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")
_PAUSE_SECONDS = 0.005


def descendants(root: int) -> Iterator[tuple[int, int]]:
    """Every descendant of ``root`` as (pid, depth); a child has depth 1."""
    waiting = [(root, 0)]
    while waiting:
        pid, depth = waiting.pop()
        for child in _children(pid):
            yield child, depth + 1
            waiting.append((child, depth + 1))


def resident_bytes(pid: int) -> int:
    """Resident memory of a process; 0 when it is gone."""
    try:
        with open(f"/proc/{pid}/statm", "rb") as statm:
            return int(statm.read().split()[1]) * PAGE_BYTES
    except (OSError, IndexError, ValueError):
        return 0


def kill(pid: int) -> None:
    """Send SIGKILL; a process that is gone is no error."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.kill(pid, signal.SIGKILL)


async def wait_for_end(pid: int, timeout_seconds: float) -> bool:
    """True once a process has ended, reaped or not; False when the time is over."""
    try:
        descriptor = os.pidfd_open(pid)
    except ProcessLookupError:
        return True
    try:
        with anyio.move_on_after(timeout_seconds, shield=True):
            await anyio.wait_readable(descriptor)
            return True
        return False
    finally:
        os.close(descriptor)


async def kill_all_below(root: int, timeout_seconds: float) -> bool:
    """Kill descendants until none is left; False when the time is over."""
    give_up = time.monotonic() + timeout_seconds
    while living := [pid for pid, _ in descendants(root) if not _is_zombie(pid)]:
        for pid in living:
            kill(pid)
        if time.monotonic() > give_up:
            return False
        with anyio.CancelScope(shield=True):
            await anyio.sleep(_PAUSE_SECONDS)
    return True


def _children(pid: int) -> list[int]:
    children: list[int] = []
    try:
        threads = os.listdir(f"/proc/{pid}/task")
    except OSError:
        return children
    for thread in threads:
        with contextlib.suppress(OSError), open(f"/proc/{pid}/task/{thread}/children", "rb") as listing:
            children.extend(map(int, listing.read().split()))
    return children


def _is_zombie(pid: int) -> bool:
    try:
        with open(f"/proc/{pid}/stat", "rb") as stat:
            return stat.read().rpartition(b")")[2].split()[0] == b"Z"
    except (OSError, IndexError):
        return True
