"""Qwen3's hybrid template: Hermes calls, and reasoning between think tags that old replies lose."""

from collections.abc import Sequence

from pdb_agent.messages import AssistantMessage, ToolMessage, ToolSpec

from pdb_trainer.renderers.formats import json_calls, tagged_results
from pdb_trainer.renderers.hermes import hermes_head
from pdb_trainer.renderers.text_tokenizer import Piece, markup, said

NO_THOUGHT = "<think>\n\n</think>\n\n"
"""What the template opens a reply with when thinking is off."""


class Qwen3Format:
    """Append-only where the template is not.

    The template takes the empty thought out of earlier replies (thinking off), and the reasoning out of
    replies before the last user message (thinking on). Here all stays as the model saw it.
    """

    def __init__(self, *, thinking: bool) -> None:
        self._thinking = thinking
        self.name = "qwen3_thinking" if thinking else "qwen3"
        self.opening = "" if thinking else NO_THOUGHT

    def head(self, system: str, tools: Sequence[ToolSpec]) -> list[Piece]:
        """As Hermes."""
        return hermes_head(system, tools)

    def reply(self, message: AssistantMessage) -> list[Piece]:
        """With thinking on, the reasoning comes first, and an empty thought where there is none."""
        return [*self._thought(message), *json_calls(message, quoted_name=False)]

    def results(self, message: ToolMessage) -> list[Piece]:
        """All in one user turn."""
        return tagged_results(message)

    def remembered(self, message: AssistantMessage, *, before_last_user: bool) -> list[Piece]:
        """With its reasoning while no user has spoken since; without any think tags otherwise."""
        said_only = json_calls(message, quoted_name=False)
        if before_last_user or not self._thinking or not message.reasoning.strip("\n"):
            return said_only
        return [*self._thought(message), *said_only]

    def _thought(self, message: AssistantMessage) -> list[Piece]:
        if not self._thinking:
            return []
        return [markup("<think>\n"), said(message.reasoning.strip("\n")), markup("\n</think>\n\n")]
