"""Conversations as token ids, through the renderer of the model that is to learn them."""

import dataclasses
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from pdb_agent.messages import AssistantMessage, Call, Message, ToolSpec

from pdb_trainer.corpus.conversation import Conversation
from pdb_trainer.renderers.renderer import SAMPLED_IDS, Renderer

Tokens = tuple[NDArray[np.uint32], NDArray[np.bool_]]


def tokenised(conversation: Conversation, trained: frozenset[int], renderer: Renderer) -> Tokens:
    """Ids of a conversation, and a mask that is True for what the replies ``trained`` (from 0) say."""
    rendered = renderer.conversation(
        conversation.system, conversation.tools, with_known_ids(conversation, renderer)
    )
    wanted = np.isin(rendered.response, sorted(trained))
    return np.asarray(rendered.token_ids, dtype=np.uint32), np.asarray(rendered.trained & wanted)


def with_known_ids(conversation: Conversation, renderer: Renderer) -> list[Message]:
    """The messages, with sampled ids only where this renderer reads in them what was said.

    Ids of a policy with another tokenizer would be other words: there the text is rendered.
    """
    return [
        _as_known(message, conversation.tools, renderer) if isinstance(message, AssistantMessage) else message
        for message in conversation.messages
    ]


def _as_known(message: AssistantMessage, tools: Sequence[ToolSpec], renderer: Renderer) -> AssistantMessage:
    ids = message.native[0].get(SAMPLED_IDS) if message.native else None
    if ids is not None:
        parsed = renderer.parse(ids, tools, "", cut=not ids or ids[-1] not in renderer.stop_ids)
        if parsed.text == message.text and _plain(parsed.calls) == _plain(message.calls):
            return message
    return dataclasses.replace(message, native=())


def _plain(calls: Sequence[Call]) -> list[tuple[str, str]]:
    return [(call.name, call.raw) for call in calls]
