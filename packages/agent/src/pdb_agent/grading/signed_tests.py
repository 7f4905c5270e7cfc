"""Runs tests in the candidate's own interpreter and signs what pytest reports; started by its path.

Standard library and pytest only, Python 3.10 and later::

    python -I signed_tests.py CHANNEL SCRIPTS TESTS SOURCES FILE...

The channel first gives a key of 64 bytes. Then each line written to it is a
hex HMAC-SHA256, a space and JSON: ``{"number": n, ...}`` counted from 0 with
``started``, or ``failed`` with the reason; then one record for each phase of
each test; at last ``finish``. The candidate shares this interpreter, so a
record proves only that nobody outside its reach wrote it.
"""

import hmac
import importlib
import json
import os
import socket
import sys
from collections.abc import Callable, Generator
from typing import Any

KEY_BYTES = 64


def main(channel_descriptor: int, scripts: str, tests: str, sources: str, files: list[str]) -> None:
    """Run ``files`` below ``tests``, with the candidate's ``sources`` last on the path; never returns."""
    channel = socket.socket(fileno=channel_descriptor)
    channel.set_inheritable(False)
    sign = _signer(channel)
    sys.path.insert(0, scripts)
    pytest_run = importlib.import_module("pdb_agent.grading.pytest_run")
    pytest_run.silence()
    try:
        import pytest
    except ImportError as error:
        sign({"failed": f"{type(error).__name__}: {error}"})
        os._exit(1)
    importlib.import_module("pdb_agent.grading.differing")  # the test modules import it
    sys.path.remove(scripts)
    sys.path.append(sources)
    sign({"started": pytest.__version__})
    pytest.main(pytest_run.pytest_arguments(tests, files), plugins=[_reporter(sign, pytest)])
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


def _reporter(sign: Callable[[dict[str, Any]], None], pytest: Any) -> object:
    """A plugin that signs a record for each phase of each test, and one at the end."""
    assertion = (AssertionError, pytest.fail.Exception)

    class Reporter:
        collection_errors = 0

        def pytest_collectreport(self, report: Any) -> None:
            self.collection_errors += report.failed

        @pytest.hookimpl(wrapper=True, tryfirst=True)
        def pytest_runtest_makereport(self, item: Any, call: Any) -> Generator[None, Any, Any]:
            report = yield
            sign(
                {
                    "test": item.nodeid,
                    "when": call.when,
                    "outcome": report.outcome,
                    "expected_failure": hasattr(report, "wasxfail"),
                    "by_assertion": call.excinfo is not None and isinstance(call.excinfo.value, assertion),
                }
            )
            return report

        def pytest_sessionfinish(self, session: Any, exitstatus: int) -> None:
            sign({"finish": int(exitstatus), "collection_errors": self.collection_errors})

    return Reporter()


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2], sys.argv[3], sys.argv[4], sys.argv[5:])
