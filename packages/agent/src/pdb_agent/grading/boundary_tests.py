"""Runs tests against a program that is in another sandbox; started by its path.

Standard library and pytest only, Python 3.10 and later::

    python -I boundary_tests.py CHANNEL SCRIPTS TESTS ROOTS CALL_SECONDS FILE...

No code of the candidate is in this process: importing one of its packages
(ROOTS, with commas) gives a module whose names are asked for over the channel.
Standard output carries one JSON object a line: ``started`` or ``failed``, one
record for each phase of each test, at last ``finish`` with the channel's fault.
"""

import importlib
import json
import os
import socket
import sys
from collections.abc import Callable
from typing import Any


def main(channel_descriptor: int, scripts: str, rest: list[str]) -> None:
    """Run the files and report; never returns."""
    report = _reporting()
    sys.path.insert(0, scripts)
    try:
        session = importlib.import_module("pdb_agent.grading.boundary_session")
        run = session.prepared(socket.socket(fileno=channel_descriptor), report, *rest)
    except Exception as error:  # noqa: BLE001 - whatever it is, no test can run here
        report({"failed": f"{type(error).__name__}: {error}"})
        os._exit(1)
    sys.path.remove(scripts)
    run()
    os._exit(0)


def _reporting() -> Callable[[dict[str, Any]], None]:
    """Keep standard output for reports, and send what is printed elsewhere."""
    reports = os.dup(1)
    null = os.open(os.devnull, os.O_RDWR)
    for descriptor in (0, 1, 2):
        os.dup2(null, descriptor)
    os.close(null)

    def report(record: dict[str, Any]) -> None:
        data = json.dumps(record).encode() + b"\n"
        while data:
            data = data[os.write(reports, data) :]

    return report


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2], sys.argv[3:])
