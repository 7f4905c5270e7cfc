"""A chat template as an append-only function from a conversation to token ids."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray
from pdb_agent.messages import Call, Message, ToolSpec

IdArray = NDArray[np.uint32]
MaskArray = NDArray[np.bool_]

SAMPLED_IDS = "sampled_ids"
"""Key of ``AssistantMessage.native[0]`` under which a reply keeps the exact ids that were sampled."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ParsedReply:
    """What sampled ids say."""

    text: str
    reasoning: str
    calls: tuple[Call, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class RenderedConversation:
    """A whole conversation as ids, shapes ``[T]``."""

    token_ids: IdArray
    trained: MaskArray
    """True for what the model says: its text, calls and stop token; not what the template adds."""
    response: NDArray[np.int32]
    """Index of the assistant message that a trained token belongs to, from 0; -1 elsewhere."""


class Renderer(Protocol):
    """Renders one model family's template. Append-only: a longer conversation's ids start with the shorter's.

    An assistant message with sampled ids in ``native`` is these ids, whatever they decode to; one without
    is written the way the template writes it. Text of users and tools never becomes a special token.
    """

    @property
    def name(self) -> str:
        """As configurations call it."""
        ...

    @property
    def stop_ids(self) -> frozenset[int]:
        """Tokens that end a reply."""
        ...

    def prompt(self, system: str, tools: Sequence[ToolSpec], messages: Sequence[Message]) -> list[int]:
        """Ids of the conversation up to where the model speaks."""
        ...

    def conversation(
        self, system: str, tools: Sequence[ToolSpec], messages: Sequence[Message]
    ) -> RenderedConversation:
        """Ids of a conversation whose last message is the assistant's, with what of it is trained."""
        ...

    def parse(
        self, sampled_ids: Sequence[int], tools: Sequence[ToolSpec], id_stem: str, *, cut: bool
    ) -> ParsedReply:
        """Text and calls of a reply; ``cut`` says that it ended at its token limit. Never raises."""
        ...

    def decode(self, token_ids: Sequence[int]) -> str:
        """The text of ids, special tokens included."""
        ...
