"""Finds breakpoints with ``sys.monitoring`` (Python 3.12 and later).

Every code object reports its first start once and is then left alone unless a
breakpoint lies in it; a line without a breakpoint reports once and is switched
off where it stands. So code without breakpoints runs at full speed. Stepping,
pausing and holding threads stay with ``tracing``, which is on only while one
of them is under way; the program's own ``sys.settrace`` is put back after it.
"""

from __future__ import annotations

import sys
from _thread import get_ident

from . import user_code
from .code_registry import is_own_code
from .shared_settrace import real_gettrace, real_settrace
from .tracing import Tracer

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_NAME = "mcp-pdb"
monitoring = getattr(sys, "monitoring")
_set_trace_in_all_threads = getattr(sys, "_settraceallthreads")


class MonitoringTracer(Tracer):
    """The tracer of Python 3.12 and later."""

    monitors = True

    def __init__(self, agent):
        super().__init__(agent)
        self._tool = None
        self._local = {}
        self._handled = {}
        self._program_trace = None

    def install(self):
        """Begin to watch code objects start, in all threads."""
        self._installed = True
        for tool in (monitoring.DEBUGGER_ID, 3, 4):
            if monitoring.get_tool(tool) is None:
                break
        monitoring.use_tool_id(tool, _NAME)
        self._tool = tool
        monitoring.register_callback(tool, monitoring.events.PY_START, self._on_start)
        monitoring.register_callback(tool, monitoring.events.LINE, self._on_line_reached)
        monitoring.set_events(tool, monitoring.events.PY_START)

    def revive(self):
        """Nothing: monitoring is not switched off by a failing callback."""

    def uninstall(self):
        """Stop watching for good, as in a forked child."""
        self._installed = False
        self.step = None
        self.pausing = False
        if self._tool is not None:
            monitoring.set_events(self._tool, 0)
            for event in (monitoring.events.PY_START, monitoring.events.LINE):
                monitoring.register_callback(self._tool, event, None)
        real_settrace(None)

    # -- breakpoints ------------------------------------------------------------------

    def breakpoints_changed(self):
        """Look again at all code, including frames that are running."""
        self._lines.clear()
        for codes in list(self.registry.by_file.values()):
            for code in list(codes.values()):
                self._arm(code)
        for ident, frame in sys._current_frames().items():
            while frame is not None and ident not in self.agent.ignored:
                self._arm(frame.f_code)
                frame = frame.f_back
        if self._tool is not None:
            monitoring.restart_events()

    def expect_entry(self, code):
        """Stop at the first line of this code object when it runs."""
        self.entry_code = code
        self._arm(code)
        monitoring.restart_events()

    def _arm(self, code):
        wanted = self._waits_for_line(code)
        if self._tool is None or wanted == (id(code) in self._local):
            return
        if wanted:
            self._local[id(code)] = code
        else:
            del self._local[id(code)]
        events = monitoring.events.LINE if wanted else 0
        monitoring.set_local_events(self._tool, code, events)

    def _on_start(self, code, offset):
        file = user_code.canonical(code.co_filename)
        known = self.registry.by_file.get(file)
        if known is None or id(code) not in known:
            if is_own_code(code.co_filename):
                return monitoring.DISABLE
            self.registry.add(code)
            self.agent.code_seen(code)
        self._arm(code)
        if id(code) in self._local:
            self.note_call(sys._getframe(1), code)
            return None
        return monitoring.DISABLE

    def _on_line_reached(self, code, line):
        lines = self._breakpoint_lines(code)
        at_entry = code is self.entry_code
        if not at_entry and (lines is None or line not in lines):
            return monitoring.DISABLE
        if get_ident() in self.agent.ignored:
            return None
        frame = sys._getframe(1)
        if self._handled.pop(get_ident(), None) == (id(frame), line):
            return None
        self._stop_at(frame, at_entry)
        return None

    def _stop_at(self, frame, at_entry):
        if self.holding is not None and self.holding != get_ident():
            self.agent.hold()
        if at_entry:
            self.entry_code = None
            self.agent.stop(frame, "entry")
            return
        hits = super()._hits_here(frame)
        if hits:
            self.agent.stop(frame, "breakpoint", hits=hits)

    def _hits_here(self, frame):
        lines = self._breakpoint_lines(frame.f_code)
        if lines and frame.f_lineno in lines and id(frame.f_code) in self._local:
            self._handled[get_ident()] = (id(frame), frame.f_lineno)
        return super()._hits_here(frame)

    # -- the trace function, on only while needed -----------------------------------------

    def _idle_trace(self) -> Any:
        return self._program_trace

    def set_for_thread(self):
        """Trace this thread while it is stepped; else give back the program's own trace function."""
        current = real_gettrace()
        if current is not None and current != self.on_call_stepping:
            self._program_trace = current
        super().set_for_thread()

    def _arm_all_threads(self):
        if real_gettrace() in (None, self.on_call_stepping):
            _set_trace_in_all_threads(self.on_call_stepping)
        super()._arm_all_threads()

    def _disarm_all_threads(self):
        if not self.pausing and real_gettrace() in (None, self.on_call_stepping):
            _set_trace_in_all_threads(None)
        self.set_for_thread()

    def pause_over(self):
        """A thread has stopped; nobody else has to."""
        if self.pausing:
            self.pausing = False
            self._disarm_all_threads()
