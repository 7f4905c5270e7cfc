"""ChatML with tools and calls as JSON in the manner of Hermes: Qwen2.5, Qwen3-Instruct-2507 and others."""

from collections.abc import Sequence

from pdb_agent.messages import AssistantMessage, ToolMessage, ToolSpec

from pdb_trainer.renderers.formats import END, START, as_json, json_calls, tagged_results, tool_object
from pdb_trainer.renderers.text_tokenizer import Piece, markup, said

_BEFORE_TOOLS = (
    "# Tools\n\nYou may call one or more functions to assist with the user query.\n\n"
    "You are provided with function signatures within <tools></tools> XML tags:\n<tools>"
)
_AFTER_TOOLS = (
    "\n</tools>\n\nFor each function call, return a json object with function name and arguments within "
    "<tool_call></tool_call> XML tags:\n<tool_call>\n"
    '{"name": <function-name>, "arguments": <args-json-object>}\n</tool_call>'
)


class HermesFormat:
    """Tools in the system turn, calls as JSON between tags, results of one reply in one user turn."""

    name = "hermes"
    opening = ""

    def head(self, system: str, tools: Sequence[ToolSpec]) -> list[Piece]:
        """Instructions, then the tools as one JSON object on each line."""
        return hermes_head(system, tools)

    def reply(self, message: AssistantMessage) -> list[Piece]:
        """Text, then calls as JSON; reasoning is not written."""
        return json_calls(message, quoted_name=False)

    def results(self, message: ToolMessage) -> list[Piece]:
        """All in one user turn."""
        return tagged_results(message)

    def remembered(self, message: AssistantMessage, *, before_last_user: bool) -> list[Piece]:
        """As it was said."""
        return self.reply(message)


def hermes_head(system: str, tools: Sequence[ToolSpec]) -> list[Piece]:
    """The system turn of Hermes and Qwen."""
    pieces = [markup(f"{START}system\n"), said(system)]
    if tools:
        pieces.append(markup(f"\n\n{_BEFORE_TOOLS}"))
        for tool in tools:
            pieces += [markup("\n"), said(as_json(tool_object(tool)))]
        pieces.append(markup(_AFTER_TOOLS))
    return [*pieces, markup(f"{END}\n")]
