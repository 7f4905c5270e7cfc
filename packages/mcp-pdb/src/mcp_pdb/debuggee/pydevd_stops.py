"""What pydevd knows of a suspended thread, in the terms of ``stopped``."""

from __future__ import annotations

import sys
import threading

from . import user_code


def frames_of(frames_list, py_db):
    """``[(frame, line)]``, innermost first, from pydevd's list, without pydevd's own."""
    lines = frames_list.frame_id_to_lineno
    return [
        (frame, lines.get(id(frame)) or frame.f_lineno)
        for frame in frames_list
        if not frame.f_code.co_filename.startswith("_pydevd_bundle")
        and py_db.get_file_type(frame) != py_db.PYDEV_FILE
    ]


def raising_frame(traceback):
    """The innermost frame of user code in a traceback, or its last frame."""
    found = None
    while True:
        frame = traceback.tb_frame
        if user_code.is_user_code(frame.f_code.co_filename):
            found = frame
        if traceback.tb_next is None:
            return found or frame
        traceback = traceback.tb_next


def own_threads():
    """Idents of pydevd's threads, which it hides from ``threading.enumerate``."""
    py_db = sys.modules["pydevd"].get_global_debugger()
    return (
        {thread.ident for thread in list(py_db.created_pydb_daemon_threads)} if py_db is not None else set()
    )


def suspended_threads():
    """Idents of threads that pydevd holds."""
    found = set()
    for thread in threading.enumerate():
        info = getattr(thread, "additional_info", None)
        if info is not None and info.is_in_wait_loop:
            found.add(thread.ident)
    return found


def without_waiting(row):
    """A thread's row without the frames in which pydevd makes it wait."""
    frames = row["frames"]
    first = next((index for index, frame in enumerate(frames) if frame["is_user"]), 0)
    return dict(row, frames=frames[first:], waits_on=None)
