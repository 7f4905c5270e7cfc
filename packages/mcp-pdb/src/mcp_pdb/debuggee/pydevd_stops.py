"""What pydevd knows of a suspended thread, in the terms of ``stopped``."""

from __future__ import annotations

import sys

from . import inspector
from .stopped import returned_text

RETURN_VALUES = "__pydevd_ret_val_dict"
_KEPT_FRAMES = 300


def frames_of(frames_list, py_db):
    """``[(frame, line)]``, innermost first, from pydevd's list, without pydevd's own."""
    lines = frames_list.frame_id_to_lineno
    return [
        (frame, lines.get(id(frame)) or frame.f_lineno)
        for frame in frames_list
        if not frame.f_code.co_filename.startswith("_pydevd_bundle")
        and py_db.get_file_type(frame) != py_db.PYDEV_FILE
    ]


class FrameMemory:
    """What frames held when they were last looked at, to tell what changed."""

    def __init__(self):
        self._snapshots = {}

    def forget_frame(self, frame):
        """A new frame lives at this address."""
        self._snapshots.pop(id(frame), None)

    def remember_frame(self, frame, snapshot):
        """Keep what a frame's names look like now, for the next stop in it."""
        if snapshot is None:
            snapshot = snapshot_of(frame)
        while len(self._snapshots) >= _KEPT_FRAMES:
            self._snapshots.pop(next(iter(self._snapshots)))
        self._snapshots[id(frame)] = snapshot

    def changes_in(self, frame):
        """How a frame's names differ from its last stop; its arguments at the first."""
        now = snapshot_of(frame)
        before = self._snapshots.get(id(frame))
        if before is None:
            code = frame.f_code
            arguments = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
            now = {name: now[name] for name in arguments if name in now}
            before = {}
        return inspector.diff(before, now)


def snapshot_of(frame):
    """The frame's visible names and fingerprints, without what pydevd keeps in it."""
    namespace = frame.f_locals
    if RETURN_VALUES in namespace:
        namespace = {name: value for name, value in namespace.items() if name != RETURN_VALUES}
    return inspector.snapshot(namespace, frame.f_code)


def take_returned(frame):
    """``name() -> value`` of the call that has just returned into ``frame``, or None."""
    values = frame.f_locals.get(RETURN_VALUES)
    if not isinstance(values, dict) or not values:
        return None
    name = list(values)[-1]
    value = values[name]
    values.clear()
    return returned_text(name, value)


def own_threads():
    """Idents of pydevd's threads, which it hides from ``threading.enumerate``."""
    py_db = sys.modules["pydevd"].get_global_debugger()
    return (
        {thread.ident for thread in list(py_db.created_pydb_daemon_threads)} if py_db is not None else set()
    )
