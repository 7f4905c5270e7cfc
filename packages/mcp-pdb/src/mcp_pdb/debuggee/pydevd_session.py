"""One run of a target under pydevd, from the connection to the end."""

from __future__ import annotations

import atexit
import os
import socket
import sys
import threading

from . import pydevd_agent, pydevd_loading, run_target
from .pydevd_hooks import Hooks


def serve(channel, pydevd_folder, port, token):
    """Connect, wait for the target, run it; returns the exit status."""
    os.set_inheritable(channel, False)
    connection = socket.socket(fileno=channel)
    pydevd = pydevd_loading.load(pydevd_folder)
    begun = _Begun()
    pydevd_agent.prepare(begun.receive)
    pydevd_loading.connect(pydevd, connection, port, token)
    py_db = pydevd.get_global_debugger()
    agent = pydevd_agent.install(py_db)
    if port == 0:
        _leave_children_alone(connection)
    spec = begun.wait()
    atexit.register(agent.finish)
    _tell_before_exiting(agent)
    return run_target.run(spec, Hooks(agent))


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


def _tell_before_exiting(agent):
    """``os._exit`` runs no clean-up, so the last word is said before it."""
    original = os._exit

    def _exit(status):
        agent.finish()
        original(status)

    os._exit = _exit


def _leave_children_alone(connection):
    """A forked child runs untraced and does not hold our channel open."""

    def in_child():
        from _pydev_bundle.pydev_monkey import _on_forked_process

        _on_forked_process(setup_tracing=False)
        sys.modules["pydevd"].set_global_debugger(None)
        connection.close()

    os.register_at_fork(after_in_child=in_child)
