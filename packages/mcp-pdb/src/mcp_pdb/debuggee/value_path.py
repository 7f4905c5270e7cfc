"""Resolves paths such as ``pool[3].calibration`` without running the program's code.

The grammar is a name followed by ``.attribute``, ``[literal key]`` or
``[a:b]``. What only code could answer (a property, ``__getattr__``, an own
``__getitem__``) is refused with the expression that would ask it.
"""

from __future__ import annotations

import _ast
import builtins
from _collections import deque
from collections import defaultdict
from itertools import islice
from types import FunctionType, GetSetDescriptorType, MemberDescriptorType, MethodType, ModuleType

from .array_values import is_library_class
from .near_names import nearest
from .raw_fields import (
    MISSING,
    class_mro,
    class_name,
    class_namespace,
    fields,
    find_in_class,
    instance_dict,
    is_any_of,
    loaded,
    module_namespace,
    slot_items,
)
from .safe_repr import summarize

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Mapping

_ONLY_AST = 0x400
_SEQUENCES = (list, tuple, str, bytes, bytearray, range, deque)
_PLAIN_KEYS = (str, int, float, bool, bytes, type(None))
_COMPARED: tuple[Any, ...] = _PLAIN_KEYS


class Unresolved(Exception):
    """The path cannot be resolved; its text is a sentence with the way on."""


class Slice:
    """Items ``start`` to ``stop`` of a sequence, kept with the sequence they belong to."""

    __slots__ = ("owner", "owner_path", "start", "stop")

    def __init__(self, owner: Any, owner_path: str, start: int, stop: int) -> None:
        self.owner = owner
        self.owner_path = owner_path
        self.start = start
        self.stop = stop


def resolve(path: str, namespace: Mapping[str, Any], globals_: Mapping[str, Any]) -> Any:
    """The value at a path, or a Slice. Raises Unresolved."""
    value: Any = MISSING
    done = ""
    for kind, key in parse(path):
        if type(value) is Slice:
            value = slice_value(value)
        if kind == "name":
            value, done = _name(key, namespace, globals_), key
        elif kind == "attribute":
            value, done = attribute(value, key, done), "%s.%s" % (done, key)
        elif kind == "slice":
            value, done = _slice(value, key, done), "%s[%s:%s]" % (done, key[0], key[1])
        else:
            value, done = item(value, key, done), "%s[%r]" % (done, key)
    return value


def parse(path: str) -> list[tuple[str, Any]]:
    """The steps of a path: ("name" | "attribute" | "item" | "slice", key). Raises Unresolved."""
    try:
        tree: Any = compile(path.strip(), "<path>", "eval", _ONLY_AST, True)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        raise Unresolved(_not_a_path(path)) from None
    steps: list[tuple[str, Any]] = []
    node = tree.body
    while not isinstance(node, _ast.Name):
        if isinstance(node, _ast.Attribute):
            steps.append(("attribute", node.attr))
        elif isinstance(node, _ast.Subscript):
            steps.append(_subscript(node.slice, path))
        else:
            raise Unresolved(_not_a_path(path))
        node = node.value
    steps.append(("name", node.id))
    return steps[::-1]


def _not_a_path(path: str) -> str:
    return (
        "%r is not a path like pool[3].calibration (names, attributes, literal keys, slices): "
        "run_expression evaluates any other expression" % path
    )


def _subscript(node: Any, path: str) -> tuple[str, Any]:
    if type(node).__name__ == "Index":
        node = node.value
    if isinstance(node, _ast.Slice):
        if node.step is not None:
            raise Unresolved(_not_a_path(path))
        ends = [None if end is None else _literal(end, path) for end in (node.lower, node.upper)]
        if any(end is not None and type(end) is not int for end in ends):
            raise Unresolved(_not_a_path(path))
        return "slice", tuple(ends)
    return "item", _literal(node, path)


def _literal(node: Any, path: str) -> Any:
    if isinstance(node, _ast.Constant):
        return node.value
    if isinstance(node, _ast.Tuple):
        return tuple([_literal(element, path) for element in node.elts])
    if isinstance(node, _ast.UnaryOp) and isinstance(node.op, _ast.USub):
        operand = _literal(node.operand, path)
        if type(operand) in (int, float):
            return -operand
    raise Unresolved(_not_a_path(path))


def _name(name: str, namespace: Mapping[str, Any], globals_: Mapping[str, Any]) -> Any:
    for scope in (namespace, globals_, vars(builtins)):
        if name in scope:
            return scope[name]
    near = nearest(name, [key for scope in (namespace, globals_) for key in scope if type(key) is str])
    hint = "did you mean %r?" % near[0] if near else "examine_locals lists the names of this frame"
    raise Unresolved("there is no name %r in this frame; %s" % (name, hint))


def attribute(value: Any, name: str, path: str = "x") -> Any:
    """One attribute, read without running code. Raises Unresolved where only code could answer."""
    cls = type(value)
    if issubclass(cls, ModuleType):
        found = module_namespace(value).get(name, MISSING)
        if found is not MISSING:
            return found
    own = _own_attribute(value, name)
    if own is not MISSING:
        return own
    if issubclass(cls, type):
        found = find_in_class(value, name)
        if found is not MISSING and type(found) is not property:
            return found
    found = find_in_class(cls, name)
    if found is MISSING:
        raise Unresolved(_no_attribute(value, name, path))
    return _class_attribute(value, found, name, path)


def _own_attribute(value: Any, name: str) -> Any:
    own = instance_dict(value)
    if own is not None:
        found = dict.get(own, name, MISSING)
        if found is not MISSING:
            return found
    for slot, item_value in slot_items(value):
        if slot == name:
            return item_value
    return MISSING


def _class_attribute(value: Any, found: Any, name: str, path: str) -> Any:
    cls = type(value)
    kind = type(found)
    if is_any_of(kind, (GetSetDescriptorType, MemberDescriptorType)):
        try:
            return found.__get__(value, cls)
        except Exception:  # C code of a library
            raise Unresolved("%s.%s is not set" % (path, name)) from None
    if kind is loaded("_collections", "_tuplegetter"):
        return found.__get__(value, cls)
    if kind is FunctionType:
        return MethodType(found, value)
    if is_any_of(kind, (staticmethod, classmethod)):
        return found.__func__
    if find_in_class(kind, "__get__") is not MISSING:
        what = "a property" if issubclass(kind, property) else "computed by a %s" % class_name(kind)
        raise Unresolved(
            "%s.%s is %s: run_expression('%s.%s') to compute it" % (path, name, what, path, name)
        )
    return found


def _no_attribute(value: Any, name: str, path: str) -> str:
    cls = type(value)
    expression = "run_expression('%s.%s')" % (path, name)
    if find_in_class(cls, "__getattr__") is not MISSING:
        return "%s has no attribute %r of its own, but %s defines __getattr__: %s to ask it" % (
            path,
            name,
            class_name(cls),
            expression,
        )
    known = [key for key, _ in fields(value)]
    known += [key for base in class_mro(cls) for key in class_namespace(base) if key[:2] != "__"]
    near = nearest(name, known)
    hint = "did you mean %s.%s?" % (path, near[0]) if near else "print_variable('%s') lists its parts" % path
    return "%s (%s) has no attribute %r; %s" % (path, class_name(cls), name, hint)


def item(value: Any, key: Any, path: str = "x") -> Any:
    """One item by literal key, read past any override. Raises Unresolved."""
    cls = type(value)
    if class_name(cls) == "FrameLocalsProxy":
        value, cls = dict(value), dict
    if issubclass(cls, dict):
        return _mapping_item(value, key, path)
    for kind in _SEQUENCES:
        if issubclass(cls, kind):
            return _sequence_item(kind, value, key, path)
    if _is_array(cls):
        try:
            return value[key]
        except (KeyError, IndexError, ValueError, TypeError) as error:
            raise Unresolved("%s[%r]: %s: %s" % (path, key, class_name(type(error)), error)) from None
    if find_in_class(cls, "__getitem__") is not MISSING:
        raise Unresolved(
            "%s[%r] is answered by %s.__getitem__: run_expression('%s[%r]') to ask it"
            % (path, key, class_name(cls), path, key)
        )
    raise Unresolved("%s (%s) has no items; print_variable('%s') shows it" % (path, class_name(cls), path))


def _is_array(cls: type) -> bool:
    """True for the array types themselves, whose indexing is the library's own code."""
    if cls is loaded("numpy", "ndarray"):
        return True
    return is_library_class(cls, "pandas") or is_library_class(cls, "torch")


def _mapping_item(value: Any, key: Any, path: str) -> Any:
    for candidate, found in list(dict.items(value)):
        if same_key(candidate, key):
            return found
    cls = type(value)
    if cls is not defaultdict and find_in_class(cls, "__missing__") is not MISSING:
        raise Unresolved(
            "%s holds no key %r, but %s defines __missing__: run_expression('%s[%r]') to ask it"
            % (path, key, class_name(cls), path, key)
        )
    texts = [candidate for candidate in islice(dict.keys(value), 500) if type(candidate) is str]
    near = nearest(key, texts, 3) if type(key) is str else []
    some = near or list(islice(dict.keys(value), 5))
    size = dict.__len__(value)
    known = ", ".join([summarize(candidate, 30) for candidate in some])
    hint = "nearest: " if near else "%d keys, the first: " % size
    raise Unresolved("%s has no key %r (%s)" % (path, key, hint + known if size else "it is empty"))


def same_key(candidate: Any, key: Any) -> bool:
    """Equality of a stored key and a literal one, without the stored key's own ``__eq__``."""
    if type(candidate) is tuple and type(key) is tuple:
        return len(candidate) == len(key) and all(map(same_key, candidate, key))
    kind = type(candidate)
    for plain in _COMPARED:
        if issubclass(kind, plain):
            return type(key) in _PLAIN_KEYS and plain.__eq__(candidate, key) is True
    return False


def _sequence_item(kind: Any, value: Any, key: Any, path: str) -> Any:
    size = kind.__len__(value)
    if type(key) is int and -size <= key < size:
        return kind.__getitem__(value, key % size)  # a deque would ask len() for a negative index
    if type(key) is int:
        raise Unresolved("%s[%d] is out of range: %s has %d items" % (path, key, path, size))
    fields_of_tuple = find_in_class(type(value), "_fields")
    hint = "; its fields are %s" % ", ".join(fields_of_tuple) if type(fields_of_tuple) is tuple else ""
    raise Unresolved("%s takes an index from 0 to %d, not %r%s" % (path, size - 1, key, hint))


def _slice(value: Any, ends: tuple[int | None, int | None], path: str) -> Slice:
    for kind in _SEQUENCES:
        if issubclass(type(value), kind):
            start, stop, _ = slice(*ends).indices(kind.__len__(value))
            return Slice(value, path, start, max(start, stop))
    raise Unresolved("%s (%s) has no slices; run_expression can try it" % (path, class_name(type(value))))


def slice_value(piece: Slice) -> Any:
    """The part itself, as a new plain sequence."""
    for kind in _SEQUENCES:
        if issubclass(type(piece.owner), kind):
            if kind is deque:
                return list(islice(deque.__iter__(piece.owner), piece.start, piece.stop))
            return kind.__getitem__(piece.owner, slice(piece.start, piece.stop))
    return piece.owner
