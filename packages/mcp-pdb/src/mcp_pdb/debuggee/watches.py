"""Watched expressions."""

from __future__ import annotations

from . import breakpoints, inspector


class Watch:
    """An expression whose value is compared after every line."""

    def __init__(self, expression, frame, mode):
        self.expression = expression
        self.identity = mode == "identity"
        self._frame = frame
        self._expression = breakpoints.Expression(expression, "watch")
        self.text, self._mark = self._read()

    def _read(self):
        try:
            value = self._expression.value(self._frame.f_globals, self._frame.f_locals)
        except Exception as raised:  # an expression may be undefined for a while
            text = "<%s: %s>" % (type(raised).__name__, raised)
            return text, text
        mark = id(value) if self.identity else inspector.fingerprint(value)
        return inspector.summarize(value, 200), mark

    def look(self):
        """The change since the last look, or None."""
        text, mark = self._read()
        if mark == self._mark:
            return None
        change = {"name": self.expression, "old": self.text, "new": text}
        self.text, self._mark = text, mark
        return change
