"""Binds what a person names (a line, a piece of a line, a function) to a line that runs.

Answers are plain dicts. A line that cannot be stopped on is moved, and
``moved`` says in words why and where; ``error`` is a sentence with the way on.
"""

from __future__ import annotations

import ast
import os
import re

from . import function_search, source_map
from .user_code import canonical

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_SPACES = re.compile(r"\s+")


def resolve_line(path: str, line: int) -> dict[str, Any]:
    """The place where a breakpoint asked for ``line`` of ``path`` goes.

    ``{"file", "line", "function", "text", "moved", "entry_of", "qualname"}`` or
    ``{"error"}``. ``entry_of`` names the function whose first line it is.
    """
    path = canonical(path)
    try:
        source = source_map.load(path)
    except source_map.SourceError as error:
        return {"error": str(error)}
    if line < 1:
        return {"error": "Lines count from 1; line %d does not exist." % line}
    if line > len(source.lines):
        return _nothing_follows(source, "line %d is past the end of %s" % (line, os.path.basename(path)))
    return _Binding(source, line).answer()


def find_anchor(path: str, piece: str, occurrence: int | None = None) -> Any:
    """The lines that hold ``piece``, white space ignored; ``{"error"}`` when the file cannot be read.

    A line that consists of nothing else wins over lines that merely contain
    it, and code wins over comments. ``occurrence`` counts from 1.
    """
    wanted = _SPACES.sub("", piece)
    try:
        lines = source_map.read_lines(canonical(path))
    except source_map.SourceError as error:
        return {"error": str(error)}
    if not wanted:
        return []
    squeezed = [(number, _SPACES.sub("", text)) for number, text in enumerate(lines, 1)]
    found = [(number, text) for number, text in squeezed if wanted in text]
    code = [(number, text) for number, text in found if not text.startswith("#")]
    numbers = [number for number, _ in code or found]
    if occurrence is not None:
        return numbers[occurrence - 1 : occurrence] if occurrence > 0 else []
    whole = [number for number, text in code or found if text == wanted]
    return whole if len(whole) == 1 else numbers


def resolve_function(name: str, root: str, search_path: Any = ()) -> dict[str, Any]:
    """The first line of the body of the function called ``name``, as ``resolve_line`` answers.

    ``name`` is ``module.Class.method``, ``Class.method`` or a bare name. The
    search is static and imports nothing.
    """
    found = function_search.find(name, root, search_path)
    if isinstance(found, dict):
        return found
    source, scope = found
    line = source.entry(scope)
    if line is None:
        return {"error": "%s has no line that runs; name a line of its caller." % scope.qualname}
    return _place(source, line, scope, None)


def function_at(path: str, line: int) -> str:
    """The qualified name of the function or class around a line, ``<module>`` outside all."""
    try:
        return source_map.load(canonical(path)).scope_at(line).qualname
    except source_map.SourceError:
        return "<module>"


def functions_of(path: str) -> list[str]:
    """The qualified names of a file's functions, in order; [] when it cannot be read."""
    try:
        return [scope.qualname for scope in source_map.load(canonical(path)).functions()]
    except source_map.SourceError:
        return []


def source_window(path: str, line: int, around: int = 2) -> list[list[Any]]:
    """``[[number, text], ...]`` for the lines around one, clipped to the file."""
    try:
        lines = source_map.read_lines(canonical(path))
    except source_map.SourceError:
        return []
    first = max(1, line - around)
    return [[number, lines[number - 1]] for number in range(first, min(len(lines), line + around) + 1)]


def _place(source, line, scope, moved):
    entry = source.entry(scope) if scope.kind == "function" else None
    return {
        "file": source.name,
        "line": line,
        "function": scope.qualname,
        "qualname": scope.qualname,
        "text": source.text(line),
        "moved": moved,
        "entry_of": scope.qualname if entry == line else None,
    }


def _nothing_follows(source, what):
    bound = [statement for statement in source.statements if statement.bound is not None]
    if not bound:
        return {"error": "%s; the file holds no executable line." % _capital(what)}
    last = max(statement.bound for statement in bound)
    return {"error": "%s; the last executable line is %d: %s" % (_capital(what), last, source.text(last))}


def _capital(text):
    return text[:1].upper() + text[1:]


class _Binding:
    """The decision for one line of one file."""

    def __init__(self, source, line):
        self.source = source
        self.line = line
        self.statement = source.owner(line)
        self.text = source.text(line)

    def answer(self):
        """The place, or the error."""
        statement = self.statement
        if statement is None:
            return self._from_gap(self.source.module)
        if statement.body_start is None:
            return self._on_simple(statement)
        if self.line <= statement.head_end:
            return self._on_head(statement)
        if self._is_empty():
            return self._from_gap(statement.inner or statement.scope)
        if self.line < statement.body_start:
            return self._on_head(statement)
        return self._from_gap(statement.inner or statement.scope, "`%s` holds no code" % self.text)

    def _is_empty(self):
        return not self.text or self.text.startswith("#")

    def _on_simple(self, statement):
        if statement.is_docstring:
            return self._after_docstring(statement)
        if statement.bound is None:
            return self._from_gap(statement.scope, "`%s` holds no code" % self.text)
        return self._on_statement(statement)

    def _on_statement(self, statement):
        line, bound = self.line, statement.bound
        if line == bound or self._is_decorator(statement):
            return self._at(line, statement.scope)
        if line != statement.start and self.source.runs_inline(statement, line):
            return self._at(line, statement.scope)
        if line == statement.start:
            return self._at(
                bound, statement.scope, "the statement on line %d starts running on line %d" % (line, bound)
            )
        why = "line %d continues the statement that begins on line %d" % (line, statement.start)
        if bound != statement.start:
            why += ", which starts running on line %d" % bound
        return self._at(bound, statement.scope, why)

    def _is_decorator(self, statement):
        """A decorator or the ``class`` line itself: each runs by itself when the class is made."""
        node = statement.node
        if not isinstance(node, ast.ClassDef) or self.line not in statement.scope.lines:
            return False
        return self.line == node.lineno or self.line in [part.lineno for part in node.decorator_list]

    def _on_head(self, statement):
        if isinstance(statement.node, _FUNCTIONS):
            return self._into(statement.inner)
        if statement.bound is None:
            return self._from_gap(statement.scope, "`%s` holds no code" % self.text)
        return self._on_statement(statement)

    def _into(self, function):
        entry = self.source.entry(function)
        if entry is None:
            return {"error": "%s has no line that runs; name a line of its caller." % function.qualname}
        if entry == self.line:
            return self._at(entry, function)
        part = "a decorator" if self.line < function.node.lineno else "the def"
        why = "line %d is %s of %s, which runs when the function is defined; its body starts on line %d"
        return self._at(entry, function, why % (self.line, part, function.node.name, entry))

    def _after_docstring(self, statement):
        scope = statement.scope
        if scope.kind == "function":
            entry = self.source.entry(scope)
            if entry is not None:
                why = "line %d is in the docstring of %s; its first statement is on line %d"
                moved = None if entry == self.line else why % (self.line, scope.node.name, entry)
                return self._at(entry, scope, moved)
        return self._from_gap(scope, "line %d is in a docstring" % self.line)

    def _from_gap(self, scope, why=None):
        if why is None:
            why = "line %d is %s" % (self.line, "a comment" if self.text else "blank")
        if self.statement is None and self.text:
            scope = self._indented_scope()
        following = [
            statement
            for statement in self.source.statements
            if statement.start > self.line and statement.bound is not None and not statement.is_docstring
        ]
        if scope.kind == "function":
            return self._in_function(scope, following, why)
        if not following:
            return _nothing_follows(self.source, why + " and nothing executable follows")
        statement = min(following, key=lambda each: each.start)
        if isinstance(statement.node, _FUNCTIONS):
            return self._into_next(statement.inner, why)
        why += "; the next executable line is %d" % statement.bound
        return self._at(statement.bound, statement.scope, why)

    def _indented_scope(self):
        """The function that a comment below its last statement is still indented into."""
        raw = self.source.lines[self.line - 1]
        indent = len(raw) - len(raw.lstrip())
        above = [scope for scope in self.source.scopes[1:] if scope.end < self.line and scope.column < indent]
        last = max((scope.end for scope in above), default=0)
        between = [s for s in self.source.module.statements if last < s.start < self.line]
        nearest = [scope for scope in above if scope.end == last]
        return nearest[-1] if nearest and not between else self.source.module

    def _in_function(self, function, following, why):
        inside = [statement for statement in following if statement.scope is function]
        if inside:
            statement = min(inside, key=lambda each: each.start)
            why += "; the next executable line is %d" % statement.bound
            return self._at(statement.bound, function, why)
        bound = [statement.bound for statement in function.statements if statement.bound is not None]
        if not bound:
            return self._into(function)
        why += " and nothing executable follows in %s; its last executable line is %d"
        return self._at(max(bound), function, why % (function.node.name, max(bound)))

    def _into_next(self, function, why):
        entry = self.source.entry(function)
        if entry is None:
            return _nothing_follows(self.source, why)
        why += "; next comes %s, whose body starts on line %d"
        return self._at(entry, function, why % (function.node.name, entry))

    def _at(self, line, scope, moved=None):
        return _place(self.source, line, scope, moved)
