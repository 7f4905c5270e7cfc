"""What can be done to an object across the boundary, by name.

Stand-alone: standard library only, Python 3.10 and later; both sides load it.
"""

import copy
import gc
import importlib
import operator
import sys
import weakref
from collections.abc import Callable
from enum import Enum
from pathlib import Path
from typing import Any

from pdb_agent.grading.boundary_wire import is_plain, type_of

PLAIN_BASES = (int, float, str, bytes, tuple, list, dict, set, frozenset)
ORDERINGS = ("lt", "le", "gt", "ge")
BINARY = (
    *("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "matmul"),
    *("and", "or", "xor", "lshift", "rshift"),
)
OTHERS = ("neg", "pos", "abs", "invert", "getitem", "setitem", "delitem", "round")


def _plain(value: Any) -> Any:
    """The plain value that an object is built on."""
    if isinstance(value, Enum):
        value = value.value
    if is_plain(value):
        return value
    for base in PLAIN_BASES:
        if isinstance(value, base):
            return _PLAIN_READERS.get(base, base)(value)
    raise TypeError("The object is not built on a plain value.")


_PLAIN_READERS: dict[type[Any], Callable[[Any], Any]] = {
    int: int.__int__,
    float: float.__float__,
    str: str.__str__,
    bytes: lambda value: bytes(memoryview(value)),
}


def _enter(manager: Any) -> Any:
    return type_of(manager).__enter__(manager)


def _import(name: str) -> None:
    importlib.import_module(name)


def _leave(manager: Any, error: BaseException | None) -> bool:
    return bool(type_of(manager).__exit__(manager, type(error) if error else None, error, None))


def _module_get(name: str, attribute: str) -> Any:
    return getattr(importlib.import_module(name), attribute)


def _module_set(name: str, attribute: str, value: Any) -> None:
    setattr(importlib.import_module(name), attribute, value)


def _module_del(name: str, attribute: str) -> None:
    delattr(importlib.import_module(name), attribute)


def _call(function: Any, *arguments: Any, **keywords: Any) -> Any:
    return function(*arguments, **keywords)


def _is_instance(kind: Any, instance: Any) -> bool:
    return isinstance(instance, kind)


def _is_subclass(parent: Any, kind: Any) -> bool:
    return issubclass(kind, parent)


def _make_folder(path: str) -> None:
    Path(path).mkdir(parents=True, exist_ok=True)


def _binary_operations() -> dict[str, Callable[..., Any]]:
    found: dict[str, Callable[..., Any]] = {}
    for name in BINARY:
        found[name] = getattr(operator, name + "_" if name in ("and", "or") else name)
        found[f"i{name}"] = getattr(operator, f"i{name}")
    return found


OPERATIONS: dict[str, Callable[..., Any]] = {
    "import": _import,
    "module_get": _module_get,
    "module_set": _module_set,
    "module_del": _module_del,
    "call": _call,
    "getattr": getattr,
    "setattr": setattr,
    "delattr": delattr,
    "plain": _plain,
    "eq": operator.eq,
    "hash": hash,
    "bool": bool,
    "len": len,
    "int": int,
    "index": operator.index,
    "float": float,
    "str": str,
    "repr": repr,
    "format": format,
    "iter": iter,
    "next": next,
    "round": round,
    "reversed": reversed,
    "contains": operator.contains,
    "enter": _enter,
    "exit": _leave,
    "isinstance": _is_instance,
    "issubclass": _is_subclass,
    "copy": copy.copy,
    "deepcopy": copy.deepcopy,
    "weakref": weakref.ref,
    "collect": gc.collect,
    "make_folder": _make_folder,
    "hello": lambda: sys.version_info[:2],
    **{name: getattr(operator, name) for name in ORDERINGS},
    **{name: getattr(operator, name) for name in OTHERS if name != "round"},
    **_binary_operations(),
}
