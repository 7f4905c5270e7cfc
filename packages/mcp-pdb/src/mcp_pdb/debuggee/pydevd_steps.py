"""Makes pydevd's steps end where the pdb engine's do.

pydevd stops in the caller when a stepped frame returns, on some versions and
not on others, and from 3.12 it loses a step that an exception carries out of
its frame. Here such steps go on to the next line of user code. Only step_out
stops in the caller, with the value returned.
"""

from __future__ import annotations

import sys
import threading
from _thread import get_ident
from opcode import opmap

_STACK_RESERVE = 500
_RETURNING = frozenset(
    opmap[name] for name in ("RETURN_VALUE", "RETURN_CONST", "RETURN_GENERATOR") if name in opmap
)


class Steps:
    """Stands before ``set_suspend`` and ``do_wait_suspend`` of pydevd.

    pydevd calls the first right before the second when a step ends; only the
    second knows whether it ends at a line or at a return. So the first is put
    off until then.

    A thread that reached a breakpoint while another one was being stopped for
    has stood still with the others, untold of. It stops again when they go on.
    One that is made to stand still on a line with a breakpoint has reached it too:
    pydevd would not ask again, so ``reach(frame)`` does.
    """

    def __init__(self, py_db, watch_unwind, suspension, reach):
        constants = sys.modules["_pydevd_bundle.pydevd_comm_constants"]
        self._py_db = py_db
        self._watch_unwind = watch_unwind
        self._note = suspension.note
        self._is_untold = suspension.is_untold
        self._reach = reach
        self._at_breakpoint = constants.CMD_SET_BREAK
        self._walk_on = constants.CMD_STEP_INTO_MY_CODE
        self._walking = frozenset(
            getattr(constants, name)
            for name in (
                "CMD_STEP_INTO",
                "CMD_STEP_INTO_MY_CODE",
                "CMD_STEP_INTO_COROUTINE",
                "CMD_STEP_OVER",
                "CMD_STEP_OVER_MY_CODE",
            )
        )
        self._leaving = frozenset((constants.CMD_STEP_RETURN, constants.CMD_STEP_RETURN_MY_CODE))
        self._put_off = {}
        self._returned = {}
        self._set_suspend = py_db.set_suspend
        self._do_wait_suspend = py_db.do_wait_suspend

    def take_over(self):
        self._py_db.set_suspend = self._on_set_suspend
        self._py_db.do_wait_suspend = self._on_do_wait_suspend

    def _on_set_suspend(self, thread, stop_reason, *rest, **options):
        ident = get_ident()
        if stop_reason in self._walking and thread.ident == ident:
            self._put_off[ident] = (stop_reason, rest, options)
        else:
            if stop_reason in self._leaving and thread.ident == ident:
                self._note("step")
            self._set_suspend(thread, stop_reason, *rest, **options)

    def _on_do_wait_suspend(self, thread, frame, event, arg, *rest, **options):
        ident = get_ident()
        put_off = self._put_off.pop(ident, None)
        if event == "return":
            self._note_return(ident, frame, arg)
        if put_off is not None:
            if event == "return":
                self._go_on_in(frame, thread)
                return
            stop_reason, more, named = put_off
            self._note("step")
            self._set_suspend(thread, stop_reason, *more, **named)
        elif event == "line" and not self._is_untold(ident):
            self._reach(frame)
        self._watch_unwind(False)
        limit = sys.getrecursionlimit()
        sys.setrecursionlimit(limit + _STACK_RESERVE)
        try:
            self._do_wait_suspend(thread, frame, event, arg, *rest, **options)
            while self._is_untold(ident) and not self._py_db.pydb_disposed:
                self._set_suspend(thread, self._at_breakpoint)
                self._do_wait_suspend(thread, frame, event, arg, *rest, **options)
        finally:
            sys.setrecursionlimit(limit)
            self._returned.pop(ident, None)
        command = thread.additional_info.pydev_step_cmd
        self._watch_unwind(command in self._walking or command in self._leaving)

    def _go_on_in(self, caller, thread):
        info = thread.additional_info
        info.pydev_step_cmd = self._walk_on
        info.pydev_step_stop = None
        info.update_stepping_info()
        self._py_db.set_trace_for_frame_and_parents(thread.ident, caller)

    def _note_return(self, ident, caller, value):
        """Keep what the stepped frame returned, the first of those that a step leaves."""
        left = sys._getframe(2)
        while left is not None and left.f_back is not caller:
            left = left.f_back
        if left is not None and _has_returned(left):
            self._returned.setdefault(ident, (left.f_code, value))

    def returned(self, ident):
        """``(code, value)`` of the call that the present step of a thread has left, or None."""
        return self._returned.get(ident)

    def on_unwind(self, frame):
        """An exception leaves ``frame``; the step that was to end in it goes on outside."""
        thread = threading.current_thread()
        info = getattr(thread, "additional_info", None)
        if info is not None and info.pydev_step_stop is frame and info.pydev_step_cmd != -1:
            self._go_on_in(frame.f_back, thread)


def _has_returned(frame):
    """Whether a "return" event of ``frame`` is one; up to 3.11 an exception that leaves it makes one too."""
    return sys.version_info >= (3, 12) or frame.f_code.co_code[frame.f_lasti] in _RETURNING
