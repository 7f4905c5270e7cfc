"""What pydevd knows of a suspended thread, in the terms of ``stopped``."""

from __future__ import annotations

import sys
import threading

from . import inspector, source_lines, user_code
from .stopped import returned_text

RETURN_VALUES = "__pydevd_ret_val_dict"
_KEPT_FRAMES = 300


def frames_of(frames_list):
    """``[(frame, line)]``, innermost first, from pydevd's list."""
    lines = frames_list.frame_id_to_lineno
    return [(frame, lines.get(id(frame)) or frame.f_lineno) for frame in frames_list]


class Names:
    """Qualified names of functions, also before Python 3.11, where code objects lack them."""

    def __init__(self):
        self.registry = self
        self._known = {}

    def qualname(self, code):
        """The qualified name of a code object's function."""
        name = getattr(code, "co_qualname", None)
        if name is not None or code.co_name == "<module>":
            return name or code.co_name
        key = (code.co_filename, code.co_firstlineno, code.co_name)
        if key not in self._known:
            file = user_code.canonical(code.co_filename)
            found = source_lines.function_at(file, code.co_firstlineno)
            self._known[key] = found if found and found.endswith(code.co_name) else code.co_name
        return self._known[key]


class FrameMemory:
    """What frames held when they were last looked at, to tell what changed."""

    def __init__(self):
        self._snapshots = {}
        self._codes = {}

    def codes(self):
        """Code objects of remembered frames, by identity."""
        return self._codes

    def forget_frame(self, frame):
        """A new frame lives at this address."""
        self._snapshots.pop(id(frame), None)

    def remember_frame(self, frame, snapshot):
        """Keep what a frame's names look like now; returns whether its code is new here."""
        if snapshot is None:
            snapshot = snapshot_of(frame)
        while len(self._snapshots) >= _KEPT_FRAMES:
            self._snapshots.pop(next(iter(self._snapshots)))
        self._snapshots[id(frame)] = snapshot
        is_new = id(frame.f_code) not in self._codes
        self._codes[id(frame.f_code)] = frame.f_code
        return is_new

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
    """Idents of pydevd's and our own threads."""
    return {
        thread.ident
        for thread in threading.enumerate()
        if getattr(thread, "is_pydev_daemon_thread", False) or getattr(thread, "pydev_do_not_trace", False)
    }


def is_imported(file):
    """Whether a module of the program comes from ``file``."""
    for module in list(sys.modules.values()):
        found = module.__dict__.get("__file__") if isinstance(module, type(sys)) else None
        if isinstance(found, str) and user_code.canonical(found) == file:
            return True
    return False
