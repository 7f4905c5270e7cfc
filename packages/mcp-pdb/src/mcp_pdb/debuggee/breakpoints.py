"""The table of breakpoints and what happens when one is reached.

This module decides; the tracers find out that a line is reached. A breakpoint
is bound to a line of a file before it enters the table (``source_lines``).
"""

from __future__ import annotations

from . import file_paths, source_lines

_SHOWN_CHARS = 200
_PLACE_CHARS = 500
_PRIMITIVES = (int, float, str, bool, type(None))


class Rejected(Exception):
    """The breakpoint cannot be set; the text says what to do."""


class Hit:
    """A breakpoint that wants the program to stop here."""

    __slots__ = ("breakpoint", "error")

    def __init__(self, breakpoint, error=None):
        self.breakpoint = breakpoint
        self.error = error


class Expression:
    """A compiled expression that is evaluated in frames."""

    __slots__ = ("code", "has_inner_scope", "text")

    def __init__(self, text, what):
        self.text = text
        try:
            self.code = compile(text.strip(), "<%s>" % what, "eval")
        except (SyntaxError, ValueError, OverflowError, MemoryError, RecursionError) as error:
            shown = text if len(text) <= _SHOWN_CHARS else text[:_SHOWN_CHARS] + "…"
            why = error.args[0] if error.args else "it is nested too deeply"
            raise Rejected(
                "The %s %r is not a Python expression (%s); nothing was set." % (what, shown, why)
            ) from None
        self.has_inner_scope = any(hasattr(constant, "co_code") for constant in self.code.co_consts)

    def value(self, global_names, local_names):
        """The value; raises whatever the expression raises.

        An inner scope (lambda, comprehension) sees the frame's names as
        globals; the copy that takes is spared all others.
        """
        if self.has_inner_scope:
            return eval(self.code, dict(global_names, **local_names))
        return eval(self.code, global_names, local_names)

    def primitives(self, global_names, local_names):
        """Names in the expression that hold a plain value now, with the value."""
        found = []
        for name in self.code.co_names:
            value = local_names[name] if name in local_names else global_names.get(name, found)
            if type(value) in _PRIMITIVES:
                found.append((name, value))
        return found


class Breakpoint:
    """One breakpoint and what it has seen."""

    def __init__(self, number, spec, place):
        self.id = number
        self.at = spec.get("at", "")
        self.file = place["file"]
        self.line = place["line"]
        self.function = (place.get("function") or "<module>").replace(".<locals>", "")
        self.text = place.get("text", "")
        self.moved = place.get("moved")
        self.entry_of = self.function if place.get("by_function") else None
        self.condition_text = spec.get("condition")
        self.condition = Expression(self.condition_text, "condition") if self.condition_text else None
        self.hits_text = spec.get("hits")
        self.hits = parse_hits(self.hits_text) if self.hits_text else None
        self.log = [Expression(text, "log expression") for text in spec.get("log") or ()]
        self.rows = [] if spec.get("trace") else None
        self.max_rows = spec.get("max_hits") or 0
        self.once = bool(spec.get("once"))
        self.hidden = bool(spec.get("hidden"))
        self.reached = 0
        self.hit_count = 0
        self.fired = 0
        self.false_count = 0
        self.last_values = None
        self.error_reported = False

    def describe(self, loaded):
        """The fields of a ``Breakpoint`` record."""
        return {
            "id": self.id,
            "at": self.at,
            "file": self.file,
            "line": self.line,
            "function": self.function,
            "text": self.text,
            "pending": not loaded,
            "moved": self.moved,
            "condition": self.condition_text,
            "hits": self.hits_text,
            "log": [expression.text for expression in self.log],
            "once": self.once,
            "hit_count": self.hit_count,
        }


def parse_hits(text):
    """A predicate on the hit number from ``3``, ``>=3`` or ``%5``. Raises Rejected."""
    body = text.strip().replace("==", "")
    for prefix, make in (
        (">=", lambda n: lambda count: count >= n),
        (">", lambda n: lambda count: count > n),
        ("%", lambda n: lambda count: count % n == 0),
        ("", lambda n: lambda count: count == n),
    ):
        if body.startswith(prefix):
            digits = body[len(prefix) :].strip()
            if digits.isdecimal() and len(digits) < 10 and int(digits) > 0:
                return make(int(digits))
            break
    raise Rejected(
        "hits=%r is not understood; write '3' (the third), '>=3' (from the third) or '%%5'." % text
    )


def place_of(at, cwd, root, occurrence=None):
    """Where ``at`` points, as ``source_lines`` answers. Raises Rejected."""
    if len(at) > _PLACE_CHARS:
        raise Rejected(
            "A place of %d characters is too long; write 'file.py:12' or a piece of the line." % len(at)
        )
    try:
        place = _place(at.strip(), cwd, root, occurrence)
    except ValueError as error:  # a name that no file can have
        raise Rejected("%r names no file (%s)." % (at, error)) from None
    if "error" in place:
        raise Rejected(place["error"])
    return place


def _place(at, cwd, root, occurrence):
    file_part, separator, piece = at.partition("~")
    if separator and piece.strip():
        return _anchor_place(file_part.strip(), piece.strip(), cwd, root, occurrence)
    file_part, separator, line = at.rpartition(":")
    if separator and line.strip().isdecimal():
        path = file_paths.find_file(file_part.strip(), cwd, root)
        if isinstance(path, dict):
            return path
        return source_lines.resolve_line(path, int(line))
    if at.endswith(".py"):
        return {
            "error": "%s needs a line: write '%s:12', '%s~piece of the line' or a function name."
            % (at, at, at)
        }
    place = source_lines.resolve_function(at, root, [cwd, root])
    if "error" not in place:
        place = dict(place, by_function=True)
    return place


def _anchor_place(file_part, piece, cwd, root, occurrence):
    path = file_paths.find_file(file_part, cwd, root)
    if isinstance(path, dict):
        return path
    lines = source_lines.find_anchor(path, piece, occurrence)
    if isinstance(lines, dict):
        return lines
    if not lines:
        return {"error": "No line of %s contains %r; copy a piece of one line exactly." % (file_part, piece)}
    if len(lines) > 1:
        places = ", ".join(str(line) for line in lines[:8])
        return {
            "error": "%r stands on lines %s of %s; give a longer piece, or '%s:%d'."
            % (piece, places, file_part, file_part, lines[0])
        }
    return source_lines.resolve_line(path, lines[0])


class BreakpointTable:
    """All breakpoints of a session, by file and line."""

    def __init__(self):
        self._by_id = {}
        self._next_id = 1
        self._by_file = {}

    def add(self, spec, place):
        """Add one; hidden ones take negative ids. Raises Rejected."""
        number = self._next_id if not spec.get("hidden") else -len(self._by_id) - 1
        breakpoint = Breakpoint(number, spec, place)
        if not breakpoint.hidden:
            self._next_id += 1
        self._by_id[number] = breakpoint
        self._index()
        return breakpoint

    def remove(self, number):
        """The removed breakpoint. Raises Rejected when there is none."""
        breakpoint = self._by_id.pop(number, None)
        if breakpoint is None:
            known = ", ".join(str(other.id) for other in self.visible()) or "none"
            raise Rejected("There is no breakpoint %s; set are: %s." % (number, known))
        self._index()
        return breakpoint

    def _index(self):
        by_file = {}
        for breakpoint in self._by_id.values():
            by_file.setdefault(breakpoint.file, {}).setdefault(breakpoint.line, []).append(breakpoint)
        self._by_file = by_file

    def visible(self):
        """Those the model set, by id."""
        return [self._by_id[number] for number in sorted(self._by_id) if number > 0]

    def hidden(self):
        """Those set on the program's behalf for one run."""
        return [breakpoint for breakpoint in self._by_id.values() if breakpoint.hidden]

    def contains(self, breakpoint):
        """Whether it is still set."""
        return self._by_id.get(breakpoint.id) is breakpoint

    def lines_of(self, file):
        """``{line: [breakpoint]}`` for a file, or None."""
        return self._by_file.get(file)


def reached(breakpoints, frame, entered, logs, summarize):
    """The hits among ``breakpoints`` now that ``frame`` stands on their line, or None.

    ``entered`` is the name of the function that has just been entered, or None.
    Evaluates conditions (program code may run), counts, and appends
    ``(id, text)`` to ``logs`` for log points.
    """
    hits = None
    for breakpoint in breakpoints:
        if breakpoint.entry_of is not None and breakpoint.entry_of != entered:
            continue
        breakpoint.reached += 1
        hit = _examine(breakpoint, frame, logs, summarize)
        if hit is not None:
            hits = [*hits, hit] if hits else [hit]
    return hits


def _examine(breakpoint, frame, logs, summarize):
    error = None
    condition = breakpoint.condition
    if condition is not None:
        global_names, local_names = frame.f_globals, frame.f_locals
        try:
            holds = condition.value(global_names, local_names)
        except Exception as raised:  # whatever the condition raises is its result
            if breakpoint.error_reported:
                return None
            breakpoint.error_reported = True
            holds = True
            error = "%s: %s" % (type(raised).__name__, raised)
        if not holds:
            breakpoint.false_count += 1
            breakpoint.last_values = condition.primitives(global_names, local_names)
            return None
    breakpoint.hit_count += 1
    if breakpoint.hits is not None and not breakpoint.hits(breakpoint.hit_count) and error is None:
        return None
    breakpoint.fired += 1
    if breakpoint.rows is not None:
        return _add_row(breakpoint, frame, summarize)
    if breakpoint.log and error is None:
        values = ["%s=%s" % (each.text, _value_of(each, frame, summarize)) for each in breakpoint.log]
        logs.append((breakpoint.id, ", ".join(values)))
        return None
    return Hit(breakpoint, error)


def _value_of(expression, frame, summarize):
    try:
        return summarize(expression.value(frame.f_globals, frame.f_locals))
    except Exception as raised:  # whatever the expression raises is its result
        return "<%s: %s>" % (type(raised).__name__, raised)


def _add_row(breakpoint, frame, summarize):
    breakpoint.rows.append([_value_of(each, frame, summarize) for each in breakpoint.log])
    if len(breakpoint.rows) >= breakpoint.max_rows:
        return Hit(breakpoint)
    return None


def explain(breakpoint, functions_run, calls, summarize):
    """Why a breakpoint never fired, or None when it did.

    ``functions_run`` are the functions of its file that ran, None when the file
    was never imported; ``calls`` is how often its function was called, None
    when that was not counted.
    """
    if breakpoint.fired:
        return None
    if breakpoint.reached:
        return _explain_reached(breakpoint, summarize)
    if functions_run is None:
        return "its file was never imported"
    if breakpoint.function != "<module>" and breakpoint.function not in functions_run:
        others = [name for name in functions_run if name != "<module>"][:8]
        ran = "of this file these ran: " + ", ".join(others) if others else "no function of this file ran"
        return "%s was never called (%s)" % (breakpoint.function, ran)
    times = "%d times" % calls if calls != 1 else "once"
    ran = "%s ran %s" % (breakpoint.function, times) if calls else "%s ran" % breakpoint.function
    return ran + ", but never reached this line"


def _explain_reached(breakpoint, summarize):
    if breakpoint.false_count and breakpoint.false_count == breakpoint.reached:
        text = "reached %d times, its condition %s was false each time" % (
            breakpoint.reached,
            breakpoint.condition_text,
        )
        if breakpoint.last_values:
            last = ", ".join("%s = %s" % (name, summarize(value)) for name, value in breakpoint.last_values)
            text += " (last: %s)" % last
        return text
    if breakpoint.hits_text:
        return "reached %d times, which never met hits=%s" % (breakpoint.hit_count, breakpoint.hits_text)
    return None
