"""What ``run_target`` tells the debugger while it runs the target under pydevd."""

from __future__ import annotations

import sys


class Hooks:
    """The hooks of ``run_target.run`` for the debugpy engine."""

    def __init__(self, agent):
        self._agent = agent

    def begin(self):
        """Called once, right before any user code may run."""
        sys.breakpointhook = self._agent.program_breakpoint

    def entry(self, code):
        """Stop at the first line of ``code`` when it runs."""
        self._agent.places.expect_entry(code)

    def failure(self, exc_type, exc, tb, where):
        """Stop at the raising frame; returns when the model moves on."""
        self._agent.post_mortem(exc_type, exc, tb, where)

    def note(self, kind, data):
        """Pass a fact on to the server."""
        self._agent.tracer.revive(self._agent.py_db)
        self._agent.send_event("mcpPdbNote", {"kind": kind, "data": data})
