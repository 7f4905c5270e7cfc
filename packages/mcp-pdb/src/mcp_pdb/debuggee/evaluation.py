"""Evaluates code that the model wrote in a frame, and writes what it assigned back.

The code runs with one dictionary as both globals and locals: the frame's
globals with its locals laid over them. Lambdas, comprehensions, generators and
nested functions then see the frame's locals on every Python version, which
separate dictionaries would not give them (their bodies look free names up in
globals). At module level the real globals are used, so that functions defined
there are ordinary ones. Names declared ``global`` are copied to the real
globals afterwards. What was bound or deleted is found by comparing the
dictionary before and after, and handed to the caller for ``write_back``.
"""

from __future__ import annotations

import _ast
import os
import sys
from types import FunctionType

from .deadline import Deadline
from .exceptions import clip_text, function_name, message
from .near_names import nearest
from .raw_fields import (
    MISSING,
    class_mro,
    class_name,
    class_namespace,
    fields,
    find_in_class,
    is_dunder,
    read_descriptor,
)
from .safe_repr import clip, summarize

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import CodeType, FrameType
    from typing import Any, Mapping

_FILE = "<run_expression>"
_ONLY_AST = 0x400
_OPTIMIZED = 1
_ERROR_CHARS = 1400
_HELP_CHARS = 400
_STDLIB = os.path.dirname(os.__file__) + os.sep
_WHY_KEPT = "from Python 3.12 on a function's own local cannot be deleted from outside; assign None instead"
DELETED: Any = type("Deleted", (), {"__doc__": "In bindings: the name was deleted."})()


def evaluate(
    source: str,
    frame_globals: dict[str, Any],
    frame_locals: Mapping[str, Any],
    limit_chars: int = 3000,
    code: CodeType | None = None,
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Run an expression or statements in a frame: ({"value", "type", "error"}, bindings).

    ``bindings`` maps each local that was bound or deleted to its new value or
    ``DELETED``. With the frame's ``code``, a local that has no value yet hides
    a global of the same name, as it does in the program, and a deletion that
    the interpreter cannot do is an error. Deadline
    passes through: the caller enforces the time.
    """
    text = _dedented(source)
    try:
        body, last = _compiled(text)
    except (SyntaxError, ValueError, OverflowError, MemoryError, RecursionError) as error:
        return _failed(_syntax_text(error, text, limit_chars)), {}
    namespace = _merged(frame_globals, frame_locals, code)
    before = plain_namespace(namespace)
    unset = _unset_names(code, frame_locals)
    value: Any = MISSING
    try:
        if body is not None:
            exec(body, namespace)
        if last is not None:
            value = eval(last, namespace)
        result = _succeeded(value, limit_chars)
    except BaseException as error:
        if issubclass(type(error), Deadline):
            raise
        result = _failed(_error_text(error, text, before, frame_locals, unset, limit_chars))
    bindings = _bindings(before, namespace, frame_globals, _declared_global(text))
    kept = [name for name, value in bindings.items() if value is DELETED and _is_kept_bound(name, code)]
    for name in kept:
        del bindings[name]
    if kept and result["error"] is None:
        result["error"] = "%s stays: %s" % (", ".join(kept), _WHY_KEPT)
    return result, bindings


def result_text(value: Any, limit_chars: int) -> str:
    """The value as the model asked for it: its class's own ``__repr__``, else a summary."""
    if not has_own_repr(type(value)):
        return summarize(value, limit_chars)
    try:
        text = repr(value)
    except Exception as error:
        said = "<repr raised %s: %s> " % (class_name(type(error)), message(error, 120))
        return clip(said + summarize(value, max(limit_chars - len(said), 40)), limit_chars)
    return clip_text(text, limit_chars)


def has_own_repr(cls: type) -> bool:
    """True when the program itself wrote the ``__repr__`` (not the standard library, not a decorator)."""
    method = find_in_class(cls, "__repr__")
    if type(method) is not FunctionType:
        return False
    file = method.__code__.co_filename
    in_stdlib = file.startswith(_STDLIB) and "-packages" not in file
    return not in_stdlib and not file.startswith("<attrs generated")


def write_back(frame: FrameType, bindings: Mapping[str, Any]) -> list[str]:
    """Bind (or delete) locals of a live frame; returns the names that could not be deleted.

    3.13+ writes through the frame's own proxy (PEP 667); before that the
    snapshot that ``f_locals`` is gets copied back by the C API. Cell and free
    variables are covered by both. Module and class frames have real dictionaries.
    From 3.12 on compiled code trusts a local to stay bound, so a function's own
    local cannot be deleted there.
    """
    if not bindings:
        return []
    code = frame.f_code
    namespace: Any = frame.f_locals
    refused: list[str] = []
    for name, value in bindings.items():
        if value is not DELETED:
            namespace[name] = value
        elif _is_kept_bound(name, code) or (name in namespace and not _deleted(namespace, name)):
            refused.append(name)
    if sys.version_info < (3, 13) and code.co_flags & _OPTIMIZED:
        import ctypes  # heavy, and needed only when something was assigned

        ctypes.pythonapi.PyFrame_LocalsToFast(ctypes.py_object(frame), ctypes.c_int(1))
    return refused


def _is_kept_bound(name: str, code: CodeType | None) -> bool:
    if code is None or sys.version_info < (3, 12) or not code.co_flags & _OPTIMIZED:
        return False
    return name in code.co_varnames + code.co_cellvars + code.co_freevars


def _deleted(namespace: Any, name: str) -> bool:
    try:
        del namespace[name]
    except (TypeError, ValueError):  # the proxy of 3.13 deletes nothing
        return False
    return True


def _dedented(source: str) -> str:
    lines = source.strip("\n").rstrip().split("\n")
    margin = len(lines[0]) - len(lines[0].lstrip())
    if margin and all(line[:margin].isspace() or not line.strip() for line in lines):
        lines = [line[margin:] for line in lines]
    return "\n".join(lines)


def _compiled(text: str) -> tuple[Any, Any]:
    """(statements, last expression), either of them None."""
    try:
        return None, compile(text, _FILE, "eval", 0, True)
    except SyntaxError:
        pass
    tree: Any = compile(text, _FILE, "exec", _ONLY_AST, True)
    last = None
    if tree.body and isinstance(tree.body[-1], _ast.Expr):
        last = compile(_ast.Expression(tree.body.pop().value), _FILE, "eval", 0, True)
    return compile(tree, _FILE, "exec", 0, True), last


def _merged(
    frame_globals: dict[str, Any], frame_locals: Mapping[str, Any], code: CodeType | None
) -> dict[str, Any]:
    if frame_locals is frame_globals:
        return frame_globals
    namespace = plain_namespace(frame_globals)
    for name in _unset_names(code, frame_locals):
        namespace.pop(name, None)
    namespace.update(plain_namespace(frame_locals))
    return namespace


def plain_namespace(namespace: Any) -> dict[str, Any]:
    """A frame's names as a plain dictionary; an own mapping of a class body is not asked."""
    if type(namespace) is dict:
        return namespace.copy()
    if issubclass(type(namespace), dict):
        return dict(dict.items(namespace))  # dict.copy would ask an overridden __iter__
    if class_name(type(namespace)) == "FrameLocalsProxy":
        return dict(namespace)
    return {}


def _unset_names(code: CodeType | None, frame_locals: Mapping[str, Any]) -> list[str]:
    """Locals without a value; a name also read as a global belongs to an inlined comprehension (3.12+)."""
    if code is None or not code.co_flags & _OPTIMIZED:
        return []
    own = code.co_varnames + code.co_cellvars
    return [name for name in own if name not in frame_locals and name not in code.co_names]


def _declared_global(text: str) -> set[str]:
    if "global" not in text:
        return set()
    found: set[str] = set()
    pending: list[Any] = [compile(text, _FILE, "exec", _ONLY_AST, True)]
    while pending:
        node = pending.pop()
        if isinstance(node, _ast.Global):
            found.update(node.names)
        for field in getattr(node, "_fields", ()):
            child = getattr(node, field, None)
            pending.extend(child if type(child) is list else [child])
    return found


def _bindings(
    before: dict[str, Any], after: dict[str, Any], frame_globals: dict[str, Any], declared_global: set[str]
) -> dict[str, Any]:
    changed = {name: value for name, value in after.items() if before.get(name, MISSING) is not value}
    changed.pop("__builtins__", None)
    changed.update({name: DELETED for name in before if name not in after})
    for name in declared_global & set(changed):
        value = changed.pop(name)
        if value is DELETED:
            frame_globals.pop(name, None)
        else:
            frame_globals[name] = value
    return changed


def _succeeded(value: Any, limit_chars: int) -> dict[str, Any]:
    if value is MISSING:
        return {"value": None, "type": None, "error": None}
    return {"value": result_text(value, limit_chars), "type": class_name(type(value)), "error": None}


def _failed(error: str) -> dict[str, Any]:
    return {"value": None, "type": None, "error": error}


def _syntax_text(error: BaseException, text: str, limit_chars: int) -> str:
    said = error.msg if isinstance(error, SyntaxError) else str(error)
    result = "%s: %s" % (class_name(type(error)), said)
    line = getattr(error, "lineno", None)
    lines = text.split("\n")
    if type(line) is int and 0 < line <= len(lines):
        place = " at line %d" % line if len(lines) > 1 else ""
        result += "%s: %s" % (place, clip(lines[line - 1].strip(), 120))
    if "await" in text and "await" in str(said):
        result += " (a stopped program cannot await; inspect the coroutine or step to its result)"
    return clip_text(result, limit_chars)


def _error_text(
    error: BaseException,
    text: str,
    names: dict[str, Any],
    frame_locals: Mapping[str, Any],
    unset: list[str],
    limit_chars: int,
) -> str:
    kind = class_name(type(error))
    limit_chars = min(limit_chars, _ERROR_CHARS)
    said = message(error, limit_chars - _HELP_CHARS)
    result = "%s: %s" % (kind, said) if said else kind
    if issubclass(type(error), SystemExit):
        result += " (the code asked to exit; the program was not ended)"
    elif issubclass(type(error), NameError):
        result += _name_help(said, names, frame_locals, unset)
    elif said.startswith("super()"):
        result += " (outside its class write super(Class, self))"
    elif issubclass(type(error), AttributeError):
        result += _attribute_help(error)
    return clip_text(result + _raised_at(error, text), limit_chars)


def _name_help(said: str, names: dict[str, Any], frame_locals: Mapping[str, Any], unset: list[str]) -> str:
    name = said.split("'")[1] if said.count("'") >= 2 else ""
    if name in unset:
        return " (it is a local of this function that has no value yet)"
    strings = [key for key in frame_locals if type(key) is str]
    local_names = [key for key in strings if not is_dunder(key) and key[:1] not in "@."]
    near = nearest(name, local_names + [key for key in names if type(key) is str])
    parts = ["did you mean %r?" % near[0]] if near else []
    if local_names:
        parts.append("names here: " + ", ".join(local_names[:12]) + (", …" if len(local_names) > 12 else ""))
    return " (%s)" % "; ".join(parts) if parts else ""


def _attribute_help(error: BaseException) -> str:
    name = read_descriptor(AttributeError, "name", error)  # these two exist from 3.10 on
    owner = read_descriptor(AttributeError, "obj", error)
    if type(name) is not str:
        return ""
    known = [key for key, _ in fields(owner)]
    known += [key for base in class_mro(type(owner)) for key in class_namespace(base)]
    near = nearest(name, known)
    return " (did you mean %r?)" % near[0] if near else ""


def _raised_at(error: BaseException, text: str) -> str:
    """Where it happened, when that is not plain from a one-line expression."""
    own_line, outside = _places(read_descriptor(BaseException, "__traceback__", error))
    lines = text.split("\n")
    result = ""
    if len(lines) > 1 and 0 < own_line <= len(lines):
        result += " at line %d: %s" % (own_line, clip(lines[own_line - 1].strip(), 120))
    if outside is not None and not issubclass(type(error), SystemExit):
        code, line = outside
        file = code.co_filename.rpartition("/")[2]
        result += " (raised at %s:%d in %s)" % (file, line, function_name(code))
    return result


def _places(tb: Any) -> tuple[int, tuple[CodeType, int] | None]:
    """The last line of the evaluated text that ran, and the innermost place below it."""
    own_line, outside = 0, None
    while tb is not None and tb is not MISSING:
        code = tb.tb_frame.f_code
        if code.co_filename == _FILE:
            own_line, outside = tb.tb_lineno, None
        elif own_line:
            outside = (code, tb.tb_lineno)
        tb = tb.tb_next
    return own_line, outside
