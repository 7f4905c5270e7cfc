"""The pdb engine's inside: answers the server from within the program.

Three kinds of thread take part. The *control thread* reads requests and answers
those that need no stopped thread, also while the program runs. A *stopped
thread* waits in ``stop`` and answers questions about itself until it is told
how to move on; while it waits every other thread of the program is held at its
next line. The *watchdog* ends evaluations that take too long.
"""

from __future__ import annotations

import atexit
import os
import sys
import threading
from _queue import SimpleQueue
from _thread import allocate_lock, get_ident, start_new_thread
from functools import partial
from time import sleep

from . import breakpoints, inspector, stacks
from .breakpoints import BreakpointTable, Rejected
from .deadline import Deadline, Watchdog, raise_in_thread
from .frame_memory import FrameMemory
from .stopped import (
    Refused,
    StoppedThread,
    describe_failure,
    frames_from,
    frames_of_traceback,
    returned_text,
)
from .tracing import Step, Tracer
from .watches import Watch
from .wire import ChannelClosed

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_CONDITION_SECONDS = 10.0
_STACK_RESERVE = 500
_LOST_SERVER = 113
_LOST_TRACE = (
    "; note that the program reached the recursion limit, where Python before 3.12 switches tracing off: "
    "later lines could not stop (use a newer Python)"
)
_FORKED = "; note that the program forked, and this engine does not follow children (engine='debugpy' does)"
_WATCH_SECONDS = 2.0
_WATCH_OVER = "<did not finish within %g s; it is no longer watched>" % _CONDITION_SECONDS
_STUCK = (
    "The code is inside a call that cannot be interrupted, so this thread is still busy with it; "
    "wait for it, or end the program with stop_debugger."
)


class Agent(FrameMemory):
    """One program under the pdb engine."""

    def __init__(self, channel):
        super().__init__()
        self.channel = channel
        self.pid = os.getpid()
        self.table = BreakpointTable()
        self.tracer = _make_tracer(self)
        self.ignored = set()
        self.watchdog = Watchdog(get_ident(), self.ignored)
        self.logs = []
        self.spec = {}
        self._inbox = SimpleQueue()
        self._stopped = None
        self._is_stuck = False
        self._forks = 0
        self._world = allocate_lock()
        self._begun = allocate_lock()
        self._begun.acquire()
        self._watches = []
        self._deferred = []

    # -- life -------------------------------------------------------------------------

    def start(self):
        """Greet the server and begin to answer it."""
        self.channel.send(
            {
                "event": "hello",
                "pid": self.pid,
                "executable": sys.executable,
                "version": "%d.%d.%d" % sys.version_info[:3],
            }
        )
        atexit.register(self._ended)
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_parent=self._count_fork, after_in_child=self._leave_child_alone)
        start_new_thread(self._control, ())

    def wait_for_begin(self):
        """Block until the server says what to run; returns the run's description."""
        self._begun.acquire()
        return self.spec

    def _count_fork(self):
        self._forks += 1

    def _leave_child_alone(self):
        self.channel.close()
        self.tracer.uninstall()
        self.pid = -1

    def _ended(self):
        if os.getpid() != self.pid:
            return
        flush_output()
        self.tracer.revive()
        try:
            self.channel.send(self._farewell())
        except Exception:  # a fault of ours must not show in the program's last words
            self.channel.send({"event": "internal", "traceback": _traceback_text()})

    def _farewell(self):
        verdicts = []
        registry = self.tracer.registry
        for breakpoint in self.table.visible():
            loaded = registry.functions_run(breakpoint.file)
            calls = registry.calls_of(breakpoint.file, breakpoint.function)
            explanation = breakpoints.explain(breakpoint, loaded, calls, inspector.summarize)
            if explanation:
                explanation += _LOST_TRACE if self.tracer.was_lost else ""
                explanation += _FORKED if self._forks else ""
            verdicts.append(
                {
                    "breakpoint": breakpoint.describe(loaded is not None),
                    "hit_count": breakpoint.fired,
                    "explanation": explanation,
                }
            )
        rows = {
            breakpoint.id: breakpoint.rows
            for breakpoint in self.table.hidden()
            if breakpoint.rows is not None
        }
        return {"event": "ended", "verdicts": verdicts, "logs": self.take_logs(), "rows": rows}

    # -- hooks of run_target ----------------------------------------------------------------

    def begin(self):
        """User code is about to run for the first time."""
        if os.environ.get("PYTHONBREAKPOINT") in (None, ""):
            sys.breakpointhook = partial(_stop_instead, self, None)
        self.tracer.install()
        self.tracer.breakpoints_changed()

    def entry(self, code):
        """Stop at the first line of this code object."""
        self.tracer.expect_entry(code)

    def failure(self, exc_type, exc, traceback, where):
        """Stand still where the exception was raised until the model moves on."""
        if os.getpid() != self.pid or traceback is None or exc_type is Deadline:
            return
        frames = frames_of_traceback(traceback)
        notes = ["It failed in %s." % where] if where else []
        stopped = StoppedThread(self, frames, get_ident(), alive=False)
        stopped.exception = exc
        self._stand(
            stopped,
            "post_mortem",
            exception=describe_failure(self.watchdog, exc_type, exc, traceback),
            notes=notes,
        )

    def note(self, kind, data):
        """Pass a fact of the run on to the server."""
        if os.getpid() == self.pid:
            self.tracer.revive()
            self.channel.send({"event": "note", "kind": kind, "data": data})

    def code_seen(self, code):
        """A code object runs for the first time; the program's own ``pdb`` becomes ours."""
        if code.co_name == "__init__" and os.path.basename(code.co_filename) == "pdb.py":
            real_pdb = sys.modules.get("pdb")
            if real_pdb is not None and hasattr(real_pdb, "Pdb"):
                real_pdb.Pdb.set_trace = partial(_stop_instead, self)

    # -- stops ----------------------------------------------------------------------------

    def stop(self, frame, reason, hits=(), watch=(), previous=None):
        """Stand still at ``frame`` until the model moves on; called from a trace function."""
        limit = sys.getrecursionlimit()
        sys.setrecursionlimit(limit + _STACK_RESERVE)
        try:
            self._stop(frame, reason, hits, watch, previous)
        except Exception:  # a fault of ours must not become the program's
            self.channel.send({"event": "internal", "traceback": _traceback_text()})
        finally:
            sys.setrecursionlimit(limit)
        self._deliver_deferred()

    def _deliver_deferred(self):
        """Raise what signal handlers of the program raised while it stood still."""
        ident = get_ident()
        for entry in [entry for entry in self._deferred if entry[0] == ident]:
            self._deferred.remove(entry)
            start_new_thread(_raise_soon, entry)

    def _stop(self, frame, reason, hits, watch, previous):
        step = self.tracer.step
        facts: dict[str, Any] = {"notes": []}
        if step is not None and step.ident == get_ident():
            self._tell_of_step(step, frame, facts)
        if hits:
            facts["breakpoint_ids"] = [hit.breakpoint.id for hit in hits if not hit.breakpoint.hidden]
            errors = [hit.error for hit in hits if hit.error]
            facts["condition_error"] = errors[0] if errors else None
            for hit in hits:
                if hit.breakpoint.once and self.table.contains(hit.breakpoint):
                    self.table.remove(hit.breakpoint.id)
            reason = reason if facts["breakpoint_ids"] else "step"
        if watch:
            facts["watch"] = watch
            facts["watch_line"] = self._line_of(previous)
        self._stand(StoppedThread(self, frames_from(frame), get_ident()), reason, **facts)

    def _tell_of_step(self, step, frame, facts):
        if step.returned is not None:
            left, value = step.returned
            facts["returned"] = returned_text(self.tracer.registry.qualname(left.f_code), value)
        if step.exception is not None:
            facts["exception"] = describe_failure(self.watchdog, *step.exception)
        if step.kind == "into" and frame.f_back is step.origin and step.returned is None:
            facts["notes"].append("Stepped into %s." % self.tracer.registry.qualname(frame.f_code))

    def _line_of(self, previous):
        if previous is None:
            return None
        code, line = previous
        return {"file": code.co_filename, "line": line, "function": self.tracer.registry.qualname(code)}

    def _stand(self, stopped, reason, **facts):
        """Report the stop and answer questions until told to move on."""
        with self._world:
            self.tracer.pause_over()
            self.tracer.step = None
            self._drop_temporary()
            self.tracer.hold_others(stopped.ident)
            flush_output()
            self._stopped = stopped
            event = dict(stopped.report(), event="stopped", reason=reason, logs=self.take_logs(), **facts)
            self.channel.send(event)
            try:
                movement = _RUN_ON if self.channel.is_lost else self._answer_until_moved(stopped)
            finally:
                self._stopped = None
                self.tracer.release_others()
            self._move(stopped, movement)

    def _drop_temporary(self):
        temporary = [breakpoint for breakpoint in self.table.hidden() if breakpoint.rows is None]
        for breakpoint in temporary:
            self.table.remove(breakpoint.id)
        if temporary:
            self.tracer.breakpoints_changed()

    def _answer_until_moved(self, stopped):
        while True:
            request = self._take_request()
            if request["method"] == "resume":
                self._stopped = None
                self.channel.send({"id": request["id"], "result": {}})
                return request["params"]
            self._answer(request, partial(self._ask, stopped, request))

    def _take_request(self):
        while True:
            try:
                return self._inbox.get()
            except BaseException as raised:  # a signal handler of the program, kept for later
                self._deferred.append((get_ident(), type(raised)))

    def _ask(self, stopped, request, params):
        method = request["method"]
        if method == "watch":
            return self._add_watch(stopped, **params)
        if method in _RUNS_USER_CODE:
            params["on_stuck"] = partial(self._tell_stuck, request)
        try:
            return getattr(stopped, method)(**params)
        finally:
            self._is_stuck = False

    def _tell_stuck(self, request):
        request["answered"] = self._is_stuck = True
        self.channel.send({"id": request["id"], "error": {"kind": "stuck", "message": _STUCK}})

    def _move(self, stopped, movement):
        kind = movement["kind"]
        if kind == "until":
            self._run_until(movement["file"], movement["line"])
        if not stopped.alive:
            self.tracer.move(None, None)
            return
        step = None
        if kind in ("over", "into", "out"):
            step = Step(kind, stopped.top, stopped.ident, movement.get("all_code", False))
        elif self._watches:
            step = Step("watch", stopped.top, stopped.ident)
            step.previous = (stopped.top.f_code, stopped.top.f_lineno)
        self.tracer.move(step, stopped.top)

    def _run_until(self, file, line):
        place = breakpoints.place_of("%s:%d" % (file, line), self.spec["cwd"], self.spec["root"])
        self.table.add({"hidden": True, "once": True}, place)
        self.tracer.breakpoints_changed()

    def hold(self):
        """Wait while another thread is stopped."""
        while True:
            try:
                self._world.acquire()
            except BaseException as raised:  # a signal handler of the program, kept for later
                self._deferred.append((get_ident(), type(raised)))
            else:
                self._world.release()
                self._deliver_deferred()
                return

    # -- what the tracer asks -----------------------------------------------------------------

    def reached(self, frame, at_line):
        """The breakpoints at this line that want a stop."""
        entered = self.tracer.registry.qualname(frame.f_code) if self.tracer.is_entering(frame) else None
        try:
            return self.watchdog.run_light(
                breakpoints.reached, at_line, frame, entered, self.logs, inspector.summarize
            )
        except Deadline:
            text = "the condition or log expression did not finish within %g s" % _CONDITION_SECONDS
            return [breakpoints.Hit(at_line[0], text)]

    def changed_watch(self, frame):
        """Watched values that differ from the last look, as changes; their new values are kept."""
        changes = []
        for watch in list(self._watches):
            try:
                change = self.watchdog.run_light(watch.look)
            except Deadline:
                self._watches.remove(watch)
                change = {"name": watch.expression, "old": watch.text, "new": _WATCH_OVER}
            if change is not None:
                changes.append(change)
        return changes

    def _add_watch(self, stopped, expression, frame, mode):
        watch = self.watchdog.run(partial(Watch, expression, stopped.frame(frame), mode), _WATCH_SECONDS)
        self.watchdog.expect_light(_CONDITION_SECONDS)
        self._watches.append(watch)
        return {"value": watch.text}

    # -- what reports say --------------------------------------------------------------------

    def thread_name(self, ident):
        """A thread's name, without importing or creating anything."""
        thread = getattr(threading, "_active", {}).get(ident)
        return thread.name if thread is not None else "thread %d" % ident

    def take_logs(self):
        """What log points wrote since the last report."""
        logs, self.logs[:] = self.logs[:], []
        return [{"breakpoint_id": number, "text": text} for number, text in logs]

    # -- the control thread ---------------------------------------------------------------------

    def _control(self):
        self.ignored.add(get_ident())
        while True:
            try:
                request = self.channel.receive()
            except (ChannelClosed, OSError, ValueError):
                if self.channel.is_lost and self._stopped is None:
                    return  # the program closed our descriptor: it runs on, unwatched
                os._exit(_LOST_SERVER)
            handler = _CONTROL.get(request["method"])
            if handler is not None:
                self._answer(request, partial(_called_with, handler, self))
                if handler is Agent._on_begin:
                    self._begun.release()  # only now: a program may end before an answer is sent
            elif self._stopped is None:
                message = "The program is running; pause_execution stops it, where_am_i shows its threads."
                self.channel.send({"id": request["id"], "error": {"kind": "running", "message": message}})
            elif self._is_stuck:
                self.channel.send({"id": request["id"], "error": {"kind": "stuck", "message": _STUCK}})
            else:
                self._inbox.put(request)

    def _answer(self, request, function):
        try:
            message = {"result": function(request.get("params") or {})}
        except (Refused, Rejected) as refused:
            message = {"error": {"kind": "refused", "message": str(refused)}}
        except Deadline:
            message = {"error": {"kind": "refused", "message": "It took too long and was interrupted."}}
        except BaseException as raised:  # the boundary to the server: anything becomes an answer
            text = "%s: %s" % (type(raised).__name__, raised)
            message = {"error": {"kind": "internal", "message": text, "traceback": _traceback_text()}}
        if not request.get("answered"):
            message["id"] = request["id"]
            self.channel.send(message)

    def _on_begin(self, spec):
        self.spec.update(spec)
        return {}

    def _on_set_breakpoint(self, spec, cwd, root):
        place = breakpoints.place_of(spec["at"], cwd, root, spec.get("occurrence"))
        breakpoint = self.table.add(spec, place)
        if breakpoint.condition or breakpoint.log:
            self.watchdog.expect_light(_CONDITION_SECONDS)
        self.tracer.breakpoints_changed()
        return breakpoint.describe(breakpoint.file in self.tracer.registry.by_file)

    def _on_remove_breakpoint(self, number):
        self.table.remove(number)
        self.tracer.breakpoints_changed()
        return {}

    def _on_breakpoints(self):
        loaded = self.tracer.registry.by_file
        return [breakpoint.describe(breakpoint.file in loaded) for breakpoint in self.table.visible()]

    def _on_rows(self, number):
        breakpoint = self.table.remove(number)
        self.tracer.breakpoints_changed()
        return {"rows": breakpoint.rows}

    def _on_pause(self):
        if self._stopped is None:
            self.tracer.request_pause()
        return {"stopped": self._stopped is not None}

    def _on_threads(self):
        flush_output()
        threads = stacks.thread_stacks(set(self.ignored))
        stopped = self._stopped
        return (stopped.among(threads) if stopped is not None else threads) + stacks.task_stacks()


_RUN_ON = {"kind": "continue"}
_RUNS_USER_CODE = ("evaluate", "set_variable", "pdb_command")
_CONTROL = {
    "begin": Agent._on_begin,
    "set_breakpoint": Agent._on_set_breakpoint,
    "remove_breakpoint": Agent._on_remove_breakpoint,
    "breakpoints": Agent._on_breakpoints,
    "rows": Agent._on_rows,
    "pause": Agent._on_pause,
    "threads": Agent._on_threads,
}


def _called_with(handler, agent, params):
    return handler(agent, **params)


def _stop_instead(agent, frame=None, *args, **keywords):
    """What ``pdb.set_trace()`` does in a program that is debugged already."""
    stopped = agent._stopped
    if os.getpid() == agent.pid and (stopped is None or stopped.ident != get_ident()):
        agent.stop(frame or sys._getframe(1), "breakpoint_call")


def _raise_soon(ident, exception_type):
    """From a thread of its own, so that the program's code raises and not the trace function."""
    sleep(0.001)
    raise_in_thread(ident, exception_type)


def flush_output():
    """Send on what the program printed so far."""
    for stream in (sys.__stdout__, sys.__stderr__):
        try:
            if stream is not None:
                stream.flush()
        except (ValueError, OSError):
            continue


def _make_tracer(agent):
    if hasattr(sys, "monitoring"):
        from .monitoring import MonitoringTracer  # exists only for 3.12 and later

        return MonitoringTracer(agent)
    return Tracer(agent)


def _traceback_text():
    from traceback import format_exc  # only for a failure of our own

    return format_exc()
