"""The tests' side: objects that stand for the candidate's, and never run its code here.

Stand-alone: standard library only, Python 3.10 and later.

What a test may rely on: a proxy equals a plain value only if the candidate's
object is built on a plain type (a string enum, a named tuple) and the value that
it gave, before it could know what it is compared with, is equal. All else that
a proxy says is the candidate's word.
"""

import operator
import sys
import threading
import types
import weakref
from collections import deque
from collections.abc import Callable
from typing import Any

from pdb_agent.grading.boundary_exports import Exports
from pdb_agent.grading.boundary_line import UNSAYABLE, Line, LineDownError
from pdb_agent.grading.boundary_mirrors import Mirrors
from pdb_agent.grading.boundary_operations import BINARY, ORDERINGS, OTHERS
from pdb_agent.grading.boundary_wire import WireError, decode, encode

_TYPES: dict[str, type[Any]] = {
    kind.__name__: kind
    for kind in (bool, int, float, complex, str, bytes, list, tuple, dict, set, frozenset, object, type(None))
}
_ASKABLE = frozenset(
    {"__name__", "__qualname__", "__doc__", "__module__", "__wrapped__", "__annotations__", "__dict__"}
    | {"__self__", "__func__", "__members__", "__slots__", "__isabstractmethod__"}
)


class Handle:
    """A claim on an object of the candidate; the last one gone, the candidate may let go of it."""

    __slots__ = ("count", "gate", "is_plain", "kind", "number")

    def __init__(self, gate: "Gate", number: int, kind: str, *, is_plain: bool) -> None:
        self.gate = gate
        self.number = number
        self.kind = kind
        self.is_plain = is_plain
        self.count = 0
        """How often the candidate has sent it."""

    def __del__(self) -> None:
        self.gate.released.append((self.number, self.count))


class Gate:
    """Sends what tests do with proxies to the candidate, and brings back values."""

    def __init__(self, exports: Exports, call_seconds: float) -> None:
        self.released: deque[tuple[int, int]] = deque()
        """Handles to let go of, told with the next request."""
        self.line: Line
        """Set before the first request."""
        self._exports = exports
        self._call_seconds = call_seconds
        self._lock = threading.RLock()
        self._proxies: weakref.WeakValueDictionary[int, Any] = weakref.WeakValueDictionary()
        self._mirrors = Mirrors(self.request)
        self._kept = threading.local()
        """Per thread its last answer to a call, for as long as the candidate may not have read it: another
        thread could tell the candidate meanwhile that nobody holds the object any more."""

    def request(self, operation: str, *arguments: Any, **keywords: Any) -> Any:
        """Do something to the candidate's objects; raises what the candidate raised, mirrored."""
        payload = {
            "op": operation,
            "args": [self.encoded(argument) for argument in arguments],
            "keywords": {name: self.encoded(value) for name, value in keywords.items()},
            "released": self._take_released(),
        }
        answer = self.line.call(payload, self._call_seconds)
        self._kept.answer = None
        if answer == UNSAYABLE:
            raise WireError("The program's answer is too large for the boundary.")
        try:
            printed, error = answer["printed"], answer.get("error")
            value = decode(answer.get("value") if error is None else error, self.resolved)
        except (WireError, KeyError, TypeError, ValueError, AttributeError, RecursionError):
            self.line.take_down("broken")
            raise LineDownError("The program's process has broken the protocol.") from None
        if isinstance(printed, str) and printed:
            _print(printed)
        if error is None:
            return value
        if not isinstance(value, BaseException):
            self.line.take_down("broken")
            raise LineDownError("The program's process has broken the protocol.")
        raise value

    def handle_call(self, payload: Any) -> Any:
        """Answer a call of the candidate to what tests handed over; never raises."""
        try:
            target, operation = payload["target"], payload["op"]
            arguments = [decode(argument, self.resolved) for argument in payload["args"]]
            keywords = {
                str(name): decode(value, self.resolved) for name, value in payload["keywords"].items()
            }
        except (WireError, LineDownError, KeyError, TypeError, ValueError, AttributeError, RecursionError):
            return self._broken()
        try:
            self._kept.answer = self._exports.answer(target, operation, arguments, keywords)
            return {"value": self.encoded(self._kept.answer)}
        except WireError:
            return self._broken()
        except BaseException as error:  # noqa: BLE001 - the candidate passes it on, and the test sees it
            self._kept.answer = error
            return {"error": self.encoded(error)}

    def _broken(self) -> Any:
        self.line.take_down("broken")
        return None

    def encoded(self, value: Any) -> Any:
        """A value of a test as JSON. Raises TypeError for what cannot be handed over."""
        return encode(value, self._refer)

    def resolved(self, reference: dict[str, Any]) -> Any:
        """What a reference of the candidate stands for here."""
        match reference:
            case {"own": int(number)}:
                return self._exports.get(number)
            case {"type": str(name)} if name in _TYPES:
                return _TYPES[name]
            case {"standard": str(name)}:
                return self._mirrors.mirrored_class({"name": name}, None)
            case {"module": str(name)}:
                return self._exports.module(name)
            case {"handle": int(number)}:
                return self._claimed(number, reference)
            case _:
                raise WireError("no such reference")

    def adopt(self, stand_in: Any, number: int) -> None:
        """Let ``stand_in`` be what stands for the candidate's object from here on."""
        with self._lock:
            self._proxies[number] = stand_in

    def _claimed(self, number: int, reference: dict[str, Any]) -> Any:
        with self._lock:
            found = self._proxies.get(number)
            if found is None:
                handle = Handle(self, number, str(reference.get("kind"))[:80], is_plain="plain" in reference)
                found = self._stand_in(handle, reference)
                try:
                    self._proxies[number] = found
                except TypeError:
                    pass  # an exception of a built-in class: a fresh one each time
            handle_of(found).count += 1
            return found

    def _stand_in(self, handle: Handle, reference: dict[str, Any]) -> Any:
        if "class" in reference:
            return self._mirrors.mirrored_class(reference["class"], handle)
        if "error" in reference:
            details = {
                name: decode(part, self.resolved)
                for name, part in dict(reference["error"]).items()
                if name != "class"
            }
            return self._mirrors.mirrored_error(reference["error"]["class"], details, handle)
        return Proxy(handle)

    def _refer(self, value: Any) -> dict[str, Any]:
        handle = handle_of(value)
        if handle is not None:
            if handle.gate is not self:
                raise TypeError("This object belongs to another program.")
            return {"handle": handle.number}
        return self._exports.refer(value, self.encoded)

    def _take_released(self) -> list[list[int]]:
        taken: list[list[int]] = []
        while self.released:
            number, count = self.released.popleft()
            taken.append([number, count])
        return taken


def handle_of(value: Any) -> Any:
    """The handle of a proxy, a mirrored class or a mirrored exception; None for anything else."""
    if type(value) is Proxy:
        return object.__getattribute__(value, "_boundary_handle")
    if isinstance(value, type):
        return vars(value).get("_boundary_handle")
    if isinstance(value, BaseException):
        return vars(value).get("_boundary_handle")
    return None


def _print(text: str) -> None:
    """Print what the candidate printed, where tests capture it."""
    sys.stdout.write(text)


class Proxy:  # noqa: D101 - its docstring is that of the candidate's object
    __slots__ = ("__weakref__", "_boundary_handle")
    __doc__ = property(lambda self: _ask(self, "getattr", "__doc__"))  # type: ignore[assignment]

    def __init__(self, handle: Handle, *unexpected: Any) -> None:
        if unexpected or type(handle) is not Handle:
            raise TypeError("A class of the program cannot be subclassed from a test across the boundary.")
        object.__setattr__(self, "_boundary_handle", handle)

    def __getattr__(self, name: str) -> Any:
        if name.startswith(("pytest", "_pytest")) or (name.startswith("__") and name not in _ASKABLE):
            raise AttributeError(name)
        return _ask(self, "getattr", name)

    def __setattr__(self, name: str, value: Any) -> None:
        _ask(self, "setattr", name, value)

    def __delattr__(self, name: str) -> None:
        _ask(self, "delattr", name)

    def __call__(self, *arguments: Any, **keywords: Any) -> Any:  # noqa: D102 - magic, and says it
        handle = handle_of(self)
        return handle.gate.request("call", self, *arguments, **keywords)

    def __eq__(self, other: object) -> bool:
        if type(other) is Proxy:
            return _ask(self, "eq", other) is True
        return bool(_compare(self, other, operator.eq))

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __hash__(self) -> int:
        if handle_of(self).is_plain:
            return hash(_ask(self, "plain"))
        return _exactly(int, _ask(self, "hash"))

    def __bool__(self) -> bool:
        return _exactly(bool, _ask(self, "bool"))

    def __len__(self) -> int:
        return _exactly(int, _ask(self, "len"))

    def __int__(self) -> int:
        return _exactly(int, _ask(self, "int"))

    def __index__(self) -> int:
        return _exactly(int, _ask(self, "index"))

    def __float__(self) -> float:
        return _exactly(float, _ask(self, "float"))

    def __str__(self) -> str:
        return _exactly(str, _ask(self, "str"))

    def __repr__(self) -> str:
        return _exactly(str, _ask(self, "repr"))

    def __format__(self, specification: str) -> str:
        return _exactly(str, _ask(self, "format", specification))

    def __iter__(self) -> Any:
        return _ask(self, "iter")

    def __next__(self) -> Any:
        return _ask(self, "next")

    def __reversed__(self) -> Any:
        return _ask(self, "reversed")

    def __contains__(self, item: Any) -> bool:
        if handle_of(self).is_plain and type(item) is not Proxy:
            return item in _ask(self, "plain")
        return _exactly(bool, _ask(self, "contains", item))

    def __enter__(self) -> Any:
        return _ask(self, "enter")

    def __exit__(self, kind: Any, error: Any, traceback: types.TracebackType | None) -> bool:
        return _exactly(bool, _ask(self, "exit", error))

    def __instancecheck__(self, instance: Any) -> bool:
        return handle_of(instance) is not None and _ask(self, "isinstance", instance) is True

    def __subclasscheck__(self, subclass: Any) -> bool:
        return handle_of(subclass) is not None and _ask(self, "issubclass", subclass) is True

    def __copy__(self) -> Any:
        return _ask(self, "copy")

    def __deepcopy__(self, memo: Any) -> Any:
        return _ask(self, "deepcopy")

    def __reduce_ex__(self, protocol: Any) -> Any:
        raise TypeError("An object of the program cannot be pickled across the boundary.")


def _ask(proxy: Proxy, operation: str, *arguments: Any) -> Any:
    return handle_of(proxy).gate.request(operation, proxy, *arguments)


def _exactly(kind: type[Any], value: Any) -> Any:
    if type(value) is not kind:
        raise TypeError(f"The program gave a {type(value).__name__} where Python needs a {kind.__name__}.")
    return value


def _compare(proxy: Proxy, other: Any, compare: Callable[[Any, Any], Any]) -> Any:
    """Compare the plain value under a proxy; an opaque object equals nothing outside the program."""
    if not handle_of(proxy).is_plain:
        return False
    return compare(_ask(proxy, "plain"), other)


def _ordering(name: str) -> Callable[[Proxy, Any], Any]:
    compare = getattr(operator, name)

    def method(self: Proxy, other: Any) -> Any:
        if type(other) is not Proxy and handle_of(self).is_plain:
            return _compare(self, other, compare)
        return _ask(self, name, other)

    return method


def _operation(name: str) -> Callable[..., Any]:
    def method(self: Proxy, *others: Any) -> Any:
        return _ask(self, name, *others)

    return method


def _reflected(name: str) -> Callable[[Proxy, Any], Any]:
    def method(self: Proxy, other: Any) -> Any:
        return handle_of(self).gate.request(name, other, self)

    return method


for _name in ORDERINGS:
    setattr(Proxy, f"__{_name}__", _ordering(_name))
for _name in BINARY:
    setattr(Proxy, f"__{_name}__", _operation(_name))
    setattr(Proxy, f"__i{_name}__", _operation(f"i{_name}"))
    setattr(Proxy, f"__r{_name}__", _reflected(_name))
for _name in OTHERS:
    setattr(Proxy, f"__{_name}__", _operation(_name))
