"""A chat template as tokenizers carry it, rendered the way that transformers and vLLM render it."""

import json
from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any, NoReturn, cast

from jinja2 import TemplateError
from jinja2.ext import Extension, loopcontrols
from jinja2.nodes import CallBlock, Node
from jinja2.parser import Parser
from jinja2.sandbox import ImmutableSandboxedEnvironment
from pdb_agent.messages import AssistantMessage, Message, ToolMessage, ToolSpec, UserMessage

from pdb_trainer.errors import RendererError
from pdb_trainer.renderers.formats import arguments_of, tool_object


class ChatTemplate:
    """A Jinja template for conversations."""

    def __init__(self, source: str) -> None:
        """Raises RendererError when it is no template."""
        self.source = source
        environment = ImmutableSandboxedEnvironment(
            trim_blocks=True, lstrip_blocks=True, extensions=[_Generation, loopcontrols]
        )
        environment.filters["tojson"] = _tojson
        functions = cast("dict[str, Any]", environment.globals)
        functions.update({"raise_exception": _raise, "strftime_now": _now})
        try:
            self._template = environment.from_string(source)
        except TemplateError as error:
            raise RendererError(f"The chat template cannot be read ({error}).") from error

    def prompt(
        self,
        system: str,
        tools: Sequence[ToolSpec],
        messages: Sequence[Message],
        **switches: bool,
    ) -> str:
        """The text up to where the model speaks. Raises RendererError when the template refuses."""
        try:
            return self._template.render(
                messages=chat_messages(system, messages),
                tools=[tool_object(tool) for tool in tools] or None,
                add_generation_prompt=True,
                **switches,
            )
        except (TemplateError, TypeError, KeyError) as error:
            raise RendererError(
                f"The chat template cannot render a conversation with tools ({error})."
            ) from error


def template_in(model_folder: Path) -> ChatTemplate | None:
    """The template that a model's folder carries; None if it has none. Raises RendererError."""
    file = model_folder / "chat_template.jinja"
    settings = model_folder / "tokenizer_config.json"
    try:
        if file.exists():
            return ChatTemplate(file.read_text(encoding="utf-8"))
        fields: object = json.loads(settings.read_text(encoding="utf-8")) if settings.exists() else {}
    except (OSError, ValueError) as error:
        raise RendererError(f"The chat template in {model_folder} cannot be read ({error}).") from error
    source: object = cast("Mapping[str, Any]", fields).get("chat_template")
    if isinstance(source, list):  # several by name, one of which may be for tools
        named = {str(one["name"]): one["template"] for one in cast("list[dict[str, Any]]", source)}
        source = named.get("tool_use", named.get("default"))
    return ChatTemplate(source) if isinstance(source, str) else None


def chat_messages(system: str, messages: Sequence[Message]) -> list[dict[str, Any]]:
    """A conversation as templates are given it: arguments as objects, reasoning apart from the text."""
    chat: list[dict[str, Any]] = [{"role": "system", "content": system}] if system else []
    for message in messages:
        match message:
            case UserMessage():
                chat.append({"role": "user", "content": message.text})
            case AssistantMessage():
                chat.append(_assistant(message))
            case ToolMessage():
                chat += [
                    {"role": "tool", "tool_call_id": result.call_id, "content": result.text}
                    for result in message.results
                ]
    return chat


def _assistant(message: AssistantMessage) -> dict[str, Any]:
    chat: dict[str, Any] = {"role": "assistant", "content": message.text}
    if message.reasoning:
        chat["reasoning_content"] = message.reasoning
    if message.calls:
        chat["tool_calls"] = [
            {"type": "function", "function": {"name": name, "arguments": dict(arguments)}}
            for name, arguments in arguments_of(message)
        ]
    return chat


def _tojson(
    value: Any,
    ensure_ascii: bool = False,
    indent: int | None = None,
    separators: tuple[str, str] | None = None,
    sort_keys: bool = False,
) -> str:
    """Unlike Jinja's own, which escapes for HTML and sorts."""
    return json.dumps(
        value, ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys
    )


def _raise(message: str) -> NoReturn:
    raise TemplateError(message)


def _now(format_: str) -> str:
    return datetime.now().astimezone().strftime(format_)


class _Generation(Extension):
    """The tag around what a model says, by which some templates make masks: here it marks nothing."""

    tags = {"generation"}  # noqa: RUF012  # as Jinja declares it

    def parse(self, parser: Parser) -> Node:
        """The block's content."""
        line = next(parser.stream).lineno
        body = parser.parse_statements(("name:endgeneration",), drop_needle=True)
        return CallBlock(self.call_method("_content"), [], [], body).set_lineno(line)

    def _content(self, caller: Any) -> str:
        return str(caller())
