"""An episode as the conversation that its policy saw, message for message."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pdb_agent.episode import Answered, Episode, Replied, Said
from pdb_agent.messages import (
    AssistantMessage,
    Message,
    Reply,
    Stop,
    ToolMessage,
    ToolResult,
    ToolSpec,
    UserMessage,
)
from pdb_agent.toolsets import ToolsetName

from pdb_trainer.errors import CorpusError

_WHOLE = (Stop.END, Stop.CALLS)


class UnfitEpisodeError(CorpusError):
    """An episode is no conversation to learn from; the message is its reason in the table."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Conversation:
    """What was said, up to the model's last word."""

    system: str
    tools: tuple[ToolSpec, ...]
    messages: tuple[Message, ...]
    """The last one is the assistant's."""
    sound: frozenset[int]
    """Replies, from 0, that a model may learn: not cut off, and every call of them parses."""

    @property
    def replies(self) -> int:
        """How many messages are the assistant's."""
        return sum(isinstance(message, AssistantMessage) for message in self.messages)

    def up_to(self, reply: int) -> "Conversation":
        """The conversation that ends with a reply, counted from 0."""
        places = [place for place, one in enumerate(self.messages) if isinstance(one, AssistantMessage)]
        return Conversation(
            system=self.system,
            tools=self.tools,
            messages=self.messages[: places[reply] + 1],
            sound=frozenset(one for one in self.sound if one <= reply),
        )


def conversation_of(episode: Episode) -> Conversation:
    """The conversation of an episode, whose turn ``t`` is reply ``t - 1``. Raises UnfitEpisodeError."""
    if episode.started.toolset == ToolsetName.UNLOCK_AFTER_EDITS:
        raise UnfitEpisodeError("its tools changed on the way")
    messages: list[Message] = []
    sound: list[bool] = []
    results: list[ToolResult] = []
    for event in episode.events:
        match event:
            case Said():
                _answer(messages, results)
                messages.append(UserMessage(text=event.text))
            case Replied():
                _answer(messages, results)
                _refuse_unfit(event.reply, messages)
                messages.append(event.reply.message)
                sound.append(_is_sound(event.reply))
            case Answered():
                results.append(event.result)
            case _:
                pass
    while messages and not isinstance(messages[-1], AssistantMessage):
        messages.pop()
    if not messages:
        raise UnfitEpisodeError("it has no turn of a model")
    return Conversation(
        system=episode.started.system,
        tools=episode.started.tools,
        messages=tuple(messages),
        sound=frozenset(reply for reply, is_sound in enumerate(sound) if is_sound),
    )


def for_people(conversation: Conversation, trained: frozenset[int]) -> list[dict[str, Any]]:
    """The conversation as JSON to read, each reply with whether it is trained."""
    lines: list[dict[str, Any]] = [{"role": "system", "content": conversation.system}]
    reply = 0
    for message in conversation.messages:
        match message:
            case UserMessage():
                lines.append({"role": "user", "content": message.text})
            case AssistantMessage():
                lines.append(_reply_line(message, is_trained=reply in trained))
                reply += 1
            case ToolMessage():
                lines.extend(
                    {"role": "tool", "name": result.name, "content": result.text}
                    for result in message.results
                )
    return lines


def _reply_line(message: AssistantMessage, *, is_trained: bool) -> dict[str, Any]:
    line: dict[str, Any] = {"role": "assistant", "content": message.text}
    if message.reasoning:
        line["reasoning"] = message.reasoning
    if message.calls:
        line["calls"] = [
            {"name": call.name, "arguments": _arguments(call.arguments, call.raw)} for call in message.calls
        ]
    return line | {"train": is_trained}


def _arguments(arguments: Mapping[str, Any] | None, raw: str) -> object:
    return raw if arguments is None else dict(arguments)


def _answer(messages: list[Message], results: list[ToolResult]) -> None:
    """Add the results that have come since the last message."""
    if results:
        messages.append(ToolMessage(results=tuple(results)))
        results.clear()


def _refuse_unfit(reply: Reply, before: Sequence[Message]) -> None:
    if reply.stop is Stop.PAUSE:
        raise UnfitEpisodeError("a reply of it came in two parts")
    if before and isinstance(before[-1], AssistantMessage):
        raise UnfitEpisodeError("two of its replies follow each other")


def _is_sound(reply: Reply) -> bool:
    calls = reply.message.calls
    return reply.stop in _WHOLE and all(call.error is None and call.arguments is not None for call in calls)
