"""Stops code that runs too long in a thread of the program.

The main thread is interrupted by a signal whose handler raises, which also ends
a sleep or a lock wait; other threads by an asynchronous exception, which takes
effect at their next bytecode. A call that never returns to Python cannot be
interrupted: ``on_stuck`` is then told.
"""

from __future__ import annotations

import _signal
from _thread import allocate_lock, get_ident, start_new_thread
from time import monotonic, sleep

_ATTEMPTS = 8
_ATTEMPT_SECONDS = 0.1
_POLL_SECONDS = 0.1
_LIGHT_POLL_SECONDS = 0.25
_SIGNAL = getattr(_signal, "SIGURG", None)


class Deadline(BaseException):
    """Raised inside code that used up its time."""


class _Running:
    __slots__ = ("done", "ends_at", "fired", "ident", "on_stuck")

    def __init__(self, ident, ends_at, on_stuck):
        self.ident = ident
        self.ends_at = ends_at
        self.on_stuck = on_stuck
        self.fired = False
        self.done = False


class Watchdog:
    """One thread that watches over whatever runs under a deadline.

    Its ident joins ``own_idents`` when it starts.
    """

    def __init__(self, main_ident, own_idents=None):
        self._main_ident = main_ident
        self._own_idents = set() if own_idents is None else own_idents
        self._lock = allocate_lock()
        self._wake = allocate_lock()
        self._wake.acquire()
        self._running = {}
        self._light = None
        self._light_serial = 0
        self._light_fired = 0
        self._light_limit = None
        self.ident = None

    def run(self, function, seconds, on_stuck=None):
        """``function()`` in this thread, for at most ``seconds``.

        Raises Deadline when its time ran out.
        """
        self._start()
        ident = get_ident()
        entry = _Running(ident, monotonic() + seconds, on_stuck)
        previous = self._arm_signal(ident)
        outer = self._running.get(ident)
        self._running[ident] = entry
        self._notify()
        try:
            return function()
        finally:
            self._finish(entry, outer)
            if previous is not None:
                _signal.signal(_SIGNAL, previous)

    def expect_light(self, seconds):
        """Get ready for ``run_light``, whose code may take ``seconds`` each time."""
        self._light_limit = seconds
        self._start()
        self._notify()

    def run_light(self, function, *arguments):
        """``function(*arguments)`` under the deadline of ``expect_light``, for code that runs very often.

        Costs a microsecond; a sleep or a lock wait of the main thread is not ended.
        Raises Deadline when the time ran out.
        """
        self._light_serial = serial = self._light_serial + 1
        self._light = (get_ident(), serial)
        try:
            return function(*arguments)
        finally:
            self._light = None
            if self._light_fired == serial:
                _absorb()

    def _start(self):
        if self.ident is None:
            self.ident = start_new_thread(self._watch, ())
            self._own_idents.add(self.ident)

    def _arm_signal(self, ident):
        if ident != self._main_ident or _SIGNAL is None:
            return None
        previous = _signal.getsignal(_SIGNAL)
        _signal.signal(_SIGNAL, _raise_deadline)
        return _signal.SIG_DFL if previous is None else previous

    def _notify(self):
        try:
            self._wake.release()
        except RuntimeError:
            pass

    def _finish(self, entry, outer):
        with self._lock:
            entry.done = True
            if outer is None:
                self._running.pop(entry.ident, None)
            else:
                self._running[entry.ident] = outer
        if entry.fired:
            _absorb()

    def _watch(self):
        seen, since = None, 0.0
        while True:
            self._wake.acquire(timeout=-1 if self._light_limit is None else _LIGHT_POLL_SECONDS)
            if self._light != seen:
                seen, since = self._light, monotonic()
            elif seen is not None and monotonic() - since > (self._light_limit or 0.0):
                self._interrupt_light(seen)
            self._watch_running()

    def _watch_running(self):
        while self._running:
            entries = list(self._running.values())
            nearest = min(entry.ends_at for entry in entries) - monotonic()
            if nearest > 0:
                self._wake.acquire(timeout=min(nearest, _POLL_SECONDS))
                continue
            for entry in entries:
                if entry.ends_at <= monotonic():
                    self._interrupt(entry)

    def _interrupt_light(self, light):
        self._light_fired = light[1]
        if self._light is light:  # looked at after saying so: whoever just ended sees the word
            raise_in_thread(light[0], Deadline)

    def _interrupt(self, entry):
        for _ in range(_ATTEMPTS):
            with self._lock:
                if entry.done:
                    return
                entry.fired = True
                self._fire(entry.ident)
            sleep(_ATTEMPT_SECONDS)
        entry.ends_at = float("inf")
        if not entry.done and entry.on_stuck is not None:
            entry.on_stuck()

    def _fire(self, ident):
        if ident == self._main_ident and _SIGNAL is not None:
            _signal.pthread_kill(ident, _SIGNAL)
        else:
            raise_in_thread(ident, Deadline)


def raise_in_thread(ident, exception_type):
    """Have ``exception_type`` raised in a thread at its next bytecode."""
    import ctypes

    ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(ident), ctypes.py_object(exception_type))


def _raise_deadline(signal_number, frame):
    raise Deadline


def _absorb():
    """Take an interruption that was on its way when the code ended."""
    try:
        sleep(0.02)
    except Deadline:
        pass
