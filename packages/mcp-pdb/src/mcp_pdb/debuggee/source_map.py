"""What stands on each line of a source file: its statement, its scope, whether it holds code.

The syntax tree says what a line belongs to; the line tables of the compiled
code say which lines really run, so the answers follow the running interpreter.
"""

from __future__ import annotations

import ast
import os
import sys
import tokenize

_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_INLINE = (ast.Lambda, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
_CACHE_LIMIT = 64
_MAX_BYTES = 20_000_000
_UNREADABLE = "%s cannot be read: %s; check the path."


class SourceError(Exception):
    """The file cannot be read or compiled; the text is a sentence."""


class Scope:
    """A module, class or function. ``lines`` are its code's lines in order of the bytecode."""

    def __init__(self, kind, qualname, node, start, end):
        self.kind = kind
        self.qualname = qualname
        self.node = node
        self.start = start
        self.end = end
        self.column = getattr(node, "col_offset", -1)
        self.lines = ()
        self.statements = []

    def inner_name(self, name):
        """The qualified name of something defined in this scope."""
        if self.kind == "module":
            return name
        return self.qualname + (".<locals>." if self.kind == "function" else ".") + name


class Statement:
    """A statement, or an ``except`` or ``case`` clause.

    ``head_end`` is the last line of what runs as the statement itself: all of a
    simple one, the part before the body of a compound one. ``inner`` is the
    scope it makes. ``bound`` is the line that runs first, None without code.
    """

    __slots__ = ("body_start", "bound", "end", "head_end", "inner", "is_docstring", "node", "scope", "start")

    def __init__(self, node, scope, start, end):
        self.node = node
        self.scope = scope
        self.start = start
        self.end = end
        self.head_end = end
        self.body_start = None
        self.inner = None
        self.is_docstring = False
        self.bound = None


class SourceMap:
    """The statements and scopes of one source text."""

    def __init__(self, name, source):
        self.name = name
        self.lines, tree, code = _compiled(name, source)
        self._owners = [None] * (len(self.lines) + 2)
        self.module = Scope("module", "<module>", tree, 1, len(self.lines))
        self.scopes = [self.module]
        self.statements = []
        self._walk(getattr(tree, "body"), self.module, starts_scope=True)
        self._inline_lines = set()
        self._bind(code)

    def text(self, line):
        """The stripped text of a line, "" outside the file."""
        return self.lines[line - 1].strip() if 1 <= line <= len(self.lines) else ""

    def owner(self, line):
        """The innermost statement that covers a line, or None."""
        return self._owners[line] if 0 < line < len(self._owners) else None

    def scope_at(self, line):
        """The innermost scope that covers a line."""
        covering = [scope for scope in self.scopes if scope.start <= line <= scope.end]
        return covering[-1] if covering else self.module

    def functions(self):
        """All function scopes, in order of the file."""
        return [scope for scope in self.scopes if scope.kind == "function"]

    def entry(self, scope):
        """The first line of a function's body that runs, or None."""
        for statement in scope.statements:
            if statement.bound is not None and not statement.is_docstring:
                return statement.bound
        body_start = _first_line(getattr(scope.node, "body")[0])
        inside = [line for line in scope.lines if body_start <= line <= scope.end]
        if inside:
            return inside[0]
        return scope.node.lineno if scope.node.lineno in scope.lines else None

    def runs_inline(self, statement, line):
        """True for a line of a lambda's body or a comprehension that runs on its own."""
        if line not in self._inline_lines and line not in statement.scope.lines:
            return False
        for node in ast.walk(statement.node):
            if isinstance(node, _INLINE):
                part = node.body if isinstance(node, ast.Lambda) else node
                if part.lineno <= line <= (part.end_lineno or part.lineno):
                    return True
        return False

    def _walk(self, body, scope, starts_scope=False):
        for index, node in enumerate(body):
            statement = Statement(node, scope, _first_line(node), _last_line(node))
            statement.is_docstring = starts_scope and index == 0 and _is_text(node)
            self.statements.append(statement)
            scope.statements.append(statement)
            for line in range(statement.start, min(statement.end, len(self.lines)) + 1):
                self._owners[line] = statement
            self._walk_parts(statement)

    def _walk_parts(self, statement):
        node, scope = statement.node, statement.scope
        parts = [
            getattr(node, name, None) or [] for name in ("body", "handlers", "cases", "orelse", "finalbody")
        ]
        if not any(parts) or not isinstance(parts[0], list):
            return
        first = next(part for part in parts if part)[0]
        statement.body_start = _first_line(first)
        statement.head_end = min(_head_end(node), max(statement.start, statement.body_start))
        starts_scope = isinstance(node, (*_FUNCTIONS, ast.ClassDef))
        if starts_scope:
            kind = "class" if isinstance(node, ast.ClassDef) else "function"
            scope = Scope(kind, scope.inner_name(node.name), node, statement.start, statement.end)
            statement.inner = scope
            self.scopes.append(scope)
        for part in parts:
            self._walk(part, scope, starts_scope)

    def _bind(self, module_code):
        codes = {}
        for code in _all_codes(module_code):
            codes.setdefault((code.co_name, code.co_firstlineno), []).append(code)
            if code.co_name.startswith("<") and code is not module_code:
                self._inline_lines.update(line_starts(code))
        self.module.lines = tuple(line_starts(module_code))
        for scope in self.scopes[1:]:
            found = codes.get((getattr(scope.node, "name"), scope.start))
            scope.lines = tuple(line_starts(found.pop(0))) if found else ()
        for statement in self.statements:
            statement.bound = self._bound(statement)

    def _bound(self, statement):
        lines = [line for line in statement.scope.lines if statement.start <= line <= statement.head_end]
        if not lines:
            return None
        if lines[0] != statement.start and statement.start in lines and self._is_inlined(statement, lines[0]):
            return statement.start
        return lines[0]

    def _is_inlined(self, statement, line):
        """True for a comprehension that runs in its function's own code: 3.12 and later.

        Its lines run once per item, so the statement's own line is the better place.
        """
        return sys.version_info >= (3, 12) and self.runs_inline(statement, line)


def load(path):
    """The map of a file or of a synthetic name with known source. Raises SourceError."""
    source = _source_of(path)
    stamp = (len(source), hash(source))
    known = _maps.get(path)
    if known is None or known[0] != stamp:
        if len(_maps) >= _CACHE_LIMIT:
            _maps.clear()
        known = _maps[path] = (stamp, SourceMap(path, source))
    return known[1]


def read_lines(path):
    """The lines of a file without compiling it, read again when it has changed. Raises SourceError."""
    if path.startswith("<"):
        return _decoded(path, _source_of(path))
    try:
        status = os.stat(path)
    except OSError as error:
        raise SourceError(_UNREADABLE % (path, error.strerror or error)) from None
    stamp = (status.st_mtime_ns, status.st_size)
    known = _texts.get(path)
    if known is None or known[0] != stamp:
        if len(_texts) >= _CACHE_LIMIT:
            _texts.clear()
        known = _texts[path] = (stamp, _decoded(path, _source_of(path)))
    return known[1]


def line_text(path, line):
    """The stripped text of one line, "" when it cannot be read."""
    try:
        lines = read_lines(path)
    except SourceError:
        return ""
    return lines[line - 1].strip() if 1 <= line <= len(lines) else ""


def line_starts(code):
    """The lines of a code object in order of its bytecode, repeats of one line run together."""
    if hasattr(code, "co_lines"):
        return _without_repeats(line for _, _, line in code.co_lines() if line)
    return _without_repeats(_decoded_line_table(code))


_maps = {}
_texts = {}


def _decoded_line_table(code):
    """What ``co_lines`` gives from 3.10 on, from the older table."""
    line = code.co_firstlineno
    for index in range(0, len(code.co_lnotab), 2):
        if code.co_lnotab[index]:
            yield line
        step = code.co_lnotab[index + 1]
        line += step - 256 if step >= 128 else step
    yield line


def _without_repeats(lines):
    kept = []
    for line in lines:
        if not kept or kept[-1] != line:
            kept.append(line)
    return kept


def _all_codes(code):
    yield code
    for constant in code.co_consts:
        if hasattr(constant, "co_code"):
            yield from _all_codes(constant)


def _source_of(path):
    if path.startswith("<"):
        linecache = sys.modules.get("linecache")
        entry = getattr(linecache, "cache", {}).get(path)
        if not entry or len(entry) < 4:
            raise SourceError("The source of %s is not known; name a file." % path)
        return "".join(entry[2]).encode("utf-8")
    try:
        if os.path.getsize(path) > _MAX_BYTES:
            raise SourceError("%s is too large to be read as source." % path)
        with open(path, "rb") as file:
            return file.read()
    except OSError as error:
        raise SourceError(_UNREADABLE % (path, error.strerror or error)) from None


def _decoded(path, source):
    try:
        encoding, _ = tokenize.detect_encoding(iter(source.splitlines(True)).__next__)
        text = source.decode(encoding)
    except (SyntaxError, UnicodeDecodeError, LookupError) as error:
        raise SourceError("%s cannot be decoded as source: %s." % (path, error)) from None
    lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    return lines if lines[-1] else lines[:-1]


def _compiled(path, source):
    lines = _decoded(path, source)
    shown = os.path.basename(path)
    try:
        tree = _parsed(path, source)
        return lines, tree, compile(source, path, "exec", 0, True)
    except SyntaxError as error:
        text = "%s has a syntax error on line %s (%s); fix it before setting breakpoints there."
        raise SourceError(text % (shown, error.lineno, error.msg)) from None
    except (ValueError, RecursionError, MemoryError) as error:
        raise SourceError("%s cannot be compiled: %s." % (shown, error)) from None


def _parsed(path, source):
    try:
        return compile(source, path, "exec", ast.PyCF_ONLY_AST, True)
    except SystemError:
        # CPython 3.11 counts depth per interpreter: a finalizer of the program that parses too, run by a
        # collection in the middle of ours, upsets the count ("recursion depth mismatch"). It has run now.
        return compile(source, path, "exec", ast.PyCF_ONLY_AST, True)


def _is_text(node):
    return (
        isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Constant)
        and isinstance(node.value.value, str)
    )


def _first_line(node):
    if hasattr(node, "pattern") and not hasattr(node, "lineno"):
        return node.pattern.lineno
    decorators = getattr(node, "decorator_list", None)
    return min([node.lineno] + [decorator.lineno for decorator in decorators or ()])


def _last_line(node):
    if not hasattr(node, "lineno"):
        return _last_line(node.body[-1])
    return node.end_lineno or node.lineno


def _head_end(node):
    """The last line of the expressions in a compound statement's head."""
    last = getattr(node, "lineno", 0)
    for name, value in ast.iter_fields(node):
        if name in ("body", "handlers", "cases", "orelse", "finalbody", "decorator_list"):
            continue
        for part in value if isinstance(value, list) else [value]:
            if isinstance(part, ast.AST):
                for inner in ast.walk(part):
                    last = max(last, getattr(inner, "end_lineno", 0) or 0)
    return last
