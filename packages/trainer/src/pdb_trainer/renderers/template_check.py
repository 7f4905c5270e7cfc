"""Whether a renderer writes what the model's template writes, token for token."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from pdb_agent.messages import (
    AssistantMessage,
    Call,
    CallStatus,
    Message,
    ToolMessage,
    ToolResult,
    ToolSpec,
    UserMessage,
)

from pdb_trainer.errors import RendererError
from pdb_trainer.renderers.chat_template import ChatTemplate
from pdb_trainer.renderers.template_renderer import TemplateRenderer

_SHOWN_CHARS = 60
_SYSTEM = "You repair programs. Look first, then edit."
_TOOLS = (
    ToolSpec(
        name="read_file",
        description="Lines of a file, with numbers.",
        schema={
            "type": "object",
            "properties": {
                "path": {"type": "string", "description": "of the workspace"},
                "first": {"anyOf": [{"type": "integer"}, {"type": "null"}], "default": None},
                "whole": {"type": "boolean", "default": False},
            },
            "required": ["path"],
            "additionalProperties": False,
        },
    ),
    ToolSpec(
        name="run_tests",
        description="Run tests.\nAll of them where none is named.",
        schema={"type": "object", "properties": {"tests": {"type": "array", "items": {"type": "string"}}}},
    ),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckedConversation:
    """A conversation that is rendered both ways."""

    name: str
    messages: tuple[Message, ...]


def check_against(
    renderer: TemplateRenderer, template: ChatTemplate, *, thinking: bool = False, **switches: bool
) -> tuple[str, ...]:
    """Compare the renderer with the template on conversations with none, one and more tool results.

    ``thinking`` gives replies a reasoning; ``switches`` are the template's own. Returns what there is to
    know: a sentence where the template rewrites what it said before and the renderer does not. Raises
    RendererError at the first difference that is no such thing.
    """
    notes: list[str] = []
    for conversation in conversations(thinking=thinking):
        theirs = template.prompt(_SYSTEM, _TOOLS, conversation.messages, **switches)
        expected = renderer.template_prompt(_SYSTEM, _TOOLS, conversation.messages)
        _compare(renderer, conversation.name, renderer.tokenizer.encode_template(theirs), expected)
        ours = renderer.prompt(_SYSTEM, _TOOLS, conversation.messages)
        if ours != expected:
            difference = _difference(theirs, renderer.decode(ours))
            notes.append(
                f"With {conversation.name} the template rewrites an earlier reply; {renderer.name} leaves it "
                f"as the model saw it, so that ids only grow: {difference}"
            )
    return tuple(notes[:1])


def conversations(*, thinking: bool) -> tuple[CheckedConversation, ...]:
    """From the task alone to several turns and a nudge; each is the beginning of the next."""
    read = _call("1", "read_file", {"path": "shop/cart.py", "first": 3, "whole": True})
    tests = _call("2", "run_tests", {"tests": ["tests/test_cart.py::test_total", 'a "quoted" <name>']})
    again = _call("3", "read_file", {"path": "größe.py", "first": None})
    thoughts = ("The sum\nlooks off.", "Both at once.", "Enough.") if thinking else ("", "", "")
    task = UserMessage(text="The total is wrong.\n\nRepair it.\n")
    first = AssistantMessage(text="I look at it.", reasoning=thoughts[0], calls=(read,))
    both = AssistantMessage(text="", reasoning=thoughts[1], calls=(tests, again))
    last = AssistantMessage(text="It is done.", reasoning=thoughts[2])
    one_result = (task, first, _results(first, "   3  def total(items):\n   4      return 0\n"))
    two_results = (*one_result, both, _results(both, "FAILED\n\nE  assert 3 == 2", ""))
    nudged = (*two_results, UserMessage(text="Go on with a call."))
    spoken = (*nudged, last, UserMessage(text="Is it?"))
    return (
        CheckedConversation(name="no tool result", messages=(task,)),
        CheckedConversation(name="one tool result", messages=one_result),
        CheckedConversation(name="two calls in one reply", messages=two_results),
        CheckedConversation(name="a word of the user after tool results", messages=nudged),
        CheckedConversation(name="a reply without a call", messages=spoken),
    )


def _call(call_id: str, name: str, arguments: dict[str, Any]) -> Call:
    return Call(id=call_id, name=name, arguments=arguments, raw="")


def _results(message: AssistantMessage, *texts: str) -> ToolMessage:
    return ToolMessage(
        results=tuple(
            ToolResult(call_id=call.id, name=call.name, status=CallStatus.OK, text=text)
            for call, text in zip(message.calls, texts, strict=True)
        )
    )


def _compare(renderer: TemplateRenderer, name: str, theirs: Sequence[int], ours: Sequence[int]) -> None:
    if list(theirs) == list(ours):
        return
    raise RendererError(
        f"The chat template of the model and the renderer {renderer.name} differ with {name}: "
        f"{_difference(renderer.decode(theirs), renderer.decode(ours))} "
        "Choose the renderer that suits the model, or a model whose template it knows."
    )


def _difference(theirs: str, ours: str) -> str:
    """Both texts around their first difference."""
    at = next(
        (index for index, (one, other) in enumerate(zip(theirs, ours, strict=False)) if one != other),
        min(len(theirs), len(ours)),
    )
    if theirs == ours:
        return "the text is the same and is cut into other tokens."
    begin = max(0, at - _SHOWN_CHARS)
    return (
        f"the template has {theirs[begin : at + _SHOWN_CHARS]!r} where the renderer has "
        f"{ours[begin : at + _SHOWN_CHARS]!r}."
    )
