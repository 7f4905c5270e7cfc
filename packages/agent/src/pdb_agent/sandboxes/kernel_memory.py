"""Memory that the kernel holds for a sandbox's programs, which no process's size shows.

Bytes that were sent and that nobody receives: Unix sockets do not tell how much they hold,
but each holds a known amount at most, since the filter of system calls lets nobody enlarge
a buffer; those beyond a handful are counted as full. And files in memory: their contents
are bounded by the file system's size, but not their number.
"""

import os
from collections.abc import Iterable
from functools import cache
from pathlib import Path

FREE_SOCKETS = 64
"""Sockets that count for nothing: as many as programs have that mean no harm."""
FILE_BYTES = 1024
"""What an empty file takes: its inode and its name."""
_DEFAULT_BUFFER_BYTES = 212_992
_QUEUES_COLUMN = 4
_INTERNET = ("tcp", "tcp6", "udp", "udp6")


def socket_bytes(pids: Iterable[int]) -> int:
    """At most so much is held in the sockets of these processes, which are one sandbox's."""
    sockets: set[str] = set()
    some_pid: int | None = None
    for pid in pids:
        some_pid = pid
        sockets |= _sockets(pid)
    full = max(0, len(sockets) - FREE_SOCKETS) * _buffer_bytes()
    return full + (0 if some_pid is None else _queued_bytes(some_pid))


def file_bytes(pid: int, folder: Path) -> int:
    """What the files take in the file system that a process sees at ``folder``, if that is not the host's."""
    inside = f"/proc/{pid}/root{folder}"
    try:
        if Path(inside).stat().st_dev == folder.stat().st_dev:
            return 0
        status = os.statvfs(inside)
    except OSError:
        return 0  # it has ended meanwhile
    return (status.f_files - status.f_ffree) * FILE_BYTES


def _sockets(pid: int) -> set[str]:
    """The sockets that a process has open, by name; a forked process has its parent's."""
    found: set[str] = set()
    try:
        with os.scandir(f"/proc/{pid}/fd") as entries:
            for entry in entries:
                target = os.readlink(entry.path)  # noqa: PTH115 - every 100 ms, hundreds of descriptors
                if target.startswith("socket:"):
                    found.add(target)
    except OSError:
        pass  # it has ended meanwhile
    return found


def _queued_bytes(pid: int) -> int:
    """What waits in the internet sockets of a process's network namespace, if that is not our own."""
    try:
        if Path(f"/proc/{pid}/ns/net").stat().st_ino == Path("/proc/self/ns/net").stat().st_ino:
            return 0
        return sum(_queues(Path(f"/proc/{pid}/net/{protocol}")) for protocol in _INTERNET)
    except OSError:
        return 0


def _queues(table: Path) -> int:
    total = 0
    for line in table.read_text(encoding="ascii").splitlines()[1:]:
        waiting = line.split()[_QUEUES_COLUMN]
        total += sum(int(amount, 16) for amount in waiting.split(":"))
    return total


@cache
def _buffer_bytes() -> int:
    try:
        return int(Path("/proc/sys/net/core/wmem_default").read_text(encoding="ascii"))
    except (OSError, ValueError):
        return _DEFAULT_BUFFER_BYTES
