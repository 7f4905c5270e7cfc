"""Holds every process that the server starts on a leash; run as a script, standard library only.

For each launch the server sends the *reaper* one byte and one end of a fresh
socketpair, the *lease*. The reaper forks a *keeper* that owns the lease: it
reads one request, starts the program, reports its end, and kills every process
below itself once the lease ends. Leases end with the server, however it dies.

Reaper and keepers are child subreapers, so a process whose parents have died
is handed to the keeper of its own launch and to nobody else: no process can
leave its launch by forking twice, starting a session or clearing its
environment. If a keeper is killed its orphans fall to the reaper, whose only
lawful children are keepers, and it kills them.

Without Linux's subreapers and /proc (macOS) a launch is its process group: a
program that starts a session of its own escapes.

On a lease every message is a four-byte length and JSON. The request carries the
descriptors of stdin, stdout, stderr and, if asked for, the channel. Answers are
``{"pid": n}`` or ``{"failed": [errno, stage]}``, then ``{"exited": status}``,
then ``{"left": [pids]}`` when nothing, or only what cannot be killed, is left.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import gc
import json
import os
import select
import signal
import socket
import struct
import sys
import time

TYPE_CHECKING = False  # importing typing and collections.abc would cost every start several milliseconds
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any, NoReturn

try:
    import ctypes

    _prctl = ctypes.CDLL(None).prctl if sys.platform == "linux" else None
except (ImportError, AttributeError, OSError):
    _prctl = None

PR_SET_PDEATHSIG = 1
PR_SET_CHILD_SUBREAPER = 36
CHANNEL_DESCRIPTOR = 3
CHANNEL_TOKEN = "{channel}"
SWEEP_SECONDS = 4.0
"""How long a keeper tries to kill what it keeps; only uninterruptible processes take that long."""
_CLOSE_ON_EXEC = getattr(socket, "MSG_CMSG_CLOEXEC", 0)
_HAS_CHILDREN_FILES = os.path.exists(f"/proc/self/task/{os.getpid()}/children")
_LENGTH = struct.Struct("!I")
_IGNORED = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT)
_DEFAULT_IN_PROGRAM = (*_IGNORED, signal.SIGCHLD, signal.SIGPIPE, signal.SIGXFSZ)


def main(control_descriptor: int) -> None:
    """Fork a keeper for each lease that arrives; at end of file kill what is left and return."""
    os.chdir("/")
    for number in _IGNORED:
        signal.signal(number, signal.SIG_IGN)
    _adopt_orphans()
    control = socket.socket(fileno=control_descriptor)
    control.set_inheritable(False)
    alarm = ChildAlarm()
    keepers: set[int] = set()
    gc.freeze()
    while True:
        alarm.wait(control)
        ended, _ = _reap()
        keepers.difference_update(pid for pid, _ in ended)
        for stray in _children(os.getpid()) - keepers:
            _kill_tree(stray)
        if not _readable(control):
            continue
        lease = _receive_lease(control)
        if lease is None:
            break
        pid = _fork()
        if pid == 0:
            control.close()
            alarm.close()
            _run_keeper(lease)
        lease.close()
        if pid is not None:
            keepers.add(pid)
    for _ in _sweep(alarm, keepers):
        pass


class ChildAlarm:
    """Wakes a wait when a child of this process ends."""

    def __init__(self) -> None:
        self._reader, self._writer = os.pipe()
        for descriptor in (self._reader, self._writer):
            os.set_blocking(descriptor, False)
        signal.set_wakeup_fd(self._writer, warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda number, frame: None)

    def wait(self, other: socket.socket | None = None, timeout_seconds: float | None = None) -> None:
        """Return when a child has ended, ``other`` is readable or the time is up."""
        poller = select.poll()
        poller.register(self._reader, select.POLLIN)
        if other is not None:
            poller.register(other, select.POLLIN)
        poller.poll(None if timeout_seconds is None else timeout_seconds * 1000)
        with contextlib.suppress(BlockingIOError):
            os.read(self._reader, 4096)

    def close(self) -> None:
        """Let go of the pipe, in a fork that makes its own."""
        signal.set_wakeup_fd(-1)
        os.close(self._reader)
        os.close(self._writer)


def _run_keeper(lease: socket.socket) -> NoReturn:
    status = 1
    try:
        _keep(lease)
        status = 0
    finally:
        os._exit(status)


def _keep(lease: socket.socket) -> None:
    """Start the program that the lease asks for and stay until the lease ends and all is dead."""
    _adopt_orphans()
    alarm = ChildAlarm()
    received = _receive_request(lease)
    if received is None:
        return
    request, descriptors = received
    try:
        program = _spawn(request, descriptors)
    except OSError as error:
        _tell(lease, {"failed": [error.errno or errno.EIO, error.strerror or "start"]})
        return
    finally:
        for descriptor in descriptors:
            os.close(descriptor)
    _tell(lease, {"pid": program})
    while not _readable(lease):
        ended, _ = _reap()
        _tell_end(lease, program, ended)
        alarm.wait(lease)
    if not os.path.isdir("/proc/self/task"):
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(program, signal.SIGKILL)
    for ended in _sweep(alarm, {program}):
        _tell_end(lease, program, ended)
    _tell(lease, {"left": sorted(_children(os.getpid()))})


def _spawn(request: dict[str, Any], descriptors: list[int]) -> int:
    """Start the program; an OSError's ``strerror`` names the stage that failed."""
    report_reader, report_writer = os.pipe()
    keeper = os.getpid()
    pid = _fork()
    if pid is None:
        os.close(report_reader)
        os.close(report_writer)
        raise OSError(errno.EAGAIN, "fork")
    if pid == 0:
        _become_program(request, descriptors, report_writer, keeper)
    os.close(report_writer)
    with open(report_reader, "rb") as report:
        failure = report.read()
    if failure:
        os.waitpid(pid, 0)
        number, stage = json.loads(failure)
        raise OSError(number, stage)
    return pid


def _become_program(request: dict[str, Any], descriptors: list[int], report: int, keeper: int) -> NoReturn:
    stage = "start"
    try:
        os.setsid()
        if _prctl is not None:
            _prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
            if os.getppid() != keeper:
                os._exit(127)
        # The descriptors 0 to 3 are about to be replaced: what is needed later moves above them.
        report = fcntl.fcntl(report, fcntl.F_DUPFD_CLOEXEC, 10)
        sources = [fcntl.fcntl(descriptor, fcntl.F_DUPFD_CLOEXEC, 10) for descriptor in descriptors]
        for target, source in enumerate(sources):
            os.dup2(source, target)
        signal.set_wakeup_fd(-1)
        for number in _DEFAULT_IN_PROGRAM:
            signal.signal(number, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_SETMASK, [])
        stage = "cwd"
        os.chdir(request["cwd"])
        stage = "exec"
        argv = request["argv"]
        os.execvpe(argv[0], argv, request["environment"])
    except (OSError, ValueError) as error:
        number = getattr(error, "errno", errno.EINVAL)
        os.write(report, json.dumps([number, stage]).encode())
    finally:
        os._exit(127)


def _adopt_orphans() -> None:
    if _prctl is not None:
        _prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def _fork() -> int | None:
    """Like ``os.fork``, or None when the system allows no more processes."""
    try:
        return os.fork()
    except OSError:
        return None


def _reap() -> tuple[list[tuple[int, int]], bool]:
    """The children that have ended, each as (pid, wait status), and whether others live."""
    ended: list[tuple[int, int]] = []
    while True:
        try:
            pid, status = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return ended, False
        if pid == 0:
            return ended, True
        ended.append((pid, status))


def _sweep(alarm: ChildAlarm, known: set[int]) -> Iterator[list[tuple[int, int]]]:
    """Kill every descendant until none is left or ``SWEEP_SECONDS`` are over; yields those that ended.

    ``known`` are children to kill even where /proc does not list them.
    """
    give_up = time.monotonic() + SWEEP_SECONDS
    pause_seconds = 0.001
    while True:
        ended, more = _reap()
        yield ended
        known = known.difference(pid for pid, _ in ended)
        if not more or time.monotonic() > give_up:
            return
        for child in _children(os.getpid()) | known:
            _kill_tree(child)
        alarm.wait(timeout_seconds=pause_seconds)
        pause_seconds = min(pause_seconds * 2, 0.05)


def _kill_tree(root: int) -> None:
    """Send SIGKILL to ``root``, all its descendants and the process groups they are in.

    A group dies at once, which is what stops a fork bomb; a group cannot hold
    a process of another launch, for each launch is a session of its own.
    """
    own_group = os.getpgrp()
    waiting = [root]
    killed_groups = {own_group}
    while waiting:
        pid = waiting.pop()
        waiting.extend(_children(pid))
        with contextlib.suppress(ProcessLookupError, PermissionError):
            group = os.getpgid(pid)
            os.kill(pid, signal.SIGKILL)
            if group not in killed_groups:
                killed_groups.add(group)
                os.killpg(group, signal.SIGKILL)


def _children(pid: int) -> set[int]:
    """The living and the dead but unreaped children of a process, where /proc tells."""
    if not _HAS_CHILDREN_FILES:
        return _children_by_scan(pid)
    children: set[int] = set()
    try:
        threads = os.listdir(f"/proc/{pid}/task")
    except OSError:
        return children
    for thread in threads:
        with contextlib.suppress(OSError), open(f"/proc/{pid}/task/{thread}/children", "rb") as listing:
            children.update(map(int, listing.read().split()))
    return children


def _children_by_scan(parent: int) -> set[int]:
    """Like ``_children``, for kernels that do not list them."""
    children: set[int] = set()
    if not os.path.isdir("/proc/self/task"):
        return children
    for name in os.listdir("/proc"):
        if name.isdigit():
            with contextlib.suppress(OSError), open(f"/proc/{name}/stat", "rb") as stat:
                if int(stat.read().rpartition(b")")[2].split()[1]) == parent:
                    children.add(int(name))
    return children


def _readable(connection: socket.socket) -> bool:
    return bool(select.select([connection], [], [], 0)[0])


def _receive_lease(control: socket.socket) -> socket.socket | None:
    try:
        _, descriptors, _, _ = socket.recv_fds(control, 1, 1, _CLOSE_ON_EXEC)
    except ConnectionError:
        return None
    if not descriptors:
        return None
    os.set_inheritable(descriptors[0], False)
    return socket.socket(fileno=descriptors[0])


def _receive_request(lease: socket.socket) -> tuple[dict[str, Any], list[int]] | None:
    """The request and its descriptors, or None when the server has let go already."""
    try:
        header, descriptors, _, _ = socket.recv_fds(lease, _LENGTH.size, 4, _CLOSE_ON_EXEC)
        for descriptor in descriptors:
            os.set_inheritable(descriptor, False)
        if len(header) < _LENGTH.size:
            return None
        (length,) = _LENGTH.unpack(header)
        body = bytearray()
        while len(body) < length:
            piece = lease.recv(min(length - len(body), 1 << 20))
            if not piece:
                return None
            body += piece
    except ConnectionError:
        return None
    return json.loads(body), list(descriptors)


def _tell_end(lease: socket.socket, program: int, ended: list[tuple[int, int]]) -> None:
    for pid, status in ended:
        if pid == program:
            _tell(lease, {"exited": status})


def _tell(lease: socket.socket, message: dict[str, Any]) -> None:
    data = json.dumps(message).encode()
    with contextlib.suppress(ConnectionError):
        lease.sendall(_LENGTH.pack(len(data)) + data)


if __name__ == "__main__":
    main(int(sys.argv[1]))
