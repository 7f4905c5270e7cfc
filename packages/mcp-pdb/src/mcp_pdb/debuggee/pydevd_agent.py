"""Our side inside a program that pydevd debugs.

pydevd traces, steps, pauses and speaks DAP. This module adds one DAP request,
``mcpPdb``, with an ``op``, and puts a report into each ``stopped`` event, so
that values, breakpoints and stops are the same as under the pdb engine. Reads
are answered by pydevd's reader thread and run no code of the program;
``evaluate`` runs in the stopped thread under a deadline.
"""

from __future__ import annotations

import atexit
import json
import os
import sys
import threading
from contextlib import contextmanager

from . import breakpoints, inspector, pydevd_children, pydevd_loading, stacks
from .deadline import Watchdog
from .pydevd_calls import make_calls
from .pydevd_places import Places
from .pydevd_steps import Steps
from .pydevd_stops import FrameMemory, frames_of, own_threads, suspended_threads, without_waiting
from .stopped import Refused, StoppedThread, returned_text

COMMAND = "mcpPdb"
_CMD_RETURN = 502
_MARK = b'"' + COMMAND.encode("ascii") + b'"'
_current = []
_on_begin = []
_installing = threading.Lock()


class Running(Exception):
    """The question is about a stopped program, and it runs."""


def prepare(on_begin):
    """Answer ``mcpPdb`` requests from now on; ``on_begin`` receives what to run."""
    _on_begin[:] = [on_begin]
    processor = sys.modules["_pydevd_bundle.pydevd_process_net_command_json"].PyDevJsonCommandProcessor
    if not getattr(processor, COMMAND, False):
        setattr(processor, COMMAND, True)
        processor.process_net_command_json = _answering(processor.process_net_command_json)
    reader = getattr(sys.modules["pydevd"].get_global_debugger(), "reader", None)
    if reader is not None:
        pydevd_loading.send_at_once(reader.sock)
        bound = reader.process_net_command_json
        reader.process_net_command_json = processor.process_net_command_json.__get__(bound.__self__)


def _answering(original):
    def process(self, py_db, contents, *rest, **options):
        if isinstance(contents, bytes) and _MARK in contents:
            request = json.loads(contents.decode("utf-8"))
            if request.get("command") == COMMAND:
                _dispatch(py_db, request)
                return None
        return original(self, py_db, contents, *rest, **options)

    return process


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


def _dispatch(py_db, request):
    arguments = request.get("arguments") or {}
    agent = install(py_db)
    reply = Reply(agent.py_db, request)
    try:
        result = getattr(agent, "op_" + arguments.pop("op"))(reply=reply, **arguments)
    except (breakpoints.Rejected, Refused) as error:
        reply.fail(str(error), "refused")
    except Running as error:
        reply.fail(str(error), "running")
    except Exception as error:
        reply.fail("%s: %s" % (type(error).__name__, error), "internal")
    else:
        if result is not None:
            reply.succeed(result)


class Reply:
    """Answers one request, once."""

    def __init__(self, py_db, request):
        self._py_db = py_db
        self._request = request
        self._sent = False

    def succeed(self, body):
        self._send({"success": True, "body": body})

    def fail(self, message, kind):
        """Refuse; as a success in DAP's terms, since adapters pass no body of a failure on."""
        self._send({"success": True, "body": {"refusal": {"kind": kind, "message": message}}})

    def _send(self, fields):
        if self._sent:
            return
        self._sent = True
        message = dict(fields, type="response", request_seq=self._request["seq"], command=COMMAND)
        write(self._py_db, message)


def write(py_db, message):
    """Queue a DAP message."""
    command = sys.modules["_pydevd_bundle.pydevd_net_command"].NetCommand
    py_db.writer.add_command(command(_CMD_RETURN, 0, message, is_json=True))


class Agent(FrameMemory):
    """Breakpoints, stop reports and inspection for one process."""

    def __init__(self, py_db):
        super().__init__()
        self.py_db = py_db
        self.pid = os.getpid()
        self.logs = []
        self.places = Places(self)
        self.tracer = make_calls(self)
        self.steps = Steps(py_db, self.tracer.watch_unwind)
        self.ignored = set()
        self.watchdog = Watchdog(threading.main_thread().ident, self.ignored)
        self.cwd = os.getcwd()
        self.root = self.cwd
        self._reasons = {}
        self._stopped = None
        self._thread_id = None
        self._busy = set()
        self._finished = False

    def take_over(self):
        """Have pydevd ask us about breakpoints, and report stops our way."""
        self.py_db.mtime += os.getpid()  # pydevd takes what a parent process cached for old, not for its own
        self.py_db.handle_breakpoint_condition = self.places.decide
        self.py_db.cmd_factory.make_thread_suspend_single_notification = self._suspend_notification
        pydevd_loading.end_sessions_ourselves(self.py_db)
        self.tracer.take_over(self.py_db)
        self.tracer.on_unwind = self.steps.on_unwind
        self.steps.take_over()
        self.places.sync()

    def send_event(self, name, body):
        write(self.py_db, {"type": "event", "event": name, "body": body})

    # -- stops, in the stopping thread ------------------------------------------------

    def note_reason(self, reason, **facts):
        """Why this thread is about to stop."""
        self._reasons[threading.get_ident()] = dict(facts, reason=reason)

    def post_mortem(self, exc_type, exc, tb, where):
        """Stop where an exception was raised; returns when the model moves on."""
        notes = ["It failed in %s." % where] if where else []
        self.note_reason(
            "post_mortem", exception=inspector.describe_exception(exc_type, exc, tb), notes=notes
        )
        self.py_db.trigger_exception_handler((exc_type, exc, tb), as_uncaught=False)

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
        self.note_reason("breakpoint_call")
        thread = threading.current_thread()
        with _untraced(self.py_db, thread):
            command = sys.modules["_pydevd_bundle.pydevd_comm_constants"].CMD_SET_BREAK
            self.py_db.set_suspend(thread, command)
            self.py_db.do_wait_suspend(thread, frame, "line", None)

    def _suspend_notification(self, py_db, thread_id, thread, stop_reason):
        schema = sys.modules["_pydevd_bundle._debug_adapter.pydevd_schema"]
        body = schema.StoppedEventBody(reason="pause", threadId=thread_id, allThreadsStopped=True)
        event = schema.StoppedEvent(body).to_dict(update_ids_to_dap=True)
        event["body"][COMMAND] = self._report(thread_id, thread, stop_reason)
        command = sys.modules["_pydevd_bundle.pydevd_net_command"].NetCommand
        return command(_CMD_RETURN, 0, event, is_json=True)

    def _report(self, thread_id, thread, stop_reason):
        why: dict = self._reasons.pop(thread.ident, None) or {"reason": _reason_name(stop_reason)}
        self._reasons.clear()
        frames = self.py_db.suspended_frames_manager.get_frames_list(thread_id)
        alive = why["reason"] not in ("post_mortem", "exception")
        stopped = StoppedThread(self, frames_of(frames, self.py_db), thread.ident, alive)
        self._stopped, self._thread_id = stopped, thread_id
        if not alive and "exception" not in why and frames.exc_type is not None:
            why["exception"] = inspector.describe_exception(
                frames.exc_type, frames.exc_desc, frames.trace_obj
            )
        self.places.drop_temporary()
        report = dict(stopped.report(), logs=self.take_logs(), **why)
        returned = self.steps.returned(thread.ident)
        if returned is not None:
            report["returned"] = returned_text(self.tracer.qualname(returned[0]), returned[1])
        self.remember_frame(stopped.top, None)
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
        self.send_event("mcpPdbEnded", {"verdicts": self.places.verdicts(), "logs": self.take_logs()})
        _flush(self.py_db)
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
        return {}

    def op_begin(self, reply, spec):
        _on_begin[0](spec)
        return {}

    def op_set_breakpoint(self, reply, spec, number=None):
        return self.places.add(spec, number)

    def op_remove_breakpoint(self, reply, number):
        self.places.remove(number)
        return {}

    def op_breakpoints(self, reply):
        return {"breakpoints": self.places.describe()}

    def op_until(self, reply, file, line):
        return self.places.add({"at": "%s:%d" % (file, line), "hidden": True, "once": True})

    def op_rows(self, reply, number):
        return self.places.take_rows(number)

    def op_all_code(self, reply, on):
        if on != self.tracer.all_code:
            self.tracer.all_code = on
            self.py_db._clear_caches()
        return {}

    def op_threads(self, reply):
        flush_output()
        stopped = self._stopped.ident if self._stopped is not None and self._is_stopped() else None
        held = suspended_threads()
        threads = [
            without_waiting(row) if row["ident"] in held else row
            for row in stacks.thread_stacks(own_threads() | self.ignored)
        ]
        return {"threads": threads + stacks.task_stacks(), "stopped": stopped}

    def op_flush(self, reply):
        flush_output()
        return {}

    def op_stack(self, reply, limit):
        return self._standing().stack(limit)

    def op_locals(self, reply, **question):
        return self._standing().examine_locals(**question)

    def op_value(self, reply, **question):
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
    monitoring = sys.modules.get("_pydevd_sys_monitoring.pydevd_sys_monitoring")
    suspend = getattr(monitoring, "suspend_current_thread_tracing", None)
    info = py_db.set_additional_thread_info(thread)
    was_traced = suspend() if suspend is not None and hasattr(sys, "monitoring") else False
    info.is_tracing += 1
    try:
        yield
    finally:
        info.is_tracing -= 1
        if was_traced and monitoring is not None:
            monitoring.resume_current_thread_tracing()


def _reason_name(stop_reason):
    constants = sys.modules["_pydevd_bundle.pydevd_comm_constants"]
    if stop_reason == constants.CMD_SET_BREAK:
        return "breakpoint"
    if stop_reason in (constants.CMD_STEP_CAUGHT_EXCEPTION, constants.CMD_ADD_EXCEPTION_BREAK):
        return "exception"
    if stop_reason == constants.CMD_THREAD_SUSPEND:
        return "pause"
    return "step"


def _flush(py_db, seconds=2.0):
    """Wait until what is queued has been sent, at most ``seconds``."""
    sent = threading.Event()
    command = sys.modules["_pydevd_bundle.pydevd_net_command"].NetCommand(
        _CMD_RETURN, 0, {"type": "event", "event": "mcpPdbFlushed"}, is_json=True
    )
    command.call_after_send(lambda *unused: sent.set())
    py_db.writer.add_command(command)
    sent.wait(seconds)
