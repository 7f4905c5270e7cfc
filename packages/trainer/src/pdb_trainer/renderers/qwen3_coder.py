"""Qwen3-Coder: tools and calls between tags, one tag for each parameter."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any, cast

from pdb_agent.messages import AssistantMessage, ToolMessage, ToolSpec

from pdb_trainer.renderers.formats import END, START, arguments_of, as_json
from pdb_trainer.renderers.text_tokenizer import Piece, markup, said

_BEFORE_TOOLS = "\n\n# Tools\n\nYou have access to the following functions:\n\n<tools>"
_AFTER_TOOLS = """
</tools>

If you choose to call a function ONLY reply in the following format with NO suffix:

<tool_call>
<function=example_function_name>
<parameter=example_parameter_1>
value_1
</parameter>
<parameter=example_parameter_2>
This is the value for the second parameter
that can span
multiple lines
</parameter>
</function>
</tool_call>

<IMPORTANT>
Reminder:
- Function calls MUST follow the specified format: an inner <function=...></function> block must be nested \
within <tool_call></tool_call> XML tags
- Required parameters MUST be specified
- You may provide optional reasoning for your function call in natural language BEFORE the function call, \
but NOT after
- If there is no function call available, answer the question like normal with your current knowledge and do \
not tell the user about function calls
</IMPORTANT>"""


class Qwen3CoderFormat:
    """The tagged format; a call's values are written as text, and read back by the tool's schema."""

    name = "qwen3_coder"
    opening = ""

    def head(self, system: str, tools: Sequence[ToolSpec]) -> list[Piece]:
        """Instructions, then every tool with its parameters."""
        pieces = [markup(f"{START}system\n"), said(system)]
        if tools:
            described = "".join(map(_described, tools))
            pieces += [markup(_BEFORE_TOOLS), said(described), markup(_AFTER_TOOLS)]
        return [*pieces, markup(f"{END}\n")]

    def reply(self, message: AssistantMessage) -> list[Piece]:
        """Text, then calls; reasoning is not written."""
        if not message.calls:
            return [said(message.text)]
        text = message.text.strip()
        pieces = [said(text), markup("\n\n")] if text else []
        for index, (name, arguments) in enumerate(arguments_of(message)):
            pieces.append(markup("\n<tool_call>\n" if index else "<tool_call>\n"))
            pieces += [markup("<function="), said(name), markup(">\n")]
            for key, value in arguments.items():
                pieces += [markup("<parameter="), said(key), markup(">\n")]
                pieces += [said(_as_text(value)), markup("\n</parameter>\n")]
            pieces.append(markup("</function>\n</tool_call>"))
        return pieces

    def results(self, message: ToolMessage) -> list[Piece]:
        """All in one user turn, a line break after each."""
        pieces = [markup(f"{START}user\n")]
        for result in message.results:
            pieces += [markup("<tool_response>\n"), said(result.text), markup("\n</tool_response>\n")]
        return [*pieces, markup(f"{END}\n")]

    def remembered(self, message: AssistantMessage, *, before_last_user: bool) -> list[Piece]:
        """As it was said."""
        return self.reply(message)


def _described(tool: ToolSpec) -> str:
    properties = cast("Mapping[str, Mapping[str, Any]]", tool.schema.get("properties") or {})
    parameters = "".join(_parameter(name, fields) for name, fields in properties.items())
    return (
        f"\n<function>\n<name>{tool.name}</name>\n<description>{tool.description.strip()}</description>"
        f"\n<parameters>{parameters}{_other_fields(tool.schema, ('type', 'properties'))}\n</parameters>"
        "\n</function>"
    )


def _parameter(name: str, fields: Mapping[str, Any]) -> str:
    text = f"\n<parameter>\n<name>{name}</name>"
    if "type" in fields:
        text += f"\n<type>{fields['type']}</type>"
    if "description" in fields:
        text += f"\n<description>{str(fields['description']).strip()}</description>"
    return f"{text}{_other_fields(fields, ('name', 'type', 'description'))}\n</parameter>"


def _other_fields(fields: Mapping[str, Any], known: Collection[str]) -> str:
    return "".join(f"\n<{key}>{_as_text(value)}</{key}>" for key, value in fields.items() if key not in known)


def _as_text(value: object) -> str:
    """JSON for objects and lists; anything else as Python writes it, which is what the template does."""
    return as_json(value) if isinstance(value, Mapping | list | tuple) else str(value)
