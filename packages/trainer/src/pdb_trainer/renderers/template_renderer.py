"""Renders a format with a tokenizer: ids that only ever grow, and what of them the model said."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, cast

import numpy as np
from pdb_agent.messages import AssistantMessage, Message, ToolMessage, ToolSpec, UserMessage
from pdb_agent.policies.call_parsing import calls_in_text

from pdb_trainer.errors import RendererError
from pdb_trainer.renderers.formats import ASSISTANT, END, Format, turn
from pdb_trainer.renderers.renderer import SAMPLED_IDS, ParsedReply, RenderedConversation
from pdb_trainer.renderers.text_tokenizer import Piece, TextTokenizer, markup

_ALSO_ENDS = "<|endoftext|>"
_NO_RESPONSE = -1


@dataclass(slots=True)
class _Ids:
    """Ids as they are appended, each with the response it belongs to."""

    token_ids: list[int] = field(default_factory=list[int])
    response: list[int] = field(default_factory=list[int])

    def append(self, ids: Sequence[int], response: int = _NO_RESPONSE) -> None:
        self.token_ids += ids
        self.response += [response] * len(ids)


class TemplateRenderer:
    """A renderer (see ``renderer.Renderer``) out of a format and a tokenizer.

    Text is tokenised separately on both sides of where the model begins and ends to speak, which is
    what makes ids append-only; it is also how a server continues a prompt.
    """

    def __init__(self, format_: Format, tokenizer: TextTokenizer) -> None:
        """Raises RendererError when the tokenizer lacks the tokens of the format."""
        self.tokenizer = tokenizer
        self._format = format_
        end = tokenizer.token(END)
        if (
            end is None
            or len(tokenizer.encode([markup(ASSISTANT)])) < 2
            or tokenizer.token("<|im_start|>") is None
        ):
            raise RendererError(
                f"The tokenizer has no tokens <|im_start|> and {END}, in which the format {format_.name} "
                "writes turns: choose a model of that family, or another renderer."
            )
        self._end = end
        also = tokenizer.token(_ALSO_ENDS)
        self._stop_ids = frozenset({end} if also is None else {end, also})

    @property
    def name(self) -> str:
        """As configurations call it."""
        return self._format.name

    @property
    def stop_ids(self) -> frozenset[int]:
        """Tokens that end a reply."""
        return self._stop_ids

    def prompt(self, system: str, tools: Sequence[ToolSpec], messages: Sequence[Message]) -> list[int]:
        """Ids of the conversation up to where the model speaks."""
        ids = self._rendered(system, tools, messages)
        ids.append(self._opening())
        return ids.token_ids

    def conversation(
        self, system: str, tools: Sequence[ToolSpec], messages: Sequence[Message]
    ) -> RenderedConversation:
        """Ids of a conversation whose last message is the assistant's, with what of it is trained."""
        ids = self._rendered(system, tools, messages)
        response = np.array(ids.response, dtype=np.int32)
        return RenderedConversation(
            token_ids=np.array(ids.token_ids, dtype=np.uint32),
            trained=response != _NO_RESPONSE,
            response=response,
        )

    def parse(
        self, sampled_ids: Sequence[int], tools: Sequence[ToolSpec], id_stem: str, *, cut: bool
    ) -> ParsedReply:
        """Text and calls of a reply; ``cut`` says that it ended at its token limit. Never raises."""
        is_ended = bool(sampled_ids) and sampled_ids[-1] in self._stop_ids
        reasoning, text = _without_thought(self.decode(sampled_ids[:-1] if is_ended else sampled_ids))
        found = calls_in_text(text, tools, id_stem, cut=cut) if tools else None
        if found is None:
            return ParsedReply(text=text, reasoning=reasoning, calls=())
        return ParsedReply(text=found.text, reasoning=reasoning, calls=found.calls)

    def decode(self, token_ids: Sequence[int]) -> str:
        """The text of ids, special tokens included."""
        return self.tokenizer.decode(token_ids)

    def template_prompt(
        self, system: str, tools: Sequence[ToolSpec], messages: Sequence[Message]
    ) -> list[int]:
        """The prompt as the family's template writes it, which may rewrite earlier replies; for checks.

        Only for conversations without sampled ids.
        """
        pieces = self._format.head(system, tools)
        last_user = max((at for at, said in enumerate(messages) if isinstance(said, UserMessage)), default=-1)
        for at, message in enumerate(messages):
            if isinstance(message, AssistantMessage):
                remembered = self._format.remembered(message, before_last_user=at < last_user)
                pieces += [markup(ASSISTANT), *remembered, markup(f"{END}\n")]
            else:
                pieces += self._others(message)
        return self.tokenizer.encode([*pieces, markup(f"{ASSISTANT}{self._format.opening}")])

    def _rendered(self, system: str, tools: Sequence[ToolSpec], messages: Sequence[Message]) -> _Ids:
        ids = _Ids()
        ids.append(self.tokenizer.encode(self._format.head(system, tools)))
        responses = 0
        for message in messages:
            if isinstance(message, AssistantMessage):
                self._append_reply(ids, message, responses)
                responses += 1
            else:
                ids.append(self.tokenizer.encode(self._others(message)))
        return ids

    def _append_reply(self, ids: _Ids, message: AssistantMessage, response: int) -> None:
        ids.append(self._opening())
        sampled = sampled_ids(message)
        if sampled is None:
            ids.append(self.tokenizer.encode(self._format.reply(message)), response)
            ids.append([self._end], response)
        else:
            ids.append(sampled, response)
            if not sampled or sampled[-1] != self._end:
                ids.append([self._end])  # the model did not end it
        ids.append(self.tokenizer.encode([markup("\n")]))

    def _opening(self) -> list[int]:
        return self.tokenizer.encode([markup(f"{ASSISTANT}{self._format.opening}")])

    def _others(self, message: UserMessage | ToolMessage) -> list[Piece]:
        match message:
            case UserMessage():
                return turn("user", message.text)
            case ToolMessage():
                return self._format.results(message) if message.results else []


def sampled_ids(message: AssistantMessage) -> list[int] | None:
    """The exact ids that a reply was sampled as; None for one that was written."""
    native = message.native[0] if message.native else {}
    ids = cast("Sequence[Any] | None", native.get(SAMPLED_IDS))
    return None if ids is None else [int(token) for token in ids]


def _without_thought(text: str) -> tuple[str, str]:
    """Reasoning and the rest, of a reply that begins with a thought; it may have been cut inside it."""
    if not text.lstrip().startswith("<think>"):
        return "", text
    reasoning, _, rest = text.lstrip().removeprefix("<think>").partition("</think>")
    return reasoning.strip("\n"), rest.lstrip("\n")
