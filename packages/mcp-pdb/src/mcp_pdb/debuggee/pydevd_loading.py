"""Loads pydevd from a folder of the server and connects it, leaving no trace of how.

pydevd is debugpy's part that runs inside the program. It is told to speak DAP,
to regard as user code what ``user_code`` does, and to keep off our own files.
"""

from __future__ import annotations

import os
import sys
import warnings
from importlib import import_module

from . import user_code

_PRELOADED = (
    "_pydev_bundle",
    "_pydev_runfiles",
    "_pydevd_bundle",
    "_pydevd_frame_eval",
    "pydev_ipython",
    "pydevd_plugins",
    "pydevd",
)
_VARIABLES = {"PYDEVD_USE_FRAME_EVAL": "NO", "PYDEVD_DISABLE_FILE_VALIDATION": "1"}


def load(folder):
    """The ``pydevd`` module; its folder does not stay on ``sys.path``."""
    before = {name: os.environ.get(name) for name in _VARIABLES}
    os.environ.update(_VARIABLES)
    sys.path.insert(0, folder)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", category=DeprecationWarning)
            for name in _PRELOADED:
                import_module(name)
            import_module("_pydevd_bundle.pydevd_process_net_command_json")
    finally:
        sys.path.remove(folder)
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value
    _hush()
    customization = import_module("_pydevd_bundle.pydevd_defaults").PydevdCustomization
    customization.DEFAULT_PROTOCOL = import_module("_pydevd_bundle.pydevd_constants").HTTP_JSON_PROTOCOL
    customization.DEBUG_MODE = "debugpy-dap"
    return sys.modules["pydevd"]


def _hush():
    """Keep pydevd's own log out of the program's standard error."""
    log = sys.modules["_pydev_bundle.pydev_log"]._LoggingGlobals
    log._debug_stream_initialized = True
    log._debug_stream = sys.modules["_pydevd_bundle.pydevd_constants"].NULL


def connect(pydevd, channel, port, token):
    """Connect over ``channel`` and wait until the server has configured us.

    Children connect to ``port`` on the loopback interface with ``token``; 0 leaves them alone.
    """
    original = pydevd.start_client
    pydevd.start_client = lambda host, number: channel
    pydevd.PyDB.initialize_network = _initialize_network
    try:
        pydevd.settrace(
            host="127.0.0.1",
            port=port,
            suspend=False,
            patch_multiprocessing=port != 0,
            access_token=token,
            client_access_token=token,
            notify_stdin=False,
        )
    finally:
        pydevd.start_client = original


def _initialize_network(py_db, sock, terminate_on_socket_close=True):
    """What pydevd does, without the tenth of a second it sleeps afterwards."""
    pydevd = sys.modules["pydevd"]
    sock.settimeout(None)
    send_at_once(sock)
    for name in ("reader", "writer"):
        thread = getattr(py_db, name, None)
        if thread is not None:
            thread.do_kill_pydev_thread()
    py_db.writer = pydevd.WriterThread(sock, py_db, terminate_on_socket_close=terminate_on_socket_close)
    py_db.reader = pydevd.ReaderThread(
        sock,
        py_db,
        PyDevJsonCommandProcessor=pydevd.PyDevJsonCommandProcessor,
        process_net_command=pydevd.process_net_command,
        terminate_on_socket_close=terminate_on_socket_close,
    )
    py_db.writer.start()
    py_db.reader.start()


def end_sessions_ourselves(py_db):
    """Do without pydevd's thread that looks five times a second whether the program has ended."""
    py_db._create_check_output_thread = _do_nothing
    checker = py_db.check_alive_thread
    if checker is not None:
        checker.do_kill_pydev_thread()


def _do_nothing():
    pass


def send_at_once(sock):
    """Turn off Nagle's delay: pydevd sends a message's header and body apart (debugpy issue 2054)."""
    import socket

    if sock.family != getattr(socket, "AF_UNIX", None):
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)


def share_rules(py_db):
    """Have pydevd judge files as ``user_code`` does, also those named like its own (``io.py``)."""
    pydevd_file = sys.modules["pydevd"].__file__
    if pydevd_file is not None:
        user_code.regard_as_own(os.path.dirname(pydevd_file))
    original = py_db._internal_get_file_type

    def file_type(paths):
        path = paths[0]
        if user_code.is_own(path):
            return py_db.PYDEV_FILE
        return None if user_code.is_user_code(path) else original(paths)

    py_db._internal_get_file_type = file_type
    py_db._files_filtering.in_project_roots = user_code.is_user_code
    py_db.get_cache_file_type().clear()
    py_db._clear_caches()
