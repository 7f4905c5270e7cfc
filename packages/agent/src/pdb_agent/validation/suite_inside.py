"""Runs a task's tests and reports each over the channel; given to ``python -c``, standard library and pytest.

Arguments: the channel's descriptor, ``forward`` or ``reverse``, and what pytest shall run. On the
channel every line is a JSON object: ``{"start": id}``, ``{"test": id, ...}``, ``{"collect": id, ...}``
and, at the end, ``{"finish": {...}}`` with what the run left behind.
"""

import ctypes
import hashlib
import json
import os
import platform
import sys
import tempfile
import threading
import time
from collections.abc import Generator
from typing import Any, TextIO

import pytest

MESSAGE_CHARACTERS = 20000
GRACE_SECONDS = 0.3
PR_SET_CHILD_SUBREAPER = 36
NETWORK_EVENTS = frozenset({"socket.connect", "socket.bind", "socket.sendto", "socket.getaddrinfo"})
WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_TRUNC
WORKSPACE = os.getcwd()


class Reporter:
    """A pytest plugin that tells each outcome as it comes."""

    def __init__(self, channel: TextIO, order: str) -> None:
        self.channel = channel
        self.order = order

    def tell(self, **message: Any) -> None:
        """Write one line to the channel."""
        self.channel.write(json.dumps(message) + "\n")
        self.channel.flush()

    def pytest_collection_modifyitems(self, items: "list[pytest.Item]") -> None:
        """Turn the order round when asked to."""
        if self.order == "reverse":
            items.reverse()

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        """Tell what cannot be collected."""
        if report.outcome != "passed":
            self.tell(collect=report.nodeid, message=str(report.longrepr)[:MESSAGE_CHARACTERS])

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        """Tell which test begins, so that a hang has a name."""
        self.tell(start=nodeid)

    @pytest.hookimpl(hookwrapper=True)
    def pytest_runtest_makereport(
        self, item: pytest.Item, call: "pytest.CallInfo[None]"
    ) -> Generator[None, Any, None]:
        """Tell the outcome of a phase, unless it is a set-up or an end that went well."""
        result: Any = yield
        report: Any = result.get_result()
        if report.when == "call" or report.outcome != "passed":
            self.tell(
                test=item.nodeid,
                phase=report.when,
                outcome="xfail" if hasattr(report, "wasxfail") else report.outcome,
                error=call.excinfo.typename if call.excinfo else "",
                message=report.longreprtext[:MESSAGE_CHARACTERS],
                seconds=report.duration,
            )


class Watch:
    """Sees files that are written outside the folder for temporary ones, and uses of the network."""

    def __init__(self) -> None:
        self.written: set[str] = set()
        self.network: set[str] = set()
        self.temporary = os.path.realpath(tempfile.gettempdir()) + os.sep

    def __call__(self, event: str, arguments: "tuple[Any, ...]") -> None:
        """The audit hook."""
        if event == "open":
            path, _, flags = arguments
            if isinstance(path, str) and isinstance(flags, int) and flags & WRITING:
                self.note(os.path.realpath(path))
        elif event in NETWORK_EVENTS:
            self.network.add(event)

    def note(self, path: str) -> None:
        """Remember a path unless it lies where tests may write."""
        if not (path + os.sep).startswith((self.temporary, "/dev/")) or path.startswith(WORKSPACE + os.sep):
            self.written.add(path)


def snapshot() -> "dict[str, str]":
    """Every file of the workspace with a digest of its content."""
    files: dict[str, str] = {}
    for folder, _, names in os.walk("."):
        for name in names:
            path = os.path.join(folder, name)
            with open(path, "rb") as file:
                files[os.path.normpath(path)] = hashlib.sha256(file.read()).hexdigest()
    return files


def children() -> "list[int]":
    """Processes that the tests started and that still live, also those whose parents have died."""
    try:
        threads = os.listdir("/proc/self/task")
    except OSError:
        return []
    found: list[int] = []
    for thread in threads:
        try:
            with open("/proc/self/task/" + thread + "/children") as listing:
                found.extend(map(int, listing.read().split()))
        except OSError:
            continue
    return [pid for pid in found if not dead(pid)]


def dead(pid: int) -> bool:
    """Whether a process has ended, buried or not."""
    try:
        with open(f"/proc/{pid}/stat") as stat:
            return stat.read().rpartition(")")[2].split()[0] == "Z"
    except OSError:
        return True


def left_threads() -> "list[str]":
    """Names of threads beside the main one, after a short grace."""
    others = [thread for thread in threading.enumerate() if thread is not threading.main_thread()]
    deadline = time.monotonic() + GRACE_SECONDS
    for thread in others:
        thread.join(max(0.0, deadline - time.monotonic()))
    return sorted(thread.name for thread in others if thread.is_alive())


def main() -> int:
    """Run the tests; the exit status is pytest's."""
    channel = os.fdopen(int(sys.argv[1]), "w", encoding="utf-8", closefd=False)
    os.set_inheritable(int(sys.argv[1]), False)
    reporter = Reporter(channel, sys.argv[2])
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    watch = Watch()
    before = snapshot()
    sys.addaudithook(watch)
    began = time.monotonic()
    status = pytest.main(
        ["-p", "no:cacheprovider", "--import-mode=importlib", "-q", *sys.argv[3:]], plugins=[reporter]
    )
    seconds = time.monotonic() - began
    written, network = sorted(watch.written), sorted(watch.network)
    after = snapshot()
    reporter.tell(
        finish={
            "status": int(status),
            "seconds": seconds,
            "python": platform.python_version(),
            "threads": left_threads(),
            "processes": len(children()),
            "changed": sorted(
                path for path in before.keys() | after.keys() if before.get(path) != after.get(path)
            ),
            "written": written,
            "network": network,
        }
    )
    return int(status)


if __name__ == "__main__":
    sys.exit(main())
