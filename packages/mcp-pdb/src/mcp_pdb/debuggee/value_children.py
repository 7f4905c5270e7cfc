"""The parts of a value: items, attributes, and what its class adds, each with its path."""

from __future__ import annotations

from _collections import deque
from itertools import islice
from types import (
    AsyncGeneratorType,
    CoroutineType,
    FunctionType,
    GeneratorType,
    GetSetDescriptorType,
    MemberDescriptorType,
    MethodType,
    ModuleType,
)

from .array_values import Word, is_library_class
from .raw_fields import (
    MISSING,
    class_mro,
    class_name,
    class_namespace,
    fields,
    find_in_class,
    instance_dict,
    is_any_of,
    is_dunder,
    loaded,
    module_namespace,
    printable,
    read_descriptor,
)
from .safe_repr import built_in_base, clip, mapping_items, summarize
from .value_path import Slice, slice_value
from .values_by_type import is_python_class

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_TEXTS = (str, bytes, bytearray)
_SUSPENDED = {
    id(GeneratorType): "gi_frame",
    id(CoroutineType): "cr_frame",
    id(AsyncGeneratorType): "ag_frame",
}
_NO_DATA = (FunctionType, GetSetDescriptorType, MemberDescriptorType, staticmethod, classmethod)
_PATH_CHARS = 200
_LITERAL_KEYS = {id(kind) for kind in (str, int, float, bool, bytes, type(None))}


class Child:
    """One part: ``name`` follows the value's own (``[3]``, ``.total``); ``path`` "" means none."""

    __slots__ = ("name", "note", "path", "value")

    def __init__(self, name: str, path: str, value: Any, note: str = "") -> None:
        self.name = name
        self.path = path if len(path) <= _PATH_CHARS else ""
        self.value = value
        self.note = note


def heading_of(value: Any, cursor: int, limit_chars: int) -> tuple[str, int | None]:
    """The value's own line, and where its text goes on (long strings and bytes page by characters)."""
    shown = slice_value(value) if type(value) is Slice else value
    base = built_in_base(type(shown))
    if base in _TEXTS:
        return _text_page(shown, base, cursor, limit_chars)
    return summarize(shown, min(240, limit_chars)), None


def _text_page(value: Any, kind: Any, cursor: int, limit_chars: int) -> tuple[str, int | None]:
    size = kind.__len__(value)
    room = max(limit_chars - 60, 20)
    count = min(room, max(size - cursor, 0))
    while True:
        piece = kind.__getitem__(value, slice(cursor, cursor + count))
        text = kind.__repr__(piece)
        if len(text) <= room + 16 or count <= 1:
            break
        count = max(1, min(count - 1, count * room // len(text)))
    end = cursor + count
    if cursor == 0 and end >= size:
        return text, None
    unit = "chars" if kind is str else "bytes"
    return "%s (%s %d to %d of %d)" % (text, unit, cursor, end, size), end if end < size else None


def children_of(value: Any, path: str, start: int, count: int) -> tuple[list[Child], int]:
    """Up to ``count`` children from number ``start`` on, and how many there are."""
    if type(value) is Slice:
        if built_in_base(type(value.owner)) in _TEXTS:
            return [], 0
        size = value.stop - value.start
        count = max(min(count, size - start), 0)
        return _positions(value.owner, value.owner_path, value.start + start, count), size
    base: Any = built_in_base(type(value))
    if base is dict:
        return _with_fields(value, path, start, count, dict.__len__(value), _keys)
    if base in (list, tuple, deque) and type(find_in_class(type(value), "_fields")) is not tuple:
        return _with_fields(value, path, start, count, base.__len__(value), _positions)
    if base in (set, frozenset):
        return _with_fields(value, path, start, count, base.__len__(value), _members)
    listed = _array_children(value, path, start, count)
    if listed is not None:
        return listed
    if base is not None and base is not tuple and not fields(value):
        return [], 0
    parts = _parts(value, path)
    return parts[start : start + count], len(parts)


def _with_fields(
    value: Any, path: str, start: int, count: int, size: int, list_items: Any
) -> tuple[list[Child], int]:
    """The container's items, then the attributes of a subclass."""
    own = [_attribute(name, path, item) for name, item in fields(value)]
    found = list_items(value, path, start, min(count, max(size - start, 0)))
    if len(found) < count:
        found += own[max(start - size, 0) :][: count - len(found)]
    return found, size + len(own)


def _attribute(name: str, path: str, value: Any, note: str = "") -> Child:
    usable = str.isidentifier(name)
    return Child("." + printable(name), "%s.%s" % (path, name) if usable else "", value, note)


def _positions(value: Any, path: str, start: int, count: int) -> list[Child]:
    for kind in (list, tuple, deque, str, bytes, bytearray, range):
        if issubclass(type(value), kind):
            if kind is deque:
                items = list(islice(deque.__iter__(value), start, start + count))
            else:
                items = kind.__getitem__(value, slice(start, start + count))
            break
    else:
        return []
    places = ["[%d]" % index for index in range(start, start + count)]
    return [Child(place, path + place, item) for place, item in zip(places, items)]


def _keys(value: Any, path: str, start: int, count: int) -> list[Child]:
    found: list[Child] = []
    for key, item in mapping_items(value, start + count)[start:]:
        if _is_literal(key):
            text = repr(key)
            found.append(Child("[%s]" % clip(text, 60), "%s[%s]" % (path, text), item))
        else:
            found.append(Child("[%s]" % summarize(key, 60), "", item))
    return found


def _is_literal(key: Any) -> bool:
    if type(key) is tuple:
        return len(key) < 10 and all(_is_literal(part) for part in key)
    if type(key) is int:
        return key.bit_length() < 200
    return id(type(key)) in _LITERAL_KEYS


def _members(value: Any, path: str, start: int, count: int) -> list[Child]:
    kind: Any = set if issubclass(type(value), set) else frozenset
    return [Child("(member)", "", item) for item in islice(kind.__iter__(value), start, start + count)]


def _array_children(value: Any, path: str, start: int, count: int) -> tuple[list[Child], int] | None:
    """Rows of an array or tensor, columns of a table, items of a series; None for anything else."""
    cls = type(value)
    if cls is loaded("numpy", "ndarray") or cls is loaded("torch", "Tensor"):
        return _rows(value, path, start, count)
    if not is_library_class(cls, "pandas"):
        return None
    if class_name(cls) == "DataFrame":
        names = value.columns.tolist()[start : start + count]
        columns = [value.iloc[:, place] for place in range(start, start + len(names))]
        return [_labelled(path, *pair) for pair in zip(names, columns)], value.shape[1]
    if class_name(cls) == "Series":
        part = value.iloc[start : start + count]
        return [_labelled(path, *pair) for pair in zip(part.index.tolist(), part.tolist())], value.shape[0]
    return None


def _labelled(path: str, label: Any, value: Any) -> Child:
    place = "[%s]" % summarize(label, 60)
    return Child(place, path + "[%r]" % (label,) if _is_literal(label) else "", value)


def _rows(value: Any, path: str, start: int, count: int) -> tuple[list[Child], int]:
    shape = value.shape
    if not shape:
        return [], 0
    places = range(start, min(start + count, shape[0]))
    return [Child("[%d]" % row, "%s[%d]" % (path, row), value[row]) for row in places], shape[0]


def _parts(value: Any, path: str) -> list[Child]:
    cls = type(value)
    if issubclass(cls, type):
        return _namespace(class_namespace(value), path)
    if issubclass(cls, ModuleType):
        return _namespace(module_namespace(value), path)
    if cls is FunctionType:
        return _function(value, path)
    if cls is MethodType:
        return [
            Child(".__self__", path + ".__self__", value.__self__),
            Child(".__func__", path + ".__func__", value.__func__),
        ]
    if id(cls) in _SUSPENDED:
        return _suspended(value, path, _SUSPENDED[id(cls)])
    return _object(value, path)


def _namespace(namespace: Any, path: str) -> list[Child]:
    return [
        _attribute(name, path, item)
        for name, item in list(namespace.items())
        if type(name) is str and not is_dunder(name)
    ]


def _function(value: Any, path: str) -> list[Child]:
    found: list[Child] = []
    for name in ("__defaults__", "__kwdefaults__"):
        held = getattr(value, name)
        if held:
            found.append(Child("." + name, "%s.%s" % (path, name), held))
    for name, cell in zip(value.__code__.co_freevars, value.__closure__ or ()):
        try:
            found.append(Child("(closure) " + printable(name), "", cell.cell_contents))
        except ValueError:
            found.append(Child("(closure) " + printable(name), "", Word("not set yet")))
    return found + [_attribute(name, path, item) for name, item in fields(value)]


def _suspended(value: Any, path: str, frame_attribute: str) -> list[Child]:
    frame = getattr(value, frame_attribute)
    if frame is None:
        return []
    return [
        Child("(local) " + name, "%s.%s.f_locals[%r]" % (path, frame_attribute, name), item)
        for name, item in dict(frame.f_locals).items()
        if name[:1] != "."
    ]


def _object(value: Any, path: str) -> list[Child]:
    """Its set attributes, then what only its class holds, then the names that code would compute."""
    cls = type(value)
    own = fields(value)
    found = [_attribute(name, path, item) for name, item in own]
    if issubclass(cls, tuple):
        names = find_in_class(cls, "_fields")
        if type(names) is tuple:
            pairs = zip(names, tuple.__iter__(value))
            found = [_attribute(name, path, item) for name, item in pairs if type(name) is str]
    if issubclass(cls, BaseException):
        arguments = read_descriptor(BaseException, "args", value)
        found.insert(0, Child(".args", path + ".args", arguments))
    seen = {name for name, _ in own}
    computed: list[str] = []
    for base in filter(is_python_class, class_mro(cls)):
        for name, item in class_namespace(base).items():
            if name in seen or type(name) is not str or is_dunder(name) or name[:5] == "_abc_":
                continue
            seen.add(name)
            if issubclass(type(item), property) or class_name(type(item)) == "cached_property":
                computed.append(name)
            elif _is_class_data(item):
                found.append(_attribute(name, path, item, "class attribute"))
    if computed and instance_dict(value) is not None:
        what = "it" if len(computed) == 1 else "one"
        hint = "%s: run_expression('%s.%s') computes %s" % (", ".join(computed), path, computed[0], what)
        found.append(Child("(properties)", "", Word(clip(hint, 400))))
    return found


def _is_class_data(item: Any) -> bool:
    kind = type(item)
    if is_any_of(kind, _NO_DATA):
        return False
    return find_in_class(kind, "__get__") is MISSING and not issubclass(kind, type)
