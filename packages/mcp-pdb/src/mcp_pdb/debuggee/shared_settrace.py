"""Lets the program's own ``sys.settrace`` run beside ours instead of replacing it.

Needed only before Python 3.12, where both want the one trace function of a thread.
"""

from __future__ import annotations

import sys

real_settrace = sys.settrace
real_gettrace = sys.gettrace


def share_settrace(tracer):
    """Make ``sys.settrace`` and ``sys.gettrace`` speak of the program's trace function only."""

    def settrace(function):
        if function == tracer.on_call:
            real_settrace(function)
            return
        real_settrace(None)
        if function is None:
            tracer.set_for_thread()
        else:
            real_settrace(Shared(tracer, function))

    def gettrace():
        current = real_gettrace()
        return current.theirs if isinstance(current, Shared) else None

    sys.settrace = settrace
    sys.gettrace = gettrace


class Shared:
    """A trace function that calls ours, then the program's."""

    def __init__(self, tracer, theirs):
        self._tracer = tracer
        self.theirs = theirs

    def __call__(self, frame, event, arg):
        ours = self._tracer.on_call_stepping(frame, event, arg)
        theirs = self.theirs(frame, event, arg)
        if theirs is None:
            return ours
        return theirs if ours is None else _shared_local(ours, theirs)


def _shared_local(ours, theirs):
    def local(frame, event, arg):
        nonlocal theirs
        ours(frame, event, arg)
        theirs = theirs(frame, event, arg) or theirs
        return local

    return local
