"""What the formats of chat templates have in common: ChatML turns, and tools and calls as JSON."""

import json
from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from pdb_agent.messages import AssistantMessage, ToolMessage, ToolSpec
from pdb_agent.policies.call_parsing import replayable_arguments

from pdb_trainer.renderers.text_tokenizer import Piece, markup, said

START = "<|im_start|>"
END = "<|im_end|>"
ASSISTANT = f"{START}assistant\n"


class Format(Protocol):
    """How one family writes a conversation, in pieces.

    A turn begins with START and ends with END and a line break.
    """

    @property
    def name(self) -> str:
        """As configurations call it."""
        ...

    @property
    def opening(self) -> str:
        """What the template writes between ASSISTANT and the model's first word."""
        ...

    def head(self, system: str, tools: Sequence[ToolSpec]) -> list[Piece]:
        """The turn that comes first: instructions and tools."""
        ...

    def reply(self, message: AssistantMessage) -> list[Piece]:
        """What the model says, without opening and END."""
        ...

    def results(self, message: ToolMessage) -> list[Piece]:
        """The turn that answers all calls of a reply."""
        ...

    def remembered(self, message: AssistantMessage, *, before_last_user: bool) -> list[Piece]:
        """A reply between ASSISTANT and END as the template itself writes it once more has been said.

        Where that is not the opening and the reply, the template is not append-only and the renderer is.
        """
        ...


def turn(role: str, text: str) -> list[Piece]:
    """A whole turn that says ``text``."""
    return [markup(f"{START}{role}\n"), said(text), markup(f"{END}\n")]


def as_json(value: object) -> str:
    """JSON as templates write it: characters as they are, a space after commas and colons."""
    return json.dumps(value, ensure_ascii=False)


def tool_object(tool: ToolSpec) -> dict[str, Any]:
    """A tool as chat requests describe it."""
    function = {"name": tool.name, "description": tool.description, "parameters": dict(tool.schema)}
    return {"type": "function", "function": function}


def arguments_of(message: AssistantMessage) -> list[tuple[str, Mapping[str, Any]]]:
    """Name and arguments of every call; ones that do not parse as an object that says so."""
    return [(call.name, replayable_arguments(call)) for call in message.calls]


def json_calls(message: AssistantMessage, *, quoted_name: bool) -> list[Piece]:
    """Text and calls with JSON between tags (Hermes); ``quoted_name`` writes the name as a JSON string."""
    pieces = [said(message.text)]
    for index, (name, arguments) in enumerate(arguments_of(message)):
        pieces += [
            markup("\n" if message.text or index else ""),
            markup('<tool_call>\n{"name": '),
            said(as_json(name) if quoted_name else f'"{name}"'),
            markup(', "arguments": '),
            said(as_json(arguments)),
            markup("}\n</tool_call>"),
        ]
    return pieces


def tagged_results(message: ToolMessage) -> list[Piece]:
    """All results in one user turn, each between tags on lines of their own."""
    pieces = [markup(f"{START}user")]
    for result in message.results:
        pieces += [markup("\n<tool_response>\n"), said(result.text), markup("\n</tool_response>")]
    return [*pieces, markup(f"{END}\n")]
