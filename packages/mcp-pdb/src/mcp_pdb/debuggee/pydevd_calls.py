"""Which functions ran, how often, and when a frame is a new one: what pydevd does not keep.

Up to Python 3.11 pydevd asks ``apply_files_filter`` about every code object
before it traces it, and again at each call of a function that has a breakpoint
or is stepped into; standing there shows them all. From 3.12 a
``sys.monitoring`` tool of our own does, once per code object, and at every
call only for functions whose calls matter.
"""

from __future__ import annotations

import os
import sys

from . import source_lines, user_code
from .code_registry import CodeRegistry, code_lines, is_own_code
from .pydevd_stops import own_threads

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_MAX_ENTERING = 5000
_TOOLS = (4, 3)
_NAME = "mcp-pdb"
_monitoring: Any = getattr(sys, "monitoring", None)


def make_calls(agent):
    """The registry of code that suits this Python."""
    return Calls(agent) if _monitoring is None else MonitoredCalls(agent)


class Calls(CodeRegistry):
    """The registry of code that ran.

    ``agent`` answers ``places.lines_of(file)`` and is told ``forget_frame`` of
    frames that have just begun and ``replace_pdb`` when the program uses pdb.
    """

    def __init__(self, agent):
        super().__init__()
        self.registry = self
        self.all_code = False
        self.on_unwind = _ignore
        self._agent = agent
        self._starts = {}
        self._names = {}
        self._entering = set()
        self._was_lost = False

    def take_over(self, py_db):
        """Stand where pydevd asks what to trace."""
        original = py_db.apply_files_filter

        def apply_files_filter(frame, filename, force_check_project_scope):
            self._asked_about(frame, frame.f_code)
            if self.all_code:
                return user_code.is_own(user_code.canonical(filename))
            return original(frame, filename, force_check_project_scope)

        py_db.apply_files_filter = apply_files_filter

    def _asked_about(self, frame, code):
        start = self._starts.get(id(code))
        if start is None or start[0] is not code:
            self._starts[id(code)] = start = (code, _start_offset(code))
            self._first(code)
        if frame.f_lasti == start[1]:
            self._note_call(frame, code)

    def _first(self, code):
        if is_own_code(code.co_filename):
            return
        self.add(code)
        if code.co_name == "__init__" and os.path.basename(code.co_filename) == "pdb.py":
            self._agent.replace_pdb()

    def _note_call(self, frame, code):
        self.calls[id(code)] = self.calls.get(id(code), 0) + 1
        self._agent.forget_frame(frame)
        if len(self._entering) >= _MAX_ENTERING:
            self._entering.clear()
        self._entering.add(id(frame))

    def is_entering(self, frame):
        """Whether this is the first line with a breakpoint since the frame was called."""
        if id(frame) not in self._entering:
            return False
        self._entering.discard(id(frame))
        return True

    def qualname(self, code):
        """The qualified name of a code object's function."""
        if hasattr(code, "co_qualname") or id(code) in self._qualnames or code.co_name == "<module>":
            return super().qualname(code)
        key = (code.co_filename, code.co_firstlineno, code.co_name)
        if key not in self._names:
            found = source_lines.function_at(user_code.canonical(code.co_filename), code.co_firstlineno)
            self._names[key] = found if found and found.endswith(code.co_name) else code.co_name
        return self._names[key]

    @property
    def holding(self):
        """Not None where other threads of the program stand still with the stopped one."""
        others = len(sys._current_frames()) - len(own_threads()) - 1
        return True if others > 0 else None

    def was_lost(self):
        """Whether Python has switched tracing off in this thread, as it does at the recursion limit."""
        return self._was_lost or sys.gettrace() is None

    def revive(self, py_db):
        """Trace this thread again where that was switched off."""
        if sys.gettrace() is None:
            self._was_lost = True
            py_db.enable_tracing(py_db.trace_dispatch)

    def count(self, code):
        """Count the calls of ``code`` from now on; here that needs nothing."""

    def count_watched(self, file):
        """Count the functions of ``file`` that have watched lines; likewise."""

    def watch_unwind(self, wanted):
        """Tell ``on_unwind`` of frames that an exception leaves; here pydevd sees to it."""


class MonitoredCalls(Calls):
    """The same from Python 3.12 on."""

    def __init__(self, agent):
        super().__init__(agent)
        self._counted = {}
        self._tool = None
        self._events = 0

    def take_over(self, py_db):
        """Watch code objects start."""
        super().take_over(py_db)
        free = [tool for tool in _TOOLS if _monitoring.get_tool(tool) is None]
        if not free:  # the program's own tools have them all: calls are not counted
            return
        self._tool = free[0]
        _monitoring.use_tool_id(self._tool, _NAME)
        events = _monitoring.events
        _monitoring.register_callback(self._tool, events.PY_START, self._on_start)
        _monitoring.register_callback(self._tool, events.PY_UNWIND, self._on_unwind)
        self._set_events(events.PY_START)

    def _asked_about(self, frame, code):
        pass

    def was_lost(self):
        """Never: a tool is not switched off at the recursion limit."""
        return False

    def revive(self, py_db):
        """Nothing to do, likewise."""

    def count(self, code):
        """Count the calls of ``code`` from now on."""
        if id(code) not in self._counted:
            self._counted[id(code)] = code
            _monitoring.restart_events()

    def count_watched(self, file):
        """Count the functions of ``file`` that have watched lines."""
        for code in list((self.by_file.get(file) or {}).values()):
            if self._is_watched(code):
                self.count(code)

    def watch_unwind(self, wanted):
        """Tell ``on_unwind`` of frames that an exception leaves, while ``wanted``."""
        events = _monitoring.events
        self._set_events(events.PY_START | (events.PY_UNWIND if wanted else 0))

    def _set_events(self, events):
        if self._tool is not None and events != self._events:
            self._events = events
            _monitoring.set_events(self._tool, events)

    def _is_watched(self, code):
        lines = self._agent.places.lines_of(user_code.canonical(code.co_filename))
        return bool(lines) and any(line in lines for line in code_lines(code))

    def _on_start(self, code, offset):
        start = self._starts.get(id(code))
        if start is None or start[0] is not code:
            self._starts[id(code)] = (code, offset)
            self._first(code)
            if self._is_watched(code):
                self._counted[id(code)] = code
        if id(code) not in self._counted:
            return _monitoring.DISABLE
        self._note_call(sys._getframe(1), code)
        return None

    def _on_unwind(self, code, offset, exception):
        self.on_unwind(sys._getframe(1))


def _ignore(frame):
    pass


def _start_offset(code):
    """``f_lasti`` of a frame at its call event: -1 before 3.11, then that of the first RESUME."""
    if sys.version_info < (3, 11):
        return -1
    from opcode import opmap  # only needed on 3.11

    resume = opmap["RESUME"]
    instructions = code.co_code[::2]
    return 2 * instructions.index(resume) if resume in instructions else 0
