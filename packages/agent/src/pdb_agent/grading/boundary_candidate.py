"""Serves the candidate's program to tests in another sandbox; started by its path.

Standard library only, Python 3.10 and later::

    python -I boundary_candidate.py CHANNEL SCRIPTS SOURCES ROOTS

ROOTS are the names of the program's packages, with commas. Nothing in this
process is trusted: the candidate shares the interpreter and may say on the
channel what it likes. The other side takes plain values and nothing else.
"""

import importlib
import os
import socket
import sys


def main(channel_descriptor: int, scripts: str, sources: str, roots: str) -> None:
    """Answer requests until the other side is gone; never returns."""
    connection = socket.socket(fileno=channel_descriptor)
    connection.set_inheritable(False)
    sys.path.insert(0, scripts)
    worker = importlib.import_module("pdb_agent.grading.boundary_worker")
    importlib.import_module("pdb_agent.grading.pytest_run").silence()
    sys.path.remove(scripts)
    sys.path.append(sources)
    sys.argv[:] = ["program"]
    worker.Worker(connection, frozenset(roots.split(","))).serve()
    os._exit(0)


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2], sys.argv[3], sys.argv[4])
