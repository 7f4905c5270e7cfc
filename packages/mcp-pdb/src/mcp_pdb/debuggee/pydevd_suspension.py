"""One stop at a time: what stands where pydevd decides which suspensions to tell of.

Any number of threads may be suspended, each for a reason of its own or because
another one is. One of them is the present stop. Those that have a reason too
are not told of until the present stop moves on: then they stop again (see
``pydevd_steps``), so that no breakpoint is lost and none is told of twice.
"""

from __future__ import annotations

import sys
import threading
from contextlib import contextmanager

_PAUSE_SECONDS = 0.05
_STEPS = {"over": "CMD_STEP_OVER_MY_CODE", "into": "CMD_STEP_INTO_MY_CODE", "out": "CMD_STEP_RETURN_MY_CODE"}


class Suspension:
    """Takes the place of pydevd's ``ThreadsSuspendedSingleNotification``.

    ``tell(thread_id, thread, why)`` makes a suspended thread the present stop.
    """

    def __init__(self, py_db, tell):
        self.multi_threads_single_notification = True
        self.lock = threading.RLock()
        self.reasons = {}
        self.present = None
        self._py_db = py_db
        self._tell = tell
        self._pausing = False
        self._waiting = {}

    # -- why threads stop -----------------------------------------------------------------

    def note(self, reason, **facts):
        """Why the current thread is about to stop."""
        self.reasons[threading.get_ident()] = dict(facts, reason=reason)

    def is_untold(self, ident):
        """Whether a thread has a reason of its own that nobody has been told of."""
        return ident in self.reasons

    def forget_breakpoint(self, number):
        """A breakpoint is gone: nobody has to stop for it any more."""
        for ident, why in list(self.reasons.items()):
            if why.get("breakpoint_ids") == [number]:
                del self.reasons[ident]

    def forget(self):
        """The server goes away: nothing is left to tell."""
        with self.lock:
            self.reasons.clear()
            self.present = None

    # -- what pydevd calls -----------------------------------------------------------------

    def increment_suspend_time(self):
        pass

    def on_thread_suspend(self, thread_id, thread, stop_reason):
        pass

    def on_thread_resume(self, thread_id, thread):
        pass

    def on_pause(self):
        """A pause was asked for; a thread that has not even left its last stop has to be told of again."""
        self._pausing = True
        self._py_db.timeout_tracker.call_on_timeout(_PAUSE_SECONDS, self._tell_of_waiting)

    def _tell_of_waiting(self):
        constants = sys.modules["_pydevd_bundle.pydevd_constants"]
        with self.lock:
            if not self._pausing or self.present is not None:
                return
            for thread_id, thread in list(self._waiting.items()):
                if thread.additional_info.pydev_state == constants.STATE_SUSPEND:
                    self._make_present(thread_id, thread, {"reason": "pause"})
                    return

    def add_on_resumed_callback(self, callback):
        callback()

    @contextmanager
    def notify_thread_suspended(self, thread_id, thread, stop_reason):
        """Around the wait of a suspended thread, in that thread."""
        with self.lock:
            why = self.reasons.get(thread.ident) or self._reason_from_pydevd(stop_reason)
            if why is not None and self.present is None:
                self._hold(thread)
                self._make_present(thread_id, thread, why)
            self._waiting[thread_id] = thread
        try:
            yield
        finally:
            del self._waiting[thread_id]

    def _make_present(self, thread_id, thread, why):
        self.reasons.pop(thread.ident, None)
        self._pausing = False
        self.present = thread_id
        self._tell(thread_id, thread, why)

    def _reason_from_pydevd(self, stop_reason):
        constants = sys.modules["_pydevd_bundle.pydevd_comm_constants"]
        if stop_reason in (constants.CMD_STEP_CAUGHT_EXCEPTION, constants.CMD_ADD_EXCEPTION_BREAK):
            return {"reason": "exception"}
        if stop_reason == constants.CMD_SET_BREAK:
            return {"reason": "breakpoint"}
        return {"reason": "pause"} if self._pausing else None

    def _hold(self, thread):
        """Suspend all again, should a movement under way just have let them go."""
        constants = sys.modules["_pydevd_bundle.pydevd_constants"]
        if thread.additional_info.pydev_state != constants.STATE_SUSPEND:
            command = sys.modules["_pydevd_bundle.pydevd_comm_constants"].CMD_SET_BREAK
            self._py_db.set_suspend(thread, command)

    # -- moving on --------------------------------------------------------------------------

    def move(self, kind):
        """Let the present stop go on as ``kind`` says, and all others freely; in the reader thread."""
        with self.lock:
            thread_id, self.present = self.present, None
            if kind not in _STEPS or thread_id is None:
                sys.modules["_pydevd_bundle.pydevd_thread_lifecycle"].resume_threads("*")
                self._wake_all()
                return
        self._py_db.post_method_as_internal_command(thread_id, self._step, thread_id, kind)

    def _wake_all(self):
        """Have every waiting thread look at once whether it may go on.

        pydevd's ``_update_stepping_info`` shadows its argument in a loop, so it may
        wake another thread than the one that moves, which then waits out a poll of 200 ms.
        """
        for event in list(self._py_db._thread_events.values()):
            event.set()

    def _step(self, py_db, thread_id, kind):
        """In the thread that is to step; another one may have stopped meanwhile."""
        command = getattr(sys.modules["_pydevd_bundle.pydevd_comm_constants"], _STEPS[kind])
        with self.lock:
            if self.present is None:
                sys.modules["_pydevd_bundle.pydevd_comm"].internal_step_in_thread(
                    py_db, thread_id, command, py_db.set_additional_thread_info
                )
            self._wake_all()
