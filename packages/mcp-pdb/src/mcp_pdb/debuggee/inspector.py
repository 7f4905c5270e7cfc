"""What a stopped frame's names and values are, page by page, as plain dictionaries.

Values are shown by ``safe_repr`` and paths followed by ``value_path``: neither
runs code of the program. ``evaluate`` (re-exported) is the one place that does.
"""

from __future__ import annotations

from types import FunctionType, MappingProxyType, ModuleType

from .array_values import Word
from .evaluation import DELETED, evaluate, plain_namespace, write_back
from .exceptions import describe_exception
from .library_values import is_machinery, telling_fields
from .raw_fields import (
    class_module,
    class_name,
    class_qualname,
    is_any_of,
    is_dunder,
    loaded,
    printable,
    steadily,
)
from .safe_repr import clip, fingerprint, summarize
from .value_children import Child, children_of, heading_of
from .value_path import Slice, Unresolved, resolve

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import CodeType
    from typing import Any, Mapping

    Entry = tuple[str, str, Any]

__all__ = [
    "DELETED",
    "describe_exception",
    "describe_locals",
    "describe_value",
    "diff",
    "evaluate",
    "fingerprint",
    "snapshot",
    "summarize",
    "write_back",
]

_OPTIMIZED = 1
_VARARGS, _VARKEYWORDS = 4, 8
_SELF_ATTRIBUTES = 30
_SNAPSHOT_CHARS = 120
_SNAPSHOT_NAMES = 200
_PAGE_ITEMS = 200
_NESTED_ITEMS = 20
_NAME_CHARS = 100
_REMEMBERED = 30
_REMEMBERED_IN_ALL = 200
_OVERHEAD = 8
"""Characters that a renderer adds to an entry: separators, parentheses, the line's end."""
_ALIASED_TYPES_EXCLUDED = (str, int, float, complex, bytes, bool, type(None), tuple, frozenset, range)


def describe_locals(
    namespace: Mapping[str, Any],
    code: CodeType | None = None,
    name_filter: str | None = None,
    cursor: int = 0,
    limit_chars: int = 2500,
) -> dict[str, Any]:
    """A page of a frame's names: arguments first, ``self`` opened one level.

    ``name_filter`` None hides dunders, modules, imported definitions and
    rewriting temporaries; "" shows all; else it is a glob or a part of the name.
    """
    names = plain_namespace(namespace)
    ordered = _ordered(names, code)
    chosen = [name for name in ordered if _passes(name, names, code, name_filter)]
    entries = _opened(chosen, names, open_self=name_filter is None)
    page = _page(entries, cursor, limit_chars)
    page["hidden"] = len(ordered) - len(chosen)
    return page


def describe_value(
    namespace: Mapping[str, Any],
    globals_: Mapping[str, Any],
    path: str,
    depth: int = 1,
    cursor: int = 0,
    limit_chars: int = 3000,
) -> dict[str, Any]:
    """A value and a page of its children, or {"error": sentence}."""
    try:
        value = steadily(resolve, path, plain_namespace(namespace), globals_)
    except Unresolved as error:
        return {"error": str(error)}
    return steadily(_value_page, value, path.strip(), depth, cursor, limit_chars)


def _value_page(value: Any, path: str, depth: int, cursor: int, limit_chars: int) -> dict[str, Any]:
    heading, text_cursor = heading_of(value, cursor, limit_chars)
    children, total = children_of(value, path, cursor, _PAGE_ITEMS)
    whole = value.owner if type(value) is Slice else value
    page = _Page(limit_chars - len(heading), max(min(len(children), total - cursor), 1), least=120)
    page.remember(path, whole)
    shown = 0
    for child in children:
        if not page.add(child.name, child.path, child.value, child.note):
            break
        shown += 1
        if depth > 1 and not is_machinery(type(child.value)):
            _add_nested(page, child, child.name, depth - 1)
    following = cursor + shown
    return {
        "heading": heading,
        "variables": page.variables,
        "total": total,
        "next_cursor": following if following < total else text_cursor,
    }


def _add_nested(page: _Page, parent: Child, name: str, depth: int) -> None:
    """The children of a child, as far as they fit; what is left is counted in an entry."""
    children, total = children_of(parent.value, parent.path or "…", 0, _NESTED_ITEMS)
    shown = 0
    for child in children:
        if not page.add(name + child.name, child.path if parent.path else "", child.value, child.note):
            break
        shown += 1
        if depth > 1 and not is_machinery(type(child.value)):
            _add_nested(page, child, name + child.name, depth - 1)
    if shown < total:
        page.add(name, "", Word("… %d more, print_variable(%r)" % (total - shown, parent.path)))


def snapshot(namespace: Mapping[str, Any], code: CodeType | None = None) -> dict[str, list[Any]]:
    """``{name: [summary, fingerprint]}`` for the names shown by default."""
    names = plain_namespace(namespace)
    chosen = [name for name in _ordered(names, code) if _passes(name, names, code, None)]
    taken: dict[str, list[Any]] = {}
    for name, _, value in _opened(chosen[:_SNAPSHOT_NAMES], names, open_self=True):
        if type(value) is _Opened:
            value = value.value
            taken[name] = [class_name(type(value)), id(value)]
        else:
            taken[name] = [summarize(value, _SNAPSHOT_CHARS), fingerprint(value)]
    return taken


def diff(old: Mapping[str, list[Any]], new: Mapping[str, list[Any]]) -> list[dict[str, str | None]]:
    """What changed between two snapshots of one frame, new names first as they appear, then lost ones."""
    changes: list[dict[str, str | None]] = []
    for name, (text, number) in new.items():
        before = old.get(name)
        if before is None:
            changes.append({"name": name, "old": None, "new": text})
        elif before[0] != text:
            changes.append({"name": name, "old": before[0], "new": text})
        elif before[1] != number:
            changes.append({"name": name, "old": text, "new": text + " (changed inside)"})
    changes += [{"name": name, "old": old[name][0], "new": None} for name in old if name not in new]
    return changes


class _Opened:
    """Stands for ``self`` where its attributes follow as entries of their own."""

    __slots__ = ("count", "value")

    def __init__(self, value: Any, count: int) -> None:
        self.value = value
        self.count = count


def _ordered(names: dict[str, Any], code: CodeType | None) -> list[str]:
    """Arguments first, then the code's own order, then the order of insertion."""
    if code is None or not code.co_flags & _OPTIMIZED:
        return [name for name in names if type(name) is str]
    known = code.co_varnames + code.co_cellvars + code.co_freevars
    ordered = dict.fromkeys([name for name in known if name in names])
    ordered.update(dict.fromkeys([name for name in names if type(name) is str]))
    return list(ordered)


def _argument_count(code: CodeType) -> int:
    flags = code.co_flags
    extra = bool(flags & _VARARGS) + bool(flags & _VARKEYWORDS)
    return code.co_argcount + code.co_kwonlyargcount + extra


def _passes(name: str, names: dict[str, Any], code: CodeType | None, name_filter: str | None) -> bool:
    if name_filter == "":
        return True
    if name_filter is not None:
        if "*" in name_filter or "?" in name_filter:
            return _glob(name, name_filter)
        return name_filter in name
    if name[:1] in "@." or is_dunder(name):
        return False
    return not _is_definition(name, names, code)


def _glob(name: str, pattern: str) -> bool:
    """``*`` stands for any characters, ``?`` for one."""
    if not pattern:
        return not name
    if pattern[0] == "*":
        return any(_glob(name[start:], pattern[1:]) for start in range(len(name) + 1))
    return bool(name) and pattern[0] in (name[0], "?") and _glob(name[1:], pattern[1:])


def _is_definition(name: str, names: dict[str, Any], code: CodeType | None) -> bool:
    """True for modules and imported functions and classes.

    In a function a callable held under another name than its own, or passed
    as an argument, is data and stays.
    """
    value = names[name]
    kind = type(value)
    if issubclass(kind, ModuleType):
        return True
    if issubclass(kind, type):
        module, own_name = class_module(value), class_name(value)
    elif kind is FunctionType or kind is type(len):
        module, own_name = value.__module__, value.__name__
    else:
        return False
    if code is not None and code.co_flags & _OPTIMIZED:
        if name in code.co_varnames[: _argument_count(code)] or name != own_name:
            return False
        if kind is FunctionType:
            return value.__code__.co_filename != code.co_filename
        return kind is type(len) or "<locals>" not in class_qualname(value)
    return module != names.get("__name__", names.get("__module__"))


def _opened(chosen: list[str], names: dict[str, Any], *, open_self: bool) -> list[Entry]:
    entries: list[Entry] = []
    for name in chosen:
        value = names[name]
        own = telling_fields(value)[:_SELF_ATTRIBUTES] if open_self and name == "self" else []
        if own:
            entries.append((name, name, _Opened(value, len(own))))
            for key, item in own:
                path = "self.%s" % printable(key)
                entries.append((path, path, item))
        else:
            entries.append((printable(name), name, value))
    return entries


def _page(entries: list[Entry], cursor: int, limit_chars: int) -> dict[str, Any]:
    """The entries from ``cursor`` on that fit; at least one, so that paging always moves on."""
    page = _Page(limit_chars, len(entries) - cursor)
    for _, path, value in entries[:cursor]:
        page.remember(path, value)
    position = cursor
    for name, path, value in entries[cursor:]:
        if not page.add(name, path, value):
            break
        position += 1
    return {
        "variables": page.variables,
        "total": len(entries),
        "next_cursor": position if position < len(entries) else None,
    }


class _Page:
    """Entries gathered until the characters run out, knowing which objects were shown already."""

    __slots__ = ("each", "inside", "room", "seen", "variables")

    def __init__(self, limit_chars: int, expected: int, least: int = 60) -> None:
        self.room = limit_chars
        self.inside = _REMEMBERED_IN_ALL
        self.each = max(least, min(400, limit_chars // max(expected, 1) - 30))
        self.seen: dict[int, str] = {}
        self.variables: list[dict[str, Any]] = []

    def remember(self, path: str, value: Any) -> str:
        """The path under which this very object was seen first."""
        value = value.value if type(value) is _Opened else value
        return self.seen.setdefault(id(value), path) if _can_be_aliased(value) else path

    def add(self, name: str, path: str, value: Any, note: str = "") -> bool:
        """Add an entry; False, and nothing added, when it does not fit."""
        name = clip(name, _NAME_CHARS)
        variable = _variable(name, path, value, self._limit(name))
        if note:
            variable["value"] += " (%s)" % note
        first = self.remember(path or name, value)
        variable["same_as"] = first if first != (path or name) else None
        size = len(name) + len(variable["value"]) + len(variable["type"]) + _OVERHEAD
        if size > self.room and self.variables:
            return False
        self.room -= size
        self.variables.append(variable)
        self._remember_inside(path, value)
        return True

    def _limit(self, name: str) -> int:
        """What fits, for the first entry; later ones rather go to the next page than be cut short."""
        return self.each if self.variables else min(self.each, max(self.room - len(name) - 20, 20))

    def _remember_inside(self, path: str, value: Any) -> None:
        """Note the items of a short list or dictionary, so that a local can be told to be one of them."""
        kind = type(value)
        if not path or self.inside <= 0 or not is_any_of(kind, (list, tuple, dict)):
            return
        if len(value) > _REMEMBERED:
            return
        self.inside -= len(value)
        items = list(value.items()) if kind is dict else list(enumerate(value))
        for key, item in items:
            if is_any_of(type(key), (str, int)) and _can_be_aliased(item):
                self.seen.setdefault(id(item), "%s[%r]" % (path, key))


def _variable(name: str, path: str, value: Any, limit_chars: int) -> dict[str, Any]:
    if type(value) is _Opened:
        kind = class_name(type(value.value))
        text = "%s, %d attribute%s:" % (kind, value.count, "" if value.count == 1 else "s")
        return {"name": name, "value": text, "type": kind, "path": path}
    kind = "" if type(value) is Word else class_name(type(value))
    return {"name": name, "value": summarize(value, limit_chars), "type": kind, "path": path}


def _can_be_aliased(value: Any) -> bool:
    """True for objects whose identity matters: what can change under another name."""
    kind = type(value)
    if issubclass(kind, (*_ALIASED_TYPES_EXCLUDED, type, ModuleType, FunctionType, MappingProxyType)):
        return False
    enum = loaded("enum", "Enum")
    return not (issubclass(type(enum), type) and issubclass(kind, enum)) and kind is not type(len)
