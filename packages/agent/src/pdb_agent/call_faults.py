"""Whether a call does not fit its tool's schema, for tools of servers that check for themselves."""

from collections.abc import Mapping
from typing import Any, cast

from pdb_agent.episode_steps import Step

_NUMBERS = {"integer": int, "number": float}


def is_refused_for_its_arguments(step: Step, schema: Mapping[str, Any] | None) -> bool:
    """True for arguments that the schema does not take: malformed, though the server says only error.

    As lenient as servers are: numbers and lists may come as text. Without a schema, False.
    """
    if schema is None:
        return False
    properties = cast("Mapping[str, Mapping[str, Any]]", schema.get("properties") or {})
    given = {name: value for name, value in step.arguments.items() if value is not None}
    if any(name not in given for name in schema.get("required") or ()):
        return True
    if schema.get("additionalProperties") is False and any(name not in properties for name in given):
        return True
    return any(not _fits(value, properties.get(name, {})) for name, value in given.items())


def _fits(value: object, rule: Mapping[str, Any]) -> bool:
    choices = rule.get("enum")
    if choices is not None and value not in choices:
        return False
    match rule.get("type"):
        case "integer" | "number" as kind:
            return _is_number(value, _NUMBERS[kind])
        case "string":
            return isinstance(value, str | int | float)
        case "boolean":
            return isinstance(value, bool) or str(value).lower() in ("true", "false")
        case "array":
            return isinstance(value, list | tuple | str)
        case "object":
            return isinstance(value, Mapping)
        case _:
            return True


def _is_number(value: object, kind: type[int] | type[float]) -> bool:
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return False
    try:
        number = float(value)
    except (ValueError, OverflowError):
        return False
    return kind is float or number.is_integer()
