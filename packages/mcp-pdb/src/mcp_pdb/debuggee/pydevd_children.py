"""Processes that the program starts: followed, or left alone and never held up.

A followed child connects to the server over the loopback interface and waits
until it has been configured. Where that cannot work it runs on untraced.
"""

from __future__ import annotations

import os
import socket
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_PROBE_SECONDS = 0.5
_FLAGS = ("-X", "frozen_modules=off")
_followed = []


def are_followed():
    """Whether children connect to the server."""
    return bool(_followed)


def can_reach(port):
    """Whether the server's port for children answers from here; in a sandbox it may not."""
    try:
        socket.create_connection(("127.0.0.1", port), _PROBE_SECONDS).close()
    except OSError:
        return False
    return True


def arrange(pydevd, connection, follow):
    """Decide what a forked child does with the debugger that it inherits."""
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(after_in_child=connection.close)
        if not follow:
            os.register_at_fork(after_in_child=_run_free)
    if not follow:
        return
    _followed.append(True)
    original = pydevd.settrace_forked

    def settrace_forked(setup_tracing=True):
        try:
            _free_tools()
            original(setup_tracing)
        except Exception:  # the server is gone or out of reach: the child is the program's, not ours
            _run_free()

    pydevd.settrace_forked = settrace_forked
    _pass_flags_on()


def _pass_flags_on():
    """Start Python children with the flag that keeps pydevd from warning in their output."""
    monkey: Any = sys.modules["_pydev_bundle.pydev_monkey"]
    original = monkey.patch_args

    def patch_args(args, is_exec=False):
        patched = original(args, is_exec)
        if patched is args or not isinstance(patched, list) or sys.version_info < (3, 11):
            return patched
        flags = [os.fsencode(flag) for flag in _FLAGS] if isinstance(patched[0], bytes) else list(_FLAGS)
        return patched if flags[1] in patched else patched[:1] + flags + patched[1:]

    monkey.patch_args = patch_args


def _run_free():
    """Leave the debugger behind, in a child."""
    constants = sys.modules["_pydevd_bundle.pydevd_constants"]
    constants.after_fork()
    py_db = sys.modules["pydevd"].get_global_debugger()
    if py_db is not None:
        py_db.created_pydb_daemon_threads = {}
        py_db.pydb_disposed = True
    constants.set_global_debugger(None)
    sys.modules["pydevd_tracing"].restore_sys_set_trace_func()
    sys.settrace(None)
    threading = sys.modules["threading"]
    threading.settrace(None)
    threading.current_thread().additional_info = None
    _free_tools()


def _free_tools():
    """Give back the monitoring tools that the parent's debugger holds."""
    monitoring = getattr(sys, "monitoring", None)
    if monitoring is None:
        return
    for tool in range(6):
        if monitoring.get_tool(tool) in ("pydevd", "mcp-pdb"):
            monitoring.set_events(tool, 0)
            monitoring.free_tool_id(tool)
