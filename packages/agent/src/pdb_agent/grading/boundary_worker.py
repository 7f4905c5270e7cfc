"""The candidate's side of the boundary: performs what tests ask for and refers to what it made.

Stand-alone: standard library only, Python 3.10 and later.
"""

import importlib
import io
import socket
import sys
import threading
import types
from typing import Any

from pdb_agent.grading.boundary_errors import describe, standard_class
from pdb_agent.grading.boundary_line import UNSAYABLE, Line
from pdb_agent.grading.boundary_operations import OPERATIONS, PLAIN_BASES
from pdb_agent.grading.boundary_stand_ins import StandIns
from pdb_agent.grading.boundary_wire import Wire, WireError, decode, encode, type_of

PRINTED_LIMIT_CHARS = 65536
_CAUSES_LIMIT = 4
_TYPES = frozenset(
    {bool, int, float, complex, str, bytes, list, tuple, dict, set, frozenset, object, type(None)}
)


class Worker:
    """Answers requests; one for the process."""

    def __init__(self, connection: socket.socket, roots: frozenset[str]) -> None:
        self._roots = roots
        self._objects = _Objects()
        self._stand_ins = StandIns(self._call_back)
        self._line = Line(Wire(connection), opens_even=False, handle=self._handle)
        self._printed = io.StringIO()

    def serve(self) -> None:
        """Answer until the other side is gone."""
        sys.stdout = self._printed
        self._line.start()
        self._line.serve_main()

    def _handle(self, payload: Any) -> Any:
        answer: dict[str, Any]
        try:
            for number, count in payload["released"]:
                self._objects.release(number, count)
            answer = {"value": self._encoded(self._perform(payload))}
        except BaseException as error:  # noqa: BLE001 - it is the program's, and the tests' to judge
            answer = self._failure(error)
        answer["printed"] = self._take_printed()
        return answer

    def _perform(self, payload: Any) -> Any:
        arguments = [decode(argument, self._resolved) for argument in payload["args"]]
        keywords = {name: decode(value, self._resolved) for name, value in payload["keywords"].items()}
        return OPERATIONS[payload["op"]](*arguments, **keywords)

    def _failure(self, error: BaseException) -> dict[str, Any]:
        try:
            return {"error": encode(error, self._refer)}
        except BaseException:  # noqa: BLE001 - an exception that cannot even be described
            return dict(UNSAYABLE)

    def _encoded(self, value: Any) -> Any:
        try:
            return encode(value, self._refer)
        except WireError:  # it holds itself, or is nested too deeply to be a value
            return {"ref": self._objects.refer(value)}

    def _take_printed(self) -> str:
        text = self._printed.getvalue()
        if text:
            self._printed.seek(0)
            self._printed.truncate()
        return text[:PRINTED_LIMIT_CHARS]

    def _call_back(self, number: int, operation: str, *arguments: Any, **keywords: Any) -> Any:
        payload = {
            "target": number,
            "op": operation,
            "args": [self._encoded(argument) for argument in arguments],
            "keywords": {name: self._encoded(value) for name, value in keywords.items()},
        }
        answer = self._line.call(payload, None)
        if answer == UNSAYABLE:
            raise WireError("The answer is too large for the boundary.")
        if "error" in answer:
            raise decode(answer["error"], self._resolved)
        return decode(answer["value"], self._resolved)

    def _refer(self, value: Any) -> dict[str, Any]:
        own = self._stand_ins.number_of(value)
        if own is not None:
            return {"own": own}
        if isinstance(value, type) and value in _TYPES:
            return {"type": value.__name__}
        if isinstance(value, types.ModuleType) and value.__name__.partition(".")[0] in self._roots:
            return {"module": value.__name__}
        if isinstance(value, type) and issubclass(value, BaseException):
            return self._class_reference(value)
        if isinstance(value, BaseException):
            return {**self._objects.refer(value), "error": self._error_details(value, 0)}
        return self._objects.refer(value)

    def _class_reference(self, kind: type[BaseException]) -> dict[str, Any]:
        name = f"{kind.__module__}.{kind.__qualname__}"
        if standard_class(name) is kind:
            return {"standard": name}
        return {**self._objects.refer(kind), "class": describe(kind)}

    def _error_details(self, error: BaseException, depth: int) -> dict[str, Any]:
        details: dict[str, Any] = {
            "class": describe(type(error)),
            "args": [self._encoded(argument) for argument in error.args],
            "text": _text_of(error),
            "__suppress_context__": error.__suppress_context__,
        }
        for name in ("__cause__", "__context__"):
            linked = getattr(error, name)
            if linked is not None and depth < _CAUSES_LIMIT:
                details[name] = {"ref": self._linked(linked, depth + 1)}
        return details

    def _linked(self, error: BaseException, depth: int) -> dict[str, Any]:
        own = self._stand_ins.number_of(error)
        if own is not None:
            return {"own": own}
        return {**self._objects.refer(error), "error": self._error_details(error, depth)}

    def _resolved(self, reference: dict[str, Any]) -> Any:
        match reference:
            case {"handle": number}:
                return self._objects.get(number)
            case {"module": name}:
                return importlib.import_module(name)
            case {"standard": name}:
                return _standard(name)
            case _:
                return self._stand_ins.stand_in(reference, self._resolved)


class _Objects:
    """The objects that the other side may still hold, by number."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._next = 1
        self._entries: dict[int, list[Any]] = {}
        self._numbers: dict[int, int] = {}

    def refer(self, value: Any) -> dict[str, Any]:
        """A reference; the object is kept until it is released as often as it was referred to."""
        with self._lock:
            number = self._numbers.get(id(value))
            if number is None:
                number, self._next = self._next, self._next + 1
                self._numbers[id(value)] = number
                self._entries[number] = [value, 0]
            self._entries[number][1] += 1
        kind = type_of(value)
        reference: dict[str, Any] = {"handle": number, "kind": f"{kind.__module__}.{kind.__qualname__}"}
        if isinstance(value, PLAIN_BASES):
            reference["plain"] = True
        return reference

    def get(self, number: int) -> Any:
        return self._entries[number][0]

    def release(self, number: int, count: int) -> None:
        """Forget ``count`` references; with the last one, the object."""
        with self._lock:
            entry = self._entries.get(number)
            if entry is None:
                return
            entry[1] -= count
            if entry[1] <= 0:
                del self._entries[number]
                del self._numbers[id(entry[0])]


def _standard(name: str) -> Any:
    module, _, qualified = name.partition(":")
    found: Any = importlib.import_module(module)
    for part in qualified.split(".") if qualified else ():
        found = getattr(found, part)
    return found


def _text_of(error: BaseException) -> str | None:
    try:
        text = str(error)
    except Exception:  # noqa: BLE001 - the program's own __str__
        return None
    return text if type(text) is str else None
