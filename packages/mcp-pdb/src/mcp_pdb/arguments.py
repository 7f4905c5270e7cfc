"""Tool arguments: declared once, shown as a lean JSON schema, checked in our own words. Pure: no I/O.

Clients send numbers as strings, lists as JSON text and null for what is left
out; all of that is accepted. Whatever is not is refused with one sentence.
"""

import difflib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, cast

from mcp_pdb.errors import DebuggerError

Kind = Literal["text", "whole", "number", "flag", "texts", "places"]
_WORDS = {
    "text": "text",
    "whole": "a whole number",
    "number": "a number",
    "flag": "true or false",
    "texts": "a list of texts",
    "places": "a list of places",
}


class ArgumentError(DebuggerError):
    """A tool was called with arguments it does not take."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Parameter:
    """One argument of a tool."""

    name: str
    kind: Kind = "text"
    default: object = None
    required: bool = False
    choices: tuple[str, ...] = ()
    least: float | None = None
    most: float | None = None
    """Whole numbers above it are refused; times are lowered to it, and the answer says how long it took."""
    description: str = ""

    def schema(self) -> dict[str, Any]:
        """As JSON schema, with nothing that does not help a model."""
        found: dict[str, Any] = {
            "text": {"type": "string"},
            "whole": {"type": "integer"},
            "number": {"type": "number"},
            "flag": {"type": "boolean"},
            "texts": {"type": "array", "items": {"type": "string"}},
            "places": {"type": "array", "items": {"type": "string"}},
        }[self.kind]
        if self.choices:
            found["enum"] = list(self.choices)
        if self.default not in (None, (), False, ""):
            found["default"] = self.default
        if self.most is not None:
            found["maximum"] = self.most
        if self.description:
            found["description"] = self.description
        return found


class Arguments:
    """The checked arguments of one call."""

    def __init__(self, values: Mapping[str, object]) -> None:
        self._values = values

    def text(self, name: str) -> str:
        """A text that is there."""
        return cast("str", self._values[name])

    def optional_text(self, name: str) -> str | None:
        """A text, or None when it was left out."""
        return cast("str | None", self._values[name])

    def whole(self, name: str) -> int:
        """A whole number that is there."""
        return cast("int", self._values[name])

    def optional_whole(self, name: str) -> int | None:
        """A whole number, or None when it was left out."""
        return cast("int | None", self._values[name])

    def number(self, name: str) -> float:
        """A number that is there."""
        return float(cast("float", self._values[name]))

    def flag(self, name: str) -> bool:
        """True or false."""
        return cast("bool", self._values[name])

    def texts(self, name: str) -> tuple[str, ...]:
        """A list of texts."""
        return cast("tuple[str, ...]", self._values[name])

    def places(self, name: str) -> tuple[str | Mapping[str, object], ...]:
        """A list of places, each a text or an object with ``at``."""
        return cast("tuple[str | Mapping[str, object], ...]", self._values[name])


def object_schema(parameters: Sequence[Parameter]) -> dict[str, Any]:
    """The JSON schema of a tool's arguments."""
    schema: dict[str, Any] = {
        "type": "object",
        "properties": {parameter.name: parameter.schema() for parameter in parameters},
        "additionalProperties": False,
    }
    if required := [parameter.name for parameter in parameters if parameter.required]:
        schema["required"] = required
    return schema


def check(tool: str, parameters: Sequence[Parameter], given: Mapping[str, object]) -> Arguments:
    """``given`` against the declaration. Raises ArgumentError."""
    names = [parameter.name for parameter in parameters]
    for name in given:
        if name not in names:
            raise ArgumentError(f"{tool} has no argument {name!r}{nearest(name, names)}")
    values: dict[str, object] = {}
    for parameter in parameters:
        value = given.get(parameter.name)
        if value is None:
            if parameter.required:
                raise ArgumentError(f"{tool} needs {parameter.name}{_explained(parameter)}")
            values[parameter.name] = parameter.default
        else:
            values[parameter.name] = _checked(tool, parameter, value)
    return Arguments(values)


def nearest(name: str, names: Sequence[str], noun: str = "it takes") -> str:
    """``; did you mean 'x'?`` or the list of names."""
    if close := difflib.get_close_matches(name, names, n=1, cutoff=0.5):
        return f"; did you mean {close[0]!r}?"
    return f"; {noun}: {', '.join(names)}"


def _checked(tool: str, parameter: Parameter, value: object) -> object:
    converted = _CONVERTERS[parameter.kind](value)
    if converted is None:
        shown = json.dumps(value, default=str)[:60]
        raise ArgumentError(f"{tool}: {parameter.name} must be {_WORDS[parameter.kind]}, not {shown}")
    if parameter.choices and converted not in parameter.choices:
        choices = ", ".join(parameter.choices)
        raise ArgumentError(f"{tool}: {parameter.name} must be one of {choices}, not {str(value)[:60]!r}")
    if isinstance(converted, (int, float)) and not isinstance(converted, bool):
        if parameter.least is not None and converted < parameter.least:
            raise ArgumentError(f"{tool}: {parameter.name} must be at least {parameter.least:g}")
        if parameter.most is not None and converted > parameter.most:
            if parameter.kind == "number":
                return parameter.most
            raise ArgumentError(f"{tool}: {parameter.name} can be at most {parameter.most:g}")
    return converted


def _explained(parameter: Parameter) -> str:
    return f" ({parameter.description})" if parameter.description else ""


def _text(value: object) -> str | None:
    if isinstance(value, str):
        return value
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return str(value)
    return None


def _whole(value: object) -> int | None:
    number = _number(value)
    return int(number) if number is not None and number.is_integer() else None


def _number(value: object) -> float | None:
    if isinstance(value, bool) or not isinstance(value, (int, float, str)):
        return None
    try:
        number = float(value)
    except (ValueError, OverflowError):
        return None
    return number if abs(number) < 1e15 else None


def _flag(value: object) -> bool | None:
    if isinstance(value, bool):
        return value
    return {"true": True, "false": False}.get(value.strip().lower()) if isinstance(value, str) else None


def _items(value: object) -> list[object] | None:
    if isinstance(value, str):
        if not value.strip().startswith("["):
            return [value]
        try:
            value = json.loads(value)
        except ValueError:
            return [value]
    return cast("list[object]", value) if isinstance(value, list) else None


def _texts(value: object) -> tuple[str, ...] | None:
    texts = [_text(item) for item in _items(value) or ()] if _items(value) is not None else [None]
    return None if None in texts else tuple(text for text in texts if text is not None)


def _places(value: object) -> tuple[object, ...] | None:
    items = [cast("object", value)] if isinstance(value, dict) else _items(value)
    if items is None or not all(isinstance(item, (str, dict)) for item in items):
        return None
    return tuple(items)


_CONVERTERS = {
    "text": _text,
    "whole": _whole,
    "number": _number,
    "flag": _flag,
    "texts": _texts,
    "places": _places,
}
