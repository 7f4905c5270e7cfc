"""What tests hand over to the candidate: functions to call, objects with public names, exceptions.

Stand-alone: standard library only, Python 3.10 and later.

The candidate can call a function, and of an object made by a class in a test
module it can read public attributes and use calls, iteration, length and
``with``. Every other special name, and every object of any other kind, is out of
its reach: neither pytest nor a frame nor a module of the tests can be had.
"""

import functools
import importlib
import inspect
import sys
import threading
import types
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from pdb_agent.grading.boundary_errors import describe, standard_class
from pdb_agent.grading.boundary_wire import WireError, type_of

SPECIALS = ("call", "enter", "exit", "iter", "next", "len")
_FUNCTIONS = (
    types.FunctionType,
    types.BuiltinFunctionType,
    types.MethodType,
    types.MethodWrapperType,
    functools.partial,
)
_SYNCHRONISATION = frozenset({"threading", "_thread", "queue", "_queue", "_io"})
"""Modules of the standard library whose objects may be handed over like those of test modules."""
_REFUSED = (types.ModuleType, types.CodeType, types.FrameType, types.TracebackType, types.CoroutineType)


@dataclass(frozen=True)
class Export:
    """An object that the candidate may use, and how."""

    value: Any
    specials: tuple[str, ...]
    has_attributes: bool


class Exports:
    """The objects handed over so far, by number; they are kept until the run ends."""

    def __init__(self, is_test_module: Callable[[str], bool], served: Callable[[str], bool]) -> None:
        self._is_test_module = is_test_module
        self._is_served = served
        self._lock = threading.Lock()
        self._exports: list[Export] = []
        self._numbers: dict[Any, int] = {}

    def get(self, number: int) -> Any:
        """The object itself, come back. Raises WireError for a number that was never given out."""
        return self._export(number).value

    def module(self, name: str) -> Any:
        """A module of the candidate, as the tests see it."""
        if not self._is_served(name):
            raise WireError("no such module")
        return importlib.import_module(name)

    def refer(self, value: Any, encoded: Callable[[Any], Any]) -> dict[str, Any]:
        """A reference to an object. Raises TypeError for what must not be handed over."""
        if isinstance(value, types.ModuleType):
            return _module_reference(value, self._is_served)
        name = _standard_name(value)
        if name is not None:
            return {"standard": name}
        if isinstance(value, BaseException):
            reference: dict[str, Any] = {
                "error": describe(type(value)),
                "args": [encoded(argument) for argument in _sendable_arguments(value)],
            }
            return {"own": self._number(value, (), has_attributes=False), **reference}
        if isinstance(value, type) and issubclass(value, BaseException):
            return {"own": self._number(value, ("call",), has_attributes=False), "class": describe(value)}
        if isinstance(value, (*_FUNCTIONS, type)):
            return self._function_reference(value)
        return self._object_reference(value)

    def answer(self, number: Any, operation: Any, arguments: list[Any], keywords: dict[str, Any]) -> Any:
        """Use an export as the candidate asks. Raises what the test's code raises, WireError for misuse."""
        export = self._export(number)
        if operation == "get" and export.has_attributes and len(arguments) == 1:
            (name,) = arguments
            if type(name) is not str or name.startswith("_"):
                raise AttributeError(name)
            return getattr(export.value, name)
        if operation not in export.specials:
            raise WireError("no such use of what tests handed over")
        match operation:
            case "call":
                return export.value(*arguments, **keywords)
            case "enter":
                return export.value.__enter__()
            case "exit":
                (error,) = arguments
                return bool(export.value.__exit__(type(error) if error else None, error, None))
            case "iter":
                return iter(export.value)
            case "next":
                return next(export.value)
            case _:
                return len(export.value)

    def _export(self, number: Any) -> Export:
        if type(number) is not int or not 0 <= number < len(self._exports):
            raise WireError("nothing was handed over under this number")
        return self._exports[number]

    def _function_reference(self, value: Any) -> dict[str, Any]:
        if inspect.iscoroutinefunction(value) or inspect.isasyncgenfunction(value):
            raise TypeError("A coroutine function cannot be handed over across the boundary.")
        number = self._number(value, ("call",), has_attributes=False)
        name = str(getattr(value, "__name__", "function"))
        return {"own": number, "function": [name, str(getattr(value, "__qualname__", name)), _doc(value)]}

    def _object_reference(self, value: Any) -> dict[str, Any]:
        kind = type_of(value)
        is_open = self._is_test_module(kind.__module__) or kind.__module__ in _SYNCHRONISATION
        is_iterator = isinstance(value, Iterator) and kind.__module__ in ("builtins", "itertools")
        if isinstance(value, _REFUSED) or not (is_open or is_iterator):
            raise TypeError(f"A {kind.__qualname__} cannot be handed over across the boundary.")
        specials = tuple(name for name in SPECIALS if hasattr(kind, f"__{name}__"))
        number = self._number(value, specials, has_attributes=is_open)
        return {"own": number, "object": kind.__name__, "specials": list(specials)}

    def _number(self, value: Any, specials: tuple[str, ...], *, has_attributes: bool) -> int:
        with self._lock:
            key = _key(value)
            if key not in self._numbers:
                self._numbers[key] = len(self._exports)
                self._exports.append(Export(value, specials, has_attributes))
            return self._numbers[key]


def _key(value: Any) -> Any:
    """The same for what is the same to a program: a method read twice is one method."""
    if isinstance(value, types.MethodType):
        return "method", id(value.__self__), id(value.__func__)
    if isinstance(value, types.BuiltinFunctionType) and value.__self__ is not None:
        return "built-in", id(value.__self__), value.__name__
    return "object", id(value)


def _module_reference(module: types.ModuleType, is_served: Callable[[str], bool]) -> dict[str, Any]:
    if is_served(module.__name__):
        return {"module": module.__name__}
    if module.__name__.partition(".")[0] in sys.stdlib_module_names:
        return {"standard": f"{module.__name__}:"}
    raise TypeError(f"The module {module.__name__} cannot be handed over across the boundary.")


def _standard_name(value: Any) -> str | None:
    """``module:name`` of a function or class of the standard library, which both sides have."""
    if not isinstance(value, type | types.FunctionType | types.BuiltinFunctionType):
        return None
    module, name = getattr(value, "__module__", None), getattr(value, "__qualname__", None)
    if not isinstance(module, str) or not isinstance(name, str):
        return None
    if module.partition(".")[0] not in sys.stdlib_module_names:
        return None
    found: Any = sys.modules.get(module)
    for part in name.split("."):
        found = getattr(found, part, None)
    return f"{module}:{name}" if found is value else None


def _sendable_arguments(error: BaseException) -> tuple[Any, ...]:
    return (
        error.args
        if standard_class(f"{type(error).__module__}.{type(error).__qualname__}")
        else (str(error),)
    )


def _doc(value: Any) -> str | None:
    doc = getattr(value, "__doc__", None)
    return doc if isinstance(doc, str) else None
