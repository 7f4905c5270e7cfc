"""Runs a project's tests as the project configures them, and signs how each one ended.

Stand-alone, standard library and pytest only, Python 3.10 and later, started by its path::

    python project_tests_inside.py CHANNEL ARGUMENT...

The channel first gives a key of 64 bytes. Then each line written to it is a hex HMAC-SHA256, a space and
JSON: ``{"number": n, ...}`` counted from 0, with ``started``; ``began`` and ``ended`` with ``outcome`` for
each test, its id relative to the working directory; at last ``finished`` with ``said``, the end of pytest's
output. The project shares this interpreter, so a record proves only that nobody wrote to the channel by
mistake.
"""

import hmac
import json
import os
import socket
import sys
import tempfile
from collections.abc import Callable
from typing import Any

KEY_BYTES = 64
_OPTIONS = ("-q", "--no-header", "--color=no", "--tb=short", "--maxfail=0")
_SAID_BYTES = 8000
_RANKS = ("passed", "skipped", "failed")
"""From good to bad: a test is what the worst of its phases is."""


def main(channel_descriptor: int, arguments: "list[str]") -> None:
    """Run pytest with ``arguments`` and tell of it; never returns."""
    channel = socket.socket(fileno=channel_descriptor)
    channel.set_inheritable(False)
    sign = _signer(channel)
    output = tempfile.TemporaryFile()
    written = output.fileno()
    for descriptor in (1, 2):
        os.dup2(written, descriptor)
    sign({"started": True})
    sys.path[0] = ""  # as for python -m pytest
    sys.argv[:] = ["pytest"]
    import pytest

    status = pytest.main([*_OPTIONS, *arguments], plugins=[_Reporter(sign)])
    sys.stdout.flush()
    sys.stderr.flush()
    size = os.fstat(written).st_size
    said = os.pread(written, _SAID_BYTES, max(0, size - _SAID_BYTES)).decode(errors="replace")
    sign({"finished": int(status), "said": said})
    os._exit(0)


def _signer(channel: socket.socket) -> Callable[[dict[str, Any]], None]:
    """A function that signs a record and sends it; the key stays in its closure."""
    key = bytearray()
    while len(key) < KEY_BYTES:
        piece = channel.recv(KEY_BYTES - len(key))
        if not piece:
            os._exit(1)
        key += piece
    secret, new, dumps, send, number = bytes(key), hmac.new, json.dumps, channel.sendall, 0

    def sign(record: dict[str, Any]) -> None:
        nonlocal number
        body = dumps({"number": number, **record}).encode()
        number += 1
        send(new(secret, body, "sha256").hexdigest().encode() + b" " + body + b"\n")

    return sign


class _Reporter:
    """A plugin that tells when each test begins, and how it ended."""

    def __init__(self, sign: Callable[[dict[str, Any]], None]) -> None:
        self._sign = sign
        self._relative: Callable[[str], str] = str
        self._outcomes: dict[str, str] = {}

    def pytest_configure(self, config: Any) -> None:
        """Learn how ids read from the working directory."""
        self._relative = config.cwd_relative_nodeid

    def pytest_runtest_logstart(self, nodeid: str, location: Any) -> None:
        """Tell which test runs, for it may never end."""
        self._sign({"began": self._relative(nodeid)})

    def pytest_runtest_logreport(self, report: Any) -> None:
        """Keep the worst of a test's phases; one that is expected to fail is as good as skipped."""
        earlier = self._outcomes.get(report.nodeid, "passed")
        self._outcomes[report.nodeid] = max(earlier, report.outcome, key=_RANKS.index)

    def pytest_runtest_logfinish(self, nodeid: str, location: Any) -> None:
        """Tell how it ended."""
        outcome = self._outcomes.pop(nodeid, "failed")
        self._sign({"ended": self._relative(nodeid), "outcome": outcome})


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2:])
