"""Our side inside a program that pydevd debugs.

pydevd traces, steps, pauses and speaks DAP. This module adds one DAP request,
``mcpPdb``, with an ``op``, and puts a report into each ``stopped`` event, so
that values, breakpoints and stops are the same as under the pdb engine. Reads
are answered by pydevd's reader thread and run no code of the program;
``evaluate`` runs in the stopped thread under a deadline.
"""

from __future__ import annotations

import atexit
import os
import sys
import threading
from contextlib import contextmanager
from functools import partial

from . import inspector, pydevd_children, pydevd_loading, pydevd_requests, stacks
from .deadline import Watchdog
from .frame_memory import FrameMemory
from .pydevd_calls import make_calls
from .pydevd_places import Places
from .pydevd_requests import COMMAND, Running
from .pydevd_steps import Steps
from .pydevd_stops import (
    frames_of,
    own_threads,
    raising_frame,
    suspended_threads,
    without_waiting,
)
from .pydevd_suspension import Suspension
from .stopped import Refused, StoppedThread, describe_failure, returned_text

_current = []
_on_begin = []
_installing = threading.Lock()


def prepare(on_begin):
    """Answer the server from now on; ``on_begin`` receives what to run."""
    _on_begin[:] = [on_begin]
    pydevd_requests.answer_with(install)


def _finish():
    for agent in _current:
        agent.finish()


def _tell_before_exiting():
    """Say the last word before pydevd cleans up, also before ``os._exit``, which runs no clean-up."""
    atexit.register(_finish)
    original = os._exit

    def _exit(status):
        _finish()
        original(status)

    os._exit = _exit


def install(py_db):
    """The agent of this process, bound to pydevd's present instance."""
    with _installing:
        if _current and _current[0].py_db is py_db:
            return _current[0]
        agent = Agent(py_db)
        pydevd_loading.share_rules(py_db)
        agent.take_over()
        if not _current:
            _tell_before_exiting()
        _current[:] = [agent]
        return agent


class Agent(FrameMemory):
    """Breakpoints, stop reports and inspection for one process."""

    def __init__(self, py_db):
        super().__init__()
        self.py_db = py_db
        self.pid = os.getpid()
        self.logs = []
        self.suspension = Suspension(py_db, self._tell)
        self.places = Places(self)
        self.tracer = make_calls(self)
        self.steps = Steps(
            py_db, self.tracer.watch_unwind, self.suspension, partial(self.places.decide, None, None)
        )
        self.ignored = set()
        self.watchdog = Watchdog(threading.main_thread().ident, self.ignored)
        self.cwd = os.getcwd()
        self.root = self.cwd
        self._stopped = None
        self._thread_id = None
        self._busy = set()
        self._finished = False

    def take_over(self):
        """Have pydevd ask us about breakpoints, and report stops our way."""
        self.py_db.mtime += os.getpid()  # pydevd takes what a parent process cached for old, not for its own
        self.py_db.handle_breakpoint_condition = self.places.decide
        self.py_db._threads_suspended_single_notification = self.suspension
        pydevd_loading.end_sessions_ourselves(self.py_db)
        self.tracer.take_over(self.py_db)
        self.tracer.on_unwind = self.steps.on_unwind
        self.steps.take_over()
        self.places.sync()

    def send_event(self, name, body):
        pydevd_requests.write(self.py_db, {"type": "event", "event": name, "body": body})

    # -- stops, in the stopping thread ------------------------------------------------

    def post_mortem(self, exc_type, exc, tb, where):
        """Stop where an exception was raised; returns when the model moves on."""
        notes = ["It failed in %s." % where] if where else []
        self.suspension.note(
            "post_mortem", exception=describe_failure(self.watchdog, exc_type, exc, tb), notes=notes
        )
        thread = threading.current_thread()
        with _untraced(self.py_db, thread):
            self.py_db.do_stop_on_unhandled_exception(thread, raising_frame(tb), {}, (exc_type, exc, tb))

    def program_breakpoint(self, *args, **options):
        """What ``breakpoint()`` in the program calls."""
        self._stop_in(sys._getframe(1))

    def program_pdb(self, frame=None, *args, **options):
        """What ``pdb.set_trace()`` in the program calls in the end, also through pytest."""
        self._stop_in(frame or sys._getframe(1))

    def replace_pdb(self):
        """The program uses pdb: stop in our session instead."""
        pdb_class = getattr(sys.modules.get("pdb"), "Pdb", None)
        if pdb_class is not None:
            pdb_class.set_trace = staticmethod(self.program_pdb)

    def _stop_in(self, frame):
        """Stop in ``frame``, which has called us; not where we run the code for the model."""
        if threading.get_ident() in self._busy or os.getpid() != self.pid:
            return
        self.suspension.note("breakpoint_call")
        thread = threading.current_thread()
        with _untraced(self.py_db, thread):
            command = sys.modules["_pydevd_bundle.pydevd_comm_constants"].CMD_SET_BREAK
            self.py_db.set_suspend(thread, command)
            self.py_db.do_wait_suspend(thread, frame, "line", None)

    def _tell(self, thread_id, thread, why):
        schema = sys.modules["_pydevd_bundle._debug_adapter.pydevd_schema"]
        body = schema.StoppedEventBody(reason="pause", threadId=thread_id, allThreadsStopped=True)
        event = schema.StoppedEvent(body).to_dict(update_ids_to_dap=True)
        try:
            event["body"][COMMAND] = self._report(thread_id, thread, why)
        except Exception as error:  # a fault of ours must not become the program's
            event["body"][COMMAND] = self._bare_report(thread, why, error)
        pydevd_requests.write(self.py_db, event)

    def _bare_report(self, thread, why, error):
        text = "The debugger failed to describe this stop (%s: %s)." % (type(error).__name__, error)
        return {
            "reason": why["reason"],
            "thread": thread.name,
            "thread_ident": thread.ident,
            "location": {"file": "", "line": 0, "function": ""},
            "source": [],
            "depth": 0,
            "changes": [],
            "changes_omitted": 0,
            "can_step": True,
            "notes": [text],
            "logs": [],
        }

    def _report(self, thread_id, thread, why):
        frames = self.py_db.suspended_frames_manager.get_frames_list(thread_id)
        alive = why["reason"] not in ("post_mortem", "exception")
        stopped = StoppedThread(self, frames_of(frames, self.py_db), thread.ident, alive)
        self._stopped, self._thread_id = stopped, thread_id
        if not alive and isinstance(frames.exc_desc, BaseException):
            stopped.exception = frames.exc_desc
        if not alive and "exception" not in why and frames.exc_type is not None:
            why["exception"] = inspector.describe_exception(
                frames.exc_type, frames.exc_desc, frames.trace_obj
            )
        self.places.drop_temporary()
        flush_output()
        report = dict(stopped.report(), logs=self.take_logs(), **why)
        returned = self.steps.returned(thread.ident)
        if alive and returned is not None:
            report["returned"] = returned_text(self.tracer.qualname(returned[0]), returned[1])
        self.tracer.count(stopped.top.f_code)
        return report

    def thread_name(self, ident):
        """A thread's name, without creating anything."""
        thread = getattr(threading, "_active").get(ident)
        return thread.name if thread is not None else "thread %d" % ident

    def take_logs(self):
        """What log points wrote since the last report."""
        logs, self.logs[:] = self.logs[:], []
        return [{"breakpoint_id": number, "text": text} for number, text in logs]

    def finish(self):
        """Say the last word: verdicts and log points. Once; waits until it is on its way."""
        if self._finished or os.getpid() != self.pid:
            return
        self._finished = True
        flush_output()
        words = {"verdicts": self.places.verdicts(), "rows": self.places.rows(), "logs": self.take_logs()}
        self.send_event("mcpPdbEnded", words)
        pydevd_requests.flush(self.py_db)
        self.py_db.dispose_and_kill_all_pydevd_threads(wait=False)

    # -- requests, in pydevd's reader thread ---------------------------------------------

    def op_hello(self, reply, cwd=None, root=None):
        self.cwd = cwd or self.cwd
        self.root = root or self.cwd
        return {
            "python_version": "%d.%d.%d" % sys.version_info[:3],
            "executable": sys.executable,
            "pid": os.getpid(),
            "parent": os.getppid(),
            "follows_children": pydevd_children.are_followed(),
        }

    def op_leave(self, reply):
        """The server goes away from a process that it had attached to."""
        self.places.clear()
        self.suspension.forget()
        self._stopped = None
        return {}

    def op_begin(self, reply, spec):
        _on_begin[0](spec)
        return {}

    def op_set_breakpoint(self, reply, spec, number=None):
        return self.places.add(spec, number)

    def op_remove_breakpoint(self, reply, number):
        self.places.remove(number)
        self.suspension.forget_breakpoint(number)
        return {}

    def op_breakpoints(self, reply):
        return {"breakpoints": self.places.describe()}

    def op_rows(self, reply, number):
        return self.places.take_rows(number)

    def op_move(self, reply, kind, all_code, file=None, line=None):
        self._standing()
        if kind == "until":
            self.places.add({"at": "%s:%d" % (file, line), "hidden": True, "once": True})
        if all_code != self.tracer.all_code:
            self.tracer.all_code = all_code
            self.py_db._clear_caches()
        self._stopped = None
        self.suspension.move(kind)
        return {}

    def op_threads(self, reply):
        flush_output()
        stopped = self._stopped if self._is_stopped() else None
        held = suspended_threads()
        threads = [
            without_waiting(row) if row["ident"] in held else row
            for row in stacks.thread_stacks(own_threads() | self.ignored)
        ]
        if stopped is not None:
            threads = stopped.among(threads)
        current = stopped.ident if stopped is not None else None
        return {"threads": threads + stacks.task_stacks(), "stopped": current}

    def op_flush(self, reply):
        flush_output()
        return {}

    def op_stack(self, reply, limit):
        return self._standing().stack(limit)

    def op_examine_locals(self, reply, **question):
        return self._standing().examine_locals(**question)

    def op_print_variable(self, reply, **question):
        return self._standing().print_variable(**question)

    def op_evaluate(self, reply, code, frame, timeout_seconds, limit_chars):
        stopped = self._standing()
        stopped.frame(frame)

        def stuck():
            reply.fail(
                "The code is inside a call that cannot be interrupted, so this thread is still busy with it; "
                "wait for it, or end the program with stop_debugger.",
                "stuck",
            )

        self._in_stopped_thread(
            reply, lambda: stopped.evaluate(code, frame, timeout_seconds, limit_chars, stuck)
        )

    def op_set_variable(self, reply, **question):
        stopped = self._standing()
        self._in_stopped_thread(reply, lambda: stopped.set_variable(**question))

    def op_pdb_command(self, reply, **question):
        stopped = self._standing()
        self._in_stopped_thread(reply, lambda: stopped.pdb_command(**question))

    # -- the present stop -------------------------------------------------------------------

    def _in_stopped_thread(self, reply, function):
        def run(py_db):
            ident = threading.get_ident()
            self._busy.add(ident)
            try:
                result = function()
            except Refused as refused:
                reply.fail(str(refused), "refused")
            except BaseException as raised:  # the boundary to the server: anything becomes an answer
                reply.fail("%s: %s" % (type(raised).__name__, raised), "internal")
            else:
                flush_output()
                reply.succeed(result)
            finally:
                self._busy.discard(ident)

        self.py_db.post_method_as_internal_command(self._thread_id, run)

    def _is_stopped(self):
        manager = self.py_db.suspended_frames_manager
        return self._stopped is not None and manager.get_frames_list(self._thread_id) is not None

    def _standing(self):
        stopped = self._stopped
        if stopped is None or not self._is_stopped():
            raise Running("The program is running; pause_execution stops it, where_am_i shows its threads.")
        return stopped


def flush_output():
    """Send on what the program printed so far."""
    for stream in (sys.__stdout__, sys.__stderr__):
        try:
            getattr(stream, "flush")()
        except (AttributeError, ValueError, OSError):
            continue


@contextmanager
def _untraced(py_db, thread):
    """Keep pydevd from tracing this thread meanwhile, as it does around its own stops."""
    monitoring = None
    if hasattr(sys, "monitoring"):
        monitoring = sys.modules.get("_pydevd_sys_monitoring.pydevd_sys_monitoring")
    info = py_db.set_additional_thread_info(thread)
    if monitoring is not None:
        monitoring.start_monitoring(all_threads=False)  # stopping has no effect before the first start
        monitoring.stop_monitoring(all_threads=False)
    info.is_tracing += 1
    try:
        yield
    finally:
        info.is_tracing -= 1
        if monitoring is not None:
            monitoring.start_monitoring(all_threads=False)
