"""ChatML with tools for models whose own template has none, SmolLM2 for one; the agent serves them so."""

from collections.abc import Sequence

from pdb_agent.messages import AssistantMessage, ToolMessage, ToolSpec

from pdb_trainer.renderers.formats import END, START, as_json, json_calls, tagged_results, tool_object
from pdb_trainer.renderers.text_tokenizer import Piece, markup, said

_DEFAULT_SYSTEM = "You are a helpful assistant."
_BEFORE_TOOLS = "\n\nYou can call these functions, each given as JSON:\n<tools>\n"
_AFTER_TOOLS = (
    "</tools>\n\nTo call one, write exactly:\n<tool_call>\n"
    '{"name": "its name", "arguments": {"argument": "value"}}\n</tool_call>'
)


class ChatMLFormat:
    """The format of ``pdb_agent.serving.vllm_server.HERMES_CHATML``."""

    name = "chatml"
    opening = ""

    def head(self, system: str, tools: Sequence[ToolSpec]) -> list[Piece]:
        """Instructions, then the tools as one JSON object on each line."""
        pieces = [markup(f"{START}system\n"), said(system or _DEFAULT_SYSTEM)]
        if tools:
            pieces.append(markup(_BEFORE_TOOLS))
            for tool in tools:
                pieces += [said(as_json(tool_object(tool))), markup("\n")]
            pieces.append(markup(_AFTER_TOOLS))
        return [*pieces, markup(f"{END}\n")]

    def reply(self, message: AssistantMessage) -> list[Piece]:
        """Text, then calls as JSON; reasoning is not written."""
        return json_calls(message, quoted_name=True)

    def results(self, message: ToolMessage) -> list[Piece]:
        """All in one user turn."""
        return tagged_results(message)

    def remembered(self, message: AssistantMessage, *, before_last_user: bool) -> list[Piece]:
        """As it was said."""
        return self.reply(message)
