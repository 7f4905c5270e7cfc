"""The candidate's side: what stands there for functions, objects and exceptions of the tests.

Stand-alone: standard library only, Python 3.10 and later.
"""

import threading
from collections.abc import Callable
from typing import Any

from pdb_agent.grading.boundary_errors import standard_class
from pdb_agent.grading.boundary_wire import decode

CallBack = Callable[..., Any]


class StandIns:
    """One stand-in for each thing handed over, so that what is one there is one here."""

    def __init__(self, call_back: CallBack) -> None:
        self._call_back = call_back
        self._lock = threading.RLock()
        self._made: dict[int, Any] = {}
        self._numbers: dict[int, int] = {}
        self._classes: dict[str, type[BaseException]] = {}

    def number_of(self, value: Any) -> int | None:
        """The number under which the tests know a stand-in; None for the candidate's own objects."""
        return self._numbers.get(id(value))

    def stand_in(self, reference: dict[str, Any], resolve: Callable[[dict[str, Any]], Any]) -> Any:
        """The stand-in for what a reference tells of."""
        number = reference["own"]
        with self._lock:
            if number not in self._made:
                made = self._make(number, reference, resolve)
                self._made[number] = made
                self._numbers[id(made)] = number
            return self._made[number]

    def _make(self, number: int, reference: dict[str, Any], resolve: Callable[[dict[str, Any]], Any]) -> Any:
        if "error" in reference:
            arguments = [decode(argument, resolve) for argument in reference["args"]]
            return _made(self._class(reference["error"]), arguments)
        if "class" in reference:
            return self._class(reference["class"])
        if "function" in reference:
            return self._function(number, *reference["function"])
        return self._object(number, reference["object"], reference["specials"])

    def _class(self, description: dict[str, Any]) -> type[BaseException]:
        name = description["name"]
        standard = standard_class(name)
        if standard is not None:
            return standard
        if name not in self._classes:
            bases = tuple(self._class(base) for base in description.get("bases", ())) or (BaseException,)
            module, _, short = name.rpartition(".")
            self._classes[name] = type(short, bases, {"__module__": module})
        return self._classes[name]

    def _function(self, number: int, name: str, qualified_name: str, doc: str | None) -> Callable[..., Any]:
        call_back = self._call_back

        def function(*arguments: Any, **keywords: Any) -> Any:
            return call_back(number, "call", *arguments, **keywords)

        function.__name__, function.__qualname__, function.__doc__ = name, qualified_name, doc
        return function

    def _object(self, number: int, kind: str, specials: list[str]) -> Any:
        call_back = self._call_back

        def get(self: Any, name: str) -> Any:
            if name.startswith("_"):
                raise AttributeError(name)
            return call_back(number, "get", name)

        def leave(self: Any, kind: Any, error: Any, traceback: Any) -> Any:
            return call_back(number, "exit", error)

        def special(name: str) -> Callable[..., Any]:
            def method(self: Any, *arguments: Any, **keywords: Any) -> Any:
                return call_back(number, name, *arguments, **keywords)

            return method

        methods = {f"__{name}__": special(name) for name in specials if name != "exit"}
        if "exit" in specials:
            methods["__exit__"] = leave
        return type(kind, (), {"__getattr__": get, **methods})()


def _made(kind: type[BaseException], arguments: list[Any]) -> BaseException:
    try:
        return kind(*arguments)
    except TypeError:
        return kind.__new__(kind, *arguments)
