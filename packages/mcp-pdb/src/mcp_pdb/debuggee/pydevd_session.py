"""One run of a target under pydevd, from the connection to the end."""

from __future__ import annotations

import sys
import threading

from . import pydevd_agent, pydevd_children, pydevd_loading, run_target, wire
from .pydevd_hooks import Hooks


def serve(channel, pydevd_folder, port, token):
    """Connect, wait for the target, run it; returns the exit status."""
    connection = wire.open_socket(channel)
    if port and not pydevd_children.can_reach(port):
        port = 0
    program_writes_none, sys.dont_write_bytecode = sys.dont_write_bytecode, False
    pydevd = pydevd_loading.load(pydevd_folder)  # kept compiled for each Python, as our own modules are
    sys.dont_write_bytecode = program_writes_none
    begun = _Begun()
    pydevd_agent.prepare(begun.receive)
    pydevd_children.arrange(pydevd, connection, follow=port != 0)
    pydevd_loading.connect(pydevd, connection, port, token)
    agent = pydevd_agent.install(pydevd.get_global_debugger())
    return run_target.run(begun.wait(), Hooks(agent))


class _Begun:
    """Where the main thread waits until the server says what to run."""

    def __init__(self):
        self._event = threading.Event()
        self._spec = None

    def receive(self, spec):
        self._spec = spec
        self._event.set()

    def wait(self):
        self._event.wait()
        return self._spec
