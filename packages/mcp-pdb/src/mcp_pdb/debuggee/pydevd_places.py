"""Where pydevd watches lines for us, and what happens when one is reached.

pydevd keeps one entry per file and line and asks ``decide`` when it gets
there; the shared table of breakpoints answers. For the entry all lines of
one code object are watched, until the first is reached.
"""

from __future__ import annotations

import sys

from . import breakpoints, inspector, user_code
from .code_registry import code_lines
from .deadline import Deadline

_CONDITION_SECONDS = 10.0
_SWITCHED_OFF = (
    "; note that tracing was switched off on the way, by the program's own sys.settrace (engine='pdb' bears "
    "that, and Python 3.12 on) or by Python at the recursion limit before 3.12: later lines could not stop"
)


class Places:
    """The breakpoints of one process, kept in step with pydevd's."""

    def __init__(self, agent):
        self._agent = agent
        self._table = breakpoints.BreakpointTable()
        self._entry_code = None

    def lines_of(self, file):
        """``{line: [breakpoint]}`` for a file, or None."""
        return self._table.lines_of(file)

    # -- changing ------------------------------------------------------------------------

    def add(self, spec, number=None):
        """Set one, as ``number`` where a parent process has it; returns its description. Raises Rejected."""
        agent = self._agent
        if number is not None:
            self._table._next_id = number
        place = breakpoints.place_of(spec["at"], agent.cwd, agent.root, spec.get("occurrence"))
        breakpoint = self._table.add(spec, place)
        if breakpoint.condition or breakpoint.log:
            agent.watchdog.expect_light(_CONDITION_SECONDS)
        self.sync()
        return breakpoint.describe(self._ran(breakpoint.file) is not None)

    def remove(self, number):
        """Raises Rejected when there is none."""
        self._table.remove(number)
        self.sync()

    def clear(self):
        """Remove all."""
        self._entry_code = None
        self._drop(self._table.visible() + self._table.hidden())

    def drop_temporary(self):
        """Drop what was set for one run only."""
        self._drop([breakpoint for breakpoint in self._table.hidden() if breakpoint.rows is None])

    def _drop(self, gone):
        still_set = [breakpoint for breakpoint in gone if self._table.contains(breakpoint)]
        for breakpoint in still_set:
            self._table.remove(breakpoint.id)
        if still_set:
            self.sync()

    def take_rows(self, number):
        """Remove a tracing breakpoint; returns its rows and hits."""
        breakpoint = self._table.remove(number)
        self.sync()
        return {"rows": breakpoint.rows, "hits": breakpoint.hit_count}

    def describe(self):
        """All that the model set."""
        return [
            breakpoint.describe(self._ran(breakpoint.file) is not None)
            for breakpoint in self._table.visible()
        ]

    def expect_entry(self, code):
        """Stop at the first line of ``code`` that runs."""
        self._entry_code = code
        self.sync()

    def sync(self):
        """Make pydevd's table of lines agree with ours."""
        py_db = self._agent.py_db
        paths = sys.modules["pydevd_file_utils"]
        make = sys.modules["_pydevd_bundle.pydevd_breakpoints"].LineBreakpoint
        entries = {}
        for file, lines in self._wanted().items():
            entries[paths.canonical_normalized_path(file)] = {
                line: make(line, line, "True", "None", None, "ALL") for line in lines
            }
        py_db.breakpoints.clear()
        py_db.breakpoints.update(entries)
        py_db.on_breakpoints_changed()
        for file in self._wanted():
            self._agent.tracer.count_watched(file)

    def _wanted(self):
        wanted = {}
        for breakpoint in self._table.visible() + self._table.hidden():
            wanted.setdefault(breakpoint.file, set()).add(breakpoint.line)
        if self._entry_code is not None:
            file = user_code.canonical(self._entry_code.co_filename)
            wanted.setdefault(file, set()).update(code_lines(self._entry_code))
        return wanted

    # -- reaching ------------------------------------------------------------------------------

    def decide(self, info, line_breakpoint, frame):
        """Whether to stop now that ``frame`` stands on a watched line."""
        code = frame.f_code
        if code is self._entry_code:
            self._entry_code = None
            self._agent.suspension.note("entry")
            self.sync()
            return True
        here = (self._table.lines_of(user_code.canonical(code.co_filename)) or {}).get(frame.f_lineno)
        hits = self._hits(here, frame) if here else None
        if not hits:
            return False
        self._note(hits)
        return True

    def _hits(self, here, frame):
        agent = self._agent
        entered = agent.tracer.qualname(frame.f_code) if agent.tracer.is_entering(frame) else None
        try:
            return agent.watchdog.run_light(
                breakpoints.reached, here, frame, entered, agent.logs, inspector.summarize
            )
        except Deadline:
            text = "the condition or log expression did not finish within %g s" % _CONDITION_SECONDS
            return [breakpoints.Hit(here[0], text)]

    def _note(self, hits):
        ids = [hit.breakpoint.id for hit in hits if not hit.breakpoint.hidden]
        errors = [hit.error for hit in hits if hit.error]
        reason = "breakpoint" if ids else "step"
        self._agent.suspension.note(reason, breakpoint_ids=ids, condition_error=errors[0] if errors else None)
        once = [
            hit.breakpoint for hit in hits if hit.breakpoint.once and self._table.contains(hit.breakpoint)
        ]
        for breakpoint in once:
            self._table.remove(breakpoint.id)
        if once:
            self.sync()

    # -- at the end ----------------------------------------------------------------------------

    def rows(self):
        """The rows of what still traces, by number."""
        return {
            str(breakpoint.id): breakpoint.rows
            for breakpoint in self._table.hidden()
            if breakpoint.rows is not None
        }

    def verdicts(self):
        """``[{breakpoint, hit_count, explanation}]`` for all that the model set."""
        return [
            {
                "breakpoint": breakpoint.describe(self._ran(breakpoint.file) is not None),
                "hit_count": breakpoint.fired,
                "explanation": self._explain(breakpoint),
            }
            for breakpoint in self._table.visible()
        ]

    def _explain(self, breakpoint):
        calls = self._agent.tracer.calls_of(breakpoint.file, breakpoint.function)
        explanation = breakpoints.explain(breakpoint, self._ran(breakpoint.file), calls, inspector.summarize)
        if explanation and self._agent.tracer.was_lost():
            explanation += _SWITCHED_OFF
        return explanation

    def _ran(self, file):
        return self._agent.tracer.functions_run(file)
