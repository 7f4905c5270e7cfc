"""Which functions ran, how often, and when a frame is a new one: what pydevd does not keep.

pydevd asks ``apply_files_filter`` about a code object before it traces it.
Standing there shows every code object once and, up to Python 3.11, every call
of a function that has a breakpoint or is being stepped into; from 3.12 a local
``sys.monitoring`` event counts those calls.
"""

from __future__ import annotations

import sys

from . import source_lines, user_code
from .code_registry import CodeRegistry, code_lines, is_own_code
from .pydevd_stops import own_threads

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_TOOLS = (4, 3)
_NAME = "mcp-pdb"
_monitoring: Any = getattr(sys, "monitoring", None)


class Calls(CodeRegistry):
    """The registry of code that ran, kept up by pydevd's own question.

    ``has_lines(file)`` gives the watched lines of a file or None;
    ``forget_frame`` is told of frames that have just begun.
    """

    def __init__(self, has_lines, forget_frame):
        super().__init__()
        self.registry = self
        self.all_code = False
        self._has_lines = has_lines
        self._forget_frame = forget_frame
        self._starts = {}
        self._names = {}
        self._counted = {}
        self._tool = None
        self._unwinding = False
        self.on_unwind = _ignore

    def take_over(self, py_db):
        """Stand where pydevd asks what to trace."""
        original = py_db.apply_files_filter

        def apply_files_filter(frame, filename, force_check_project_scope):
            code = frame.f_code
            start = self._starts.get(id(code))
            if start is None or start[0] is not code:
                self._first(frame, code)
            elif _monitoring is None and frame.f_lasti == start[1]:
                self._note_call(frame, code)
            if self.all_code:
                return user_code.is_own(user_code.canonical(filename))
            return original(frame, filename, force_check_project_scope)

        py_db.apply_files_filter = apply_files_filter

    @property
    def holding(self):
        """Not None where other threads of the program stand still with the stopped one."""
        others = len(sys._current_frames()) - len(own_threads()) - 1
        return True if others > 0 else None

    def was_lost(self):
        """Whether Python has switched tracing off in this thread, as it does at the recursion limit."""
        return _monitoring is None and sys.gettrace() is None

    def _first(self, frame, code):
        if not hasattr(code, "co_code"):
            return
        start = _start_offset(code)
        self._starts[id(code)] = (code, start)
        if is_own_code(code.co_filename):
            return
        self.add(code)
        if frame.f_lasti <= start:
            self._note_call(frame, code)
        if _monitoring is not None:
            self._count_if_watched(code)

    def _note_call(self, frame, code):
        self.calls[id(code)] = self.calls.get(id(code), 0) + 1
        self._forget_frame(frame)

    def qualname(self, code):
        """The qualified name of a code object's function."""
        if hasattr(code, "co_qualname") or id(code) in self._qualnames or code.co_name == "<module>":
            return super().qualname(code)
        key = (code.co_filename, code.co_firstlineno, code.co_name)
        if key not in self._names:
            found = source_lines.function_at(user_code.canonical(code.co_filename), code.co_firstlineno)
            self._names[key] = found if found and found.endswith(code.co_name) else code.co_name
        return self._names[key]

    # -- counting from 3.12 on ----------------------------------------------------------

    def count(self, code):
        """Count the starts of ``code`` from now on."""
        if id(code) not in self._counted and self._has_tool():
            self._counted[id(code)] = code
            _monitoring.set_local_events(self._tool, code, _monitoring.events.PY_START)

    def watch_unwind(self, wanted):
        """Tell ``on_unwind`` of frames that an exception leaves, while ``wanted``."""
        if wanted != self._unwinding and self._has_tool():
            self._unwinding = wanted
            _monitoring.set_events(self._tool, _monitoring.events.PY_UNWIND if wanted else 0)

    def _has_tool(self):
        if _monitoring is None:
            return False
        if self._tool is None:
            free = [tool for tool in _TOOLS if _monitoring.get_tool(tool) is None]
            if not free:
                return False
            self._tool = free[0]
            _monitoring.use_tool_id(self._tool, _NAME)
            _monitoring.register_callback(self._tool, _monitoring.events.PY_START, self._on_start)
            _monitoring.register_callback(self._tool, _monitoring.events.PY_UNWIND, self._on_unwind)
        return True

    def count_watched(self, file):
        """Count the functions of ``file`` that have watched lines."""
        for code in list((self.by_file.get(file) or {}).values()):
            self._count_if_watched(code)

    def _count_if_watched(self, code):
        lines = self._has_lines(user_code.canonical(code.co_filename))
        if lines and any(line in lines for line in code_lines(code)):
            self.count(code)

    def _on_start(self, code, offset):
        self._note_call(sys._getframe(1), code)

    def _on_unwind(self, code, offset, exception):
        self.on_unwind(sys._getframe(1))


def _ignore(frame):
    pass


def _start_offset(code):
    """``f_lasti`` of a frame at its call event: -1 before 3.11, then that of the first RESUME."""
    if sys.version_info < (3, 11):
        return -1
    from opcode import opmap  # only needed from 3.11 on

    resume = opmap["RESUME"]
    instructions = code.co_code[::2]
    return 2 * instructions.index(resume) if resume in instructions else 0
