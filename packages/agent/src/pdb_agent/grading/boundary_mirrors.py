"""The candidate's exception classes and exceptions, as classes and exceptions of the tests' side.

Stand-alone: standard library only, Python 3.10 and later.

Only Exception and SystemExit keep their meaning: whatever else derives from
BaseException, pytest's own outcomes among them, becomes a plain Exception of
the same name, which can fail a test and nothing more.
"""

from collections.abc import Callable
from typing import Any

from pdb_agent.grading.boundary_errors import standard_class
from pdb_agent.grading.boundary_wire import WireError

_DEPTH_LIMIT = 20
Request = Callable[..., Any]


class _MirroredType(type):
    """Lets a test read what the program's class has beside its name."""

    def __getattr__(cls, name: str) -> Any:
        handle = vars(cls).get("_boundary_handle")
        if handle is None or name.startswith("_") or name.startswith("pytest"):
            raise AttributeError(name)
        return handle.gate.request("getattr", cls, name)


class _Mirrored:
    """What all mirrored exceptions do; attributes that Exception lacks are the program's."""

    _boundary_text: str | None = None

    def __init__(self, *arguments: Any, **keywords: Any) -> None:
        handle = vars(type(self)).get("_boundary_handle")
        if handle is None:
            return
        made: BaseException = handle.gate.request("call", type(self), *arguments, **keywords)
        self.args = made.args
        vars(self).update(vars(made))
        handle.gate.adopt(self, vars(self)["_boundary_handle"].number)

    def __str__(self) -> str:
        return super().__str__() if self._boundary_text is None else self._boundary_text

    def __getattr__(self, name: str) -> Any:
        handle = vars(self).get("_boundary_handle")
        if handle is None or name.startswith("_"):
            raise AttributeError(name)
        return handle.gate.request("getattr", self, name)


class Mirrors:
    """Makes mirrored classes, one for each name, and exceptions of them."""

    def __init__(self, request: Request) -> None:
        self._request = request
        self._classes: dict[str, type[BaseException]] = {}

    def mirrored_class(self, description: Any, handle: Any) -> type[BaseException]:
        """The class that a description stands for. Raises WireError when it stands for none."""
        kind = self._class(description, 0)
        if issubclass(kind, _Mirrored) and vars(kind).get("_boundary_handle") is None:
            type.__setattr__(kind, "_boundary_handle", handle)
        return kind

    def mirrored_error(self, description: Any, details: dict[str, Any], handle: Any) -> BaseException:
        """An exception with the program's arguments and text."""
        kind = self._class(description, 0)
        if type(details.get("args")) is not list:
            raise WireError("no such arguments")
        error = _made(kind, details["args"])
        vars(error)["_boundary_handle"] = handle
        if isinstance(details.get("text"), str):
            vars(error)["_boundary_text"] = details["text"]
        for name in ("__cause__", "__context__"):
            if isinstance(details.get(name), BaseException):
                setattr(error, name, details[name])
        error.__suppress_context__ = details.get("__suppress_context__") is True
        return error

    def _class(self, description: Any, depth: int) -> type[BaseException]:
        match description:
            case {"name": str(name)} if depth <= _DEPTH_LIMIT:
                pass
            case _:
                raise WireError("no such class")
        standard = standard_class(name)
        if standard is not None and (issubclass(standard, Exception) or standard is SystemExit):
            return standard
        if name not in self._classes:
            parents = [self._class(base, depth + 1) for base in description.get("bases", ())]
            self._classes[name] = _new_class(name, parents)
        return self._classes[name]


def _new_class(name: str, parents: list[type[BaseException]]) -> type[BaseException]:
    parents = [parent for parent in parents if parent is not SystemExit] or [Exception]
    module, _, short = name.rpartition(".")
    namespace = {"__module__": module}
    try:
        return _MirroredType(short, _with_mirrored(parents), namespace)  # type: ignore[return-value]
    except TypeError:  # layouts or orders that do not go together
        return _MirroredType(short, _with_mirrored(parents[:1]), namespace)  # type: ignore[return-value]


def _with_mirrored(parents: list[type[BaseException]]) -> tuple[type, ...]:
    if any(issubclass(parent, _Mirrored) for parent in parents):
        return tuple(parents)
    return (_Mirrored, *parents)


def _made(kind: type[BaseException], arguments: list[Any]) -> BaseException:
    try:
        return kind.__new__(kind, *arguments) if issubclass(kind, _Mirrored) else kind(*arguments)
    except TypeError:
        error = Exception.__new__(kind) if issubclass(kind, Exception) else kind.__new__(kind)
        error.args = tuple(arguments)
        return error
