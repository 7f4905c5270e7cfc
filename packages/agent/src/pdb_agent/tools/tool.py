"""What a tool is: a name, arguments that are checked, and an answer that is bounded."""

import json
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Generic, Protocol, TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError

from pdb_agent.messages import Call, CallStatus, ToolResult, ToolSpec

ANSWER_CHARS = 4000
"""The most of an answer that a model gets; the answer says how to read on."""


class Arguments(BaseModel):
    """Base of the arguments of our tools: what is not declared is refused."""

    model_config = ConfigDict(extra="forbid", frozen=True)


A = TypeVar("A", bound=Arguments)


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What a tool says."""

    text: str
    status: CallStatus = CallStatus.OK
    facts: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """For metrics: JSON values that the model does not see."""
    ends: bool = False
    """True when the model says with this call that it is done."""


class Tool(Protocol):
    """Something a model can call."""

    @property
    def spec(self) -> ToolSpec:
        """As the model is told of it."""
        ...

    async def run(self, arguments: Mapping[str, Any]) -> Answer:
        """Answer a call; what is amiss with it is an answer too. Raises SandboxEndedError."""
        ...


class CheckedTool(Generic[A]):
    """A tool of our own: a function over checked arguments (meets ``Tool``)."""

    def __init__(
        self, name: str, description: str, arguments: type[A], function: Callable[[A], Awaitable[Answer]]
    ) -> None:
        self._arguments = arguments
        self._function = function
        self._spec = ToolSpec(name=name, description=description, schema=schema_of(arguments))

    @property
    def spec(self) -> ToolSpec:
        """As the model is told of it."""
        return self._spec

    async def run(self, arguments: Mapping[str, Any]) -> Answer:
        """Check the arguments and answer."""
        try:
            checked = self._arguments.model_validate(dict(arguments))
        except ValidationError as error:
            return Answer(text=_sentence(self._spec.name, error), status=CallStatus.MALFORMED)
        return await self._function(checked)


def schema_of(arguments: type[Arguments]) -> dict[str, Any]:
    """The JSON schema of arguments, without the titles that say nothing."""
    schema = arguments.model_json_schema()
    schema.pop("title", None)
    schema.pop("description", None)
    for one in schema.get("properties", {}).values():
        one.pop("title", None)
    return schema


def result_of(call: Call, answer: Answer, seconds: float) -> ToolResult:
    """The record of an answer."""
    return ToolResult(
        call_id=call.id,
        name=call.name,
        status=answer.status,
        text=answer.text,
        facts=answer.facts,
        seconds=seconds,
    )


def clip(text: str, limit_chars: int = ANSWER_CHARS, *, way_on: str = "narrow the command") -> str:
    """``text`` within a bound: its beginning and its end, with a note of what is left out between."""
    if len(text) <= limit_chars:
        return text
    note = "\n[… {} characters left out: {} …]\n"
    room = limit_chars - len(note.format(len(text), way_on))
    head = room * 2 // 3
    tail = room - head
    return text[:head] + note.format(len(text) - room, way_on) + text[len(text) - tail :]


def _sentence(name: str, error: ValidationError) -> str:
    first = error.errors()[0]
    place = ".".join(map(str, first["loc"])) or "its arguments"
    given = json.dumps(first.get("input"), default=str)
    match first["type"]:
        case "missing":
            return f"{name} needs {place}: give it."
        case "extra_forbidden":
            return f"{name} has no argument {place}: leave it out."
        case _:
            return f"{name}: {place} is {given[:80]}, which does not do ({first['msg']})."
