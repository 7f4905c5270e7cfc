"""Runs pdb's own inspecting commands on a stopped frame.

Movement and breakpoints never get here: the session has commands of its own
for them, so that there is one state.
"""

from __future__ import annotations

import io
import sys

from .user_code import STANDARD_LIBRARY


class PdbAtStop:
    """A real ``pdb.Pdb`` whose stack is the visible stack of one stop."""

    def __init__(self, frames):
        pdb = _standard_pdb()
        self._output = io.StringIO()
        self._pdb = pdb.Pdb(stdin=io.StringIO(), stdout=self._output, nosigint=True, readrc=False)
        self._pdb.reset()
        self._pdb.stack = [(frame, frame.f_lineno) for frame in reversed(frames)]
        self._count = len(frames)
        self._select(0)

    def _select(self, index):
        instance = self._pdb
        instance.curindex = self._count - 1 - index
        instance.curframe, instance.lineno = instance.stack[instance.curindex]
        instance.curframe_locals = instance.curframe.f_locals
        instance.lineno = None

    def run(self, command, frame, limit_chars):
        """The text a command prints, cut to ``limit_chars``."""
        if frame:
            self._select(frame)
        self._output.seek(0)
        self._output.truncate()
        self._pdb.onecmd(self._pdb.precmd(command))
        text = self._output.getvalue()
        if len(text) > limit_chars:
            return text[: limit_chars - 40] + "\n… (%d more characters)" % (len(text) - limit_chars + 40)
        return text


def _standard_pdb():
    """The library's own ``pdb``, not one that lies in the program's folder.

    Imported only when asked for: it would cost every program's start 20 ms.
    """
    sys.path.insert(0, STANDARD_LIBRARY)
    try:
        import pdb
    finally:
        sys.path.remove(STANDARD_LIBRARY)
    return pdb
