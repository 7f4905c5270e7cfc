"""Reading tool calls: the arguments of one, and calls that a server left in the text.

Servers leave a call in the text when their parser does not know the model's
format, or gives up on it. Two formats cover most open models: JSON between
``<tool_call>`` tags (Hermes, Qwen) and tags for function and parameters
(Qwen3-Coder).
"""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn, cast

from pdb_agent.messages import Call, ToolSpec

INVALID_JSON = "INVALID_JSON"
"""Key under which arguments that do not parse are shown to the model again."""
_CUT = (
    "The reply reached its token limit inside this call, so it was not run: make the call again with "
    "shorter arguments, or split it into several."
)
_MARKER = re.compile(r"<tool_call>|^[ \t]*(?=<function=)", re.MULTILINE)
_FUNCTION = re.compile(r"<function=([^>\n]*)>")
_PARAMETER = re.compile(
    r"<parameter=([^>\n]+)>(.*?)(?:</parameter>\s*(?=<parameter=|\Z)|(?=<parameter=)|\Z)", re.DOTALL
)
_NO_SCHEMA: Mapping[str, Any] = {}
_NAME = re.compile(r'"name"\s*:\s*"([^"\\]*)"')


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundCalls:
    """What a text turned out to hold."""

    calls: tuple[Call, ...]
    text: str
    """What is left without the calls."""


def read_call(call_id: str, name: str, raw: str, *, cut: bool = False) -> Call:
    """A call out of its parts; malformed if the arguments are no JSON object, or the reply was cut in it."""
    arguments, error = (None, _CUT) if cut else _arguments(raw)
    if error is None and not name:
        arguments, error = None, "The call names no tool: give the name of one of the tools."
    return Call(id=call_id, name=name, arguments=arguments, raw=raw, error=error)


def replayable_arguments(call: Call) -> Mapping[str, Any]:
    """The arguments as an object that every server can read back, whatever the model wrote."""
    return call.arguments if call.arguments is not None else {INVALID_JSON: call.raw}


def calls_in_text(
    text: str, tools: Sequence[ToolSpec], id_stem: str, *, cut: bool = False
) -> FoundCalls | None:
    """Calls left in a text, malformed ones included; None if there is no sign of one.

    ``cut`` says that the reply ended at its token limit: an unfinished call is then the limit's doing.
    """
    calls: list[Call] = []
    rest: list[str] = []
    position = 0
    while marker := _MARKER.search(text, position):
        rest.append(text[position : marker.start()])
        body_start = _after_spaces(text, marker.end())
        call_id = f"{id_stem}_{len(calls)}"
        if text.startswith("<function=", body_start):
            call, end = _read_tagged(text, body_start, call_id, tools, cut=cut)
        else:
            call, end = _read_json(text, body_start, call_id, cut=cut)
        calls.append(call)
        position = _after_close(text, end)
    if not calls:
        return None
    rest.append(text[position:])
    return FoundCalls(calls=tuple(calls), text="".join(rest).strip())


def _arguments(raw: str) -> tuple[Mapping[str, Any] | None, str | None]:
    """The arguments, or the sentence that says why there are none."""
    if not raw.strip():
        return {}, None  # how several servers write a call without arguments
    try:
        value: object = json.loads(raw, parse_constant=_refuse_constant)
        json.dumps(value, ensure_ascii=False).encode()  # half a surrogate pair parses, and cannot be sent on
    except (ValueError, RecursionError) as error:
        return None, f"The arguments are not valid JSON ({error}): send one JSON object."
    if not isinstance(value, dict):
        return None, f"The arguments are JSON but no object (a {type(value).__name__}): send one JSON object."
    return cast("dict[str, Any]", value), None


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no JSON value")


def _after_spaces(text: str, position: int) -> int:
    return position + len(text[position:]) - len(text[position:].lstrip())


def _after_close(text: str, position: int) -> int:
    after = _after_spaces(text, position)
    return after + len("</tool_call>") if text.startswith("</tool_call>", after) else position


def _end_of_block(text: str, start: int) -> tuple[int, bool]:
    """Where a block that starts at ``start`` ends, and whether a closing tag says so."""
    close = text.find("</tool_call>", start)
    following = _MARKER.search(text, start + 1)
    if close != -1 and (following is None or close < following.start()):
        return close, True
    return (following.start() if following else len(text)), False


def _read_json(text: str, start: int, call_id: str, *, cut: bool) -> tuple[Call, int]:
    try:
        value, end = cast("tuple[object, int]", json.JSONDecoder().raw_decode(text, start))
    except (ValueError, RecursionError):
        return _unfinished(text, start, call_id, cut=cut)
    fields = cast("dict[str, Any]", value) if isinstance(value, dict) else {}
    arguments: object = fields.get("arguments", fields.get("parameters", {}))
    raw = arguments if isinstance(arguments, str) else json.dumps(arguments, ensure_ascii=False)
    return read_call(call_id, str(fields.get("name") or ""), raw), end


def _unfinished(text: str, start: int, call_id: str, *, cut: bool) -> tuple[Call, int]:
    end, closed = _end_of_block(text, start)
    raw = text[start:end].strip()
    name = _NAME.search(raw)
    call = read_call(call_id, name[1] if name else "", raw, cut=cut and not closed)
    if call.error is None:  # an object by luck of where it was torn
        call = read_call(call_id, call.name, raw + "…")
    return call, end


def _read_tagged(
    text: str, start: int, call_id: str, tools: Sequence[ToolSpec], *, cut: bool
) -> tuple[Call, int]:
    head = _FUNCTION.match(text, start)
    if head is None:
        return _unfinished(text, start, call_id, cut=cut)
    close = re.compile(r"</function>(?=\s*(?:</tool_call>|<tool_call>|<function=|\Z))").search(
        text, head.end()
    )
    close = close or re.compile("</function>").search(text, head.end())
    body_end = close.start() if close else _end_of_block(text, head.end())[0]
    name = head[1].strip()
    schema: Mapping[str, Any] = next((tool.schema for tool in tools if tool.name == name), _NO_SCHEMA)
    body = text[head.end() : body_end]
    arguments = {
        key.strip(): _typed(_without_frame(value), schema, key.strip())
        for key, value in _PARAMETER.findall(body)
    }
    raw = json.dumps(arguments, ensure_ascii=False)
    return read_call(call_id, name, raw, cut=cut and close is None), close.end() if close else body_end


def _without_frame(value: str) -> str:
    """A parameter's text without the line breaks that belong to its tags."""
    value = value.removesuffix("</parameter>")
    return value.removeprefix("\n").removesuffix("\n")


def _typed(value: str, schema: Mapping[str, Any], key: str) -> object:
    """A value written as text, as the schema wants it; text where the schema allows text or says nothing."""
    properties: Mapping[str, Any] = schema.get("properties") or {}
    wanted: Mapping[str, Any] = properties.get(key) or {}
    kinds = {str(kind) for kind in _kinds(wanted)}
    if not kinds or "string" in kinds:
        return value
    if "boolean" in kinds and value.strip().lower() in ("true", "false"):
        return value.strip().lower() == "true"
    if "null" in kinds and value.strip().lower() in ("null", "none", ""):
        return None
    try:
        return cast("object", json.loads(value))
    except (ValueError, RecursionError):
        return value  # the schema's check will say what is wanted


def _kinds(schema: Mapping[str, Any]) -> Sequence[str]:
    declared: object = schema.get("type")
    if isinstance(declared, str):
        return [declared]
    if isinstance(declared, list):
        return cast("list[str]", declared)
    branches: Sequence[Mapping[str, Any]] = schema.get("anyOf") or schema.get("oneOf") or ()
    return [kind for branch in branches for kind in _kinds(branch)]
