"""Finds out that the program reached a line, with ``sys.settrace``.

Up to Python 3.11 this is the whole tracer: a trace function that returns None
at once for code without breakpoints. From 3.12 ``monitoring`` finds
breakpoints and this module still steps, pauses and holds threads, so that
stepping behaves alike on every version.

Events are answered for four purposes, in this order: hold a thread while
another one is stopped, stop for a pause, stop for a finished step or a changed
watch, stop for a breakpoint.
"""

from __future__ import annotations

import sys
import threading
from _thread import get_ident

from . import user_code
from .code_registry import CodeRegistry, code_lines, is_own_code
from .shared_settrace import Shared, real_gettrace, real_settrace, share_settrace
from .suspending import COROUTINE, is_resumed, is_suspending

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_NOT_RAISED = (StopIteration, StopAsyncIteration, GeneratorExit)


class Step:
    """A movement under way in one thread."""

    __slots__ = (
        "all_code",
        "exception",
        "frame",
        "ident",
        "kind",
        "origin",
        "origin_line",
        "previous",
        "returned",
    )

    def __init__(self, kind, frame, ident, all_code=False):
        self.kind = kind  # over, into, out, watch
        self.frame = frame
        self.ident = ident
        self.all_code = all_code
        self.origin = frame
        self.origin_line = frame.f_lineno if frame is not None else 0
        self.returned = None
        self.exception = None
        self.previous: Any = None


class Tracer:
    """Steps, pauses, holds threads; finds breakpoints up to Python 3.11.

    ``agent`` answers: ``table`` (BreakpointTable), ``stop(frame, reason, ...)``
    which returns when the model moves on, ``ignored`` (idents of our own
    threads), ``reached(frame, breakpoints)`` and ``changed_watch(frame)``.
    """

    monitors = False

    def __init__(self, agent):
        self.agent = agent
        self.registry = CodeRegistry()
        self.step = None
        self.pausing = False
        self.holding = None
        self.entry_code = None
        self.entering = set()
        self.was_lost = False
        self._skip = {}
        self._lines = {}
        self._installed = False
        self.on_call = self._fast_on_call()

    # -- installing ---------------------------------------------------------------

    def install(self):
        """Begin to trace this thread and all that it will start."""
        self._installed = True
        self.set_for_thread()
        threading.settrace(self.on_call)
        share_settrace(self)

    def revive(self):
        """Trace this thread again when Python has switched that off.

        It does so when a trace function cannot be called, that is at the
        recursion limit.
        """
        if self._installed and real_gettrace() is None:
            self.was_lost = True
            self.set_for_thread()

    def uninstall(self):
        """Stop tracing for good, as in a forked child."""
        self._installed = False
        self.step = None
        self.pausing = False
        self._set_trace(None)
        threading.settrace(None)

    def set_for_thread(self):
        """Give the current thread the trace function it needs now."""
        step, ident = self.step, get_ident()
        if self._wanted(ident) or (step is not None and step.ident == ident):
            self._set_trace(self.on_call_stepping)
        else:
            self._set_trace(self._idle_trace())

    def _idle_trace(self) -> Any:
        return self.on_call

    def _set_trace(self, function):
        if not isinstance(real_gettrace(), Shared):
            real_settrace(function)

    # -- what changed ---------------------------------------------------------------

    def breakpoints_changed(self):
        """Look again at all code, including frames that are running."""
        self._skip.clear()
        self._lines.clear()
        for ident, frame in sys._current_frames().items():
            if ident not in self.agent.ignored:
                self._trace_running(frame)

    def _trace_running(self, frame):
        while frame is not None:
            if frame.f_trace is None and self._breakpoint_lines(frame.f_code):
                frame.f_trace = self.on_event
            frame = frame.f_back

    def expect_entry(self, code):
        """Stop at the first line of this code object when it runs."""
        self.entry_code = code
        self._skip.pop(id(code), None)

    def _breakpoint_lines(self, code):
        """The lines of this code object that have breakpoints, or None."""
        known = self._lines.get(id(code))
        if known is None:
            lines = self.agent.table.lines_of(user_code.canonical(code.co_filename))
            own = frozenset(line for line in code_lines(code) if line in lines) if lines else frozenset()
            known = self._lines[id(code)] = (own, code)
        return known[0] or None

    # -- trace functions ------------------------------------------------------------

    def _fast_on_call(self):
        """The trace function of a thread that runs freely; a closure, for speed."""
        skip, first_call, identity = self._skip, self._first_call, id

        def on_call(frame, event, arg):
            if identity(frame.f_code) in skip:
                return None
            return first_call(frame, frame.f_code)

        return on_call

    def _first_call(self, frame, code):
        ident = get_ident()
        if ident in self.agent.ignored or not self._installed:
            return None
        if self._wanted(ident) and not is_own_code(code.co_filename):
            return self.on_event
        key = id(code)
        known = self.registry.by_file.get(user_code.canonical(code.co_filename))
        if known is None or key not in known:
            self.registry.add(code)
            self.agent.code_seen(code)
        if code is not self.entry_code and not self._breakpoint_lines(code):
            self._skip[key] = code
            return None
        if not is_resumed(frame):
            self.note_call(frame, code)
        return self.on_event

    def note_call(self, frame, code):
        """Count a call and forget what an older frame at this address looked like."""
        calls = self.registry.calls
        calls[id(code)] = calls.get(id(code), 0) + 1
        self.agent.forget_frame(frame)
        self.entering.add(id(frame))

    def is_entering(self, frame):
        """Whether this is the first line with a breakpoint since the frame was called."""
        if id(frame) not in self.entering:
            return False
        self.entering.discard(id(frame))
        return True

    def on_call_stepping(self, frame, event, arg):
        """The trace function of the thread that is being stepped, or held."""
        ident = get_ident()
        if ident in self.agent.ignored:
            return None
        found = None if self.monitors else self.on_call(frame, event, arg)
        step = self.step
        if self._wanted(ident):
            return self.on_event
        if step is None or step.ident != ident:
            return found
        if step.kind in ("into", "watch") and self._may_enter(frame, step):
            self.agent.forget_frame(frame)
            return self.on_event
        return found

    def _wanted(self, ident):
        """Whether this thread has to stand still at its next line."""
        return self.pausing or (self.holding is not None and self.holding != ident)

    def _may_enter(self, frame, step):
        if is_own_code(frame.f_code.co_filename):
            return False
        return step.all_code or user_code.is_user_code(frame.f_code.co_filename)

    def on_event(self, frame, event, arg):
        """The local trace function of every frame that matters."""
        if event == "line" and self.step is None and self._is_calm():
            return self._on_calm_line(frame)
        ident = get_ident()
        if self.holding is not None and self.holding != ident and ident not in self.agent.ignored:
            self.agent.hold()
        if event == "line":
            self._on_line(frame, ident)
        elif event == "return":
            self._on_return(frame, arg, ident)
        elif event == "exception":
            step = self.step
            if step is not None and step.ident == ident and frame is step.frame:
                step.exception = None if issubclass(arg[0], _NOT_RAISED) else arg
        if self._idle(frame, ident):
            frame.f_trace = None
            return None
        return self.on_event

    def _is_calm(self):
        return self.holding is None and self.entry_code is None and not self.pausing

    def _on_calm_line(self, frame):
        """Nothing but a breakpoint matters: the path that loops take."""
        known = self._lines.get(id(frame.f_code))
        lines = known[0] if known is not None else self._breakpoint_lines(frame.f_code)
        if not lines:
            frame.f_trace = None
            return None
        if frame.f_lineno in lines:
            hits = self._hits_here(frame)
            if hits:
                self.agent.stop(frame, "breakpoint", hits=hits)
        return self.on_event

    def _idle(self, frame, ident):
        """Whether no event of this frame matters any more."""
        if self.step is not None and self.step.ident == ident:
            return False
        return not self._wanted(ident) and not self._waits_for_line(frame.f_code)

    def _waits_for_line(self, code):
        return code is self.entry_code or self._breakpoint_lines(code) is not None

    def _on_line(self, frame, ident):
        if self.entry_code is frame.f_code:
            self.entry_code = None
            self.agent.stop(frame, "entry")
            return
        hits = self._hits_here(frame)
        if hits:
            self.agent.stop(frame, "breakpoint", hits=hits)
            return
        if self.pausing and user_code.is_user_code(frame.f_code.co_filename):
            self.agent.stop(frame, "pause")
            return
        step = self.step
        if step is not None and step.ident == ident:
            self._step_on_line(frame, step)

    def _hits_here(self, frame):
        lines = self.agent.table.lines_of(user_code.canonical(frame.f_code.co_filename))
        if not lines or frame.f_lineno not in lines:
            return None
        return self.agent.reached(frame, lines[frame.f_lineno])

    def _step_on_line(self, frame, step):
        if step.kind == "watch":
            changes = self.agent.changed_watch(frame)
            previous, step.previous = step.previous, (frame.f_code, frame.f_lineno)
            if changes:
                self.agent.stop(frame, "watch", watch=changes, previous=previous)
        elif step.kind == "into":
            if self._may_enter(frame, step):
                self.agent.stop(frame, "step")
        elif frame is step.frame:
            if step.kind == "over":
                self.agent.stop(frame, "step")
            else:
                step.exception = None

    def _on_return(self, frame, value, ident):
        step = self.step
        if step is None or step.ident != ident:
            return
        if step.kind == "watch":
            self._trace_caller(frame, step)
            return
        if frame is not step.frame:
            if step.kind == "into":
                self._trace_caller(frame, step)
            return
        suspends = step.exception is None and is_suspending(frame)
        if suspends and (step.kind != "out" or frame.f_code.co_flags & COROUTINE):
            if step.kind == "into":
                self._trace_caller(frame, step)
            return
        step.returned = None if step.exception else (frame, value)
        caller = self._trace_caller(frame, step)
        if step.kind == "out" and caller is not None and caller is frame.f_back:
            self.agent.stop(caller, "step")
        else:
            step.kind = "into"
            step.frame = None
            self.set_for_thread()

    def _trace_caller(self, frame, step):
        caller = frame.f_back
        while caller is not None and not self._may_enter(caller, step):
            caller = caller.f_back
        if caller is not None:
            caller.f_trace = self.on_event
        return caller

    # -- moving on from a stop, in the stopped thread -----------------------------------

    def move(self, step, frame):
        """Go on with ``step``, or freely when it is None."""
        self.step = step
        if step is not None:
            walker = frame
            while walker is not None:
                if walker is frame or self._may_enter(walker, step):
                    walker.f_trace = self.on_event
                    if step.kind != "watch":
                        break
                walker = walker.f_back
        self.set_for_thread()

    def request_pause(self):
        """Stop the first thread that reaches a line of user code."""
        self.pausing = True
        self._arm_all_threads()

    def pause_over(self):
        """A thread has stopped; nobody else has to."""
        self.pausing = False

    def hold_others(self, ident):
        """Hold every other thread at its next line."""
        if len(sys._current_frames()) <= 1 + len(self.agent.ignored):
            return
        self.holding = ident
        self._arm_all_threads()

    def release_others(self):
        """Let the held threads run on."""
        if self.holding is not None:
            self.holding = None
            self._disarm_all_threads()

    def _arm_all_threads(self):
        self._skip.clear()
        me = get_ident()
        for ident, frame in sys._current_frames().items():
            if ident == me or ident in self.agent.ignored:
                continue
            while frame is not None:
                if not is_own_code(frame.f_code.co_filename):
                    frame.f_trace = self.on_event
                frame = frame.f_back

    def _disarm_all_threads(self):
        """Local trace functions left on frames answer every event with nothing to do."""
