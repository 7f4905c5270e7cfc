"""A policy whose turns are written down beforehand, for tests, demonstrations and measurements.

The turn is found by counting the replies in the conversation, so that one
policy serves any number of episodes at once and nothing has to be reset.
"""

import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from types import TracebackType
from typing import Any, Self

from pdb_agent.messages import AssistantMessage, Call, Message, Reply, Stop, ToolSpec, Usage
from pdb_agent.policy import Sampling

Said = Sequence[str | Call]
"""Texts and calls of one turn, in any order."""
Turn = str | Reply | Said | Callable[[Sequence[Message]], Said]
"""A text, a whole reply, what is said, or a function that says it from the conversation so far."""
_AFTER_THE_END = "The script has ended."


def scripted_call(name: str, /, **arguments: Any) -> Call:
    """A well-formed call for a turn; the policy gives it an id."""
    return Call(id="", name=name, arguments=arguments, raw=json.dumps(arguments, ensure_ascii=False))


class ScriptedPolicy:
    """Says its turns in order, and then only that the script has ended."""

    def __init__(
        self, turns: Sequence[Turn], *, name: str = "scripted/turns", usage: Usage | None = None
    ) -> None:
        """``usage`` is reported for every turn that is no whole reply."""
        self.name = name
        self._turns = tuple(turns)
        self._usage = usage or Usage()

    async def respond(
        self, system: str, messages: Sequence[Message], tools: Sequence[ToolSpec], sampling: Sampling
    ) -> Reply:
        """The turn after as many as the conversation holds."""
        index = sum(isinstance(message, AssistantMessage) for message in messages)
        turn = self._turns[index] if index < len(self._turns) else _AFTER_THE_END
        if isinstance(turn, Reply):
            return turn
        said = turn(messages) if callable(turn) else turn
        return self._reply([said] if isinstance(said, str) else said, index)

    def _reply(self, said: Said, index: int) -> Reply:
        texts = [part for part in said if isinstance(part, str)]
        calls = [part for part in said if isinstance(part, Call)]
        named = tuple(
            call if call.id else replace(call, id=f"call_{index}_{position}")
            for position, call in enumerate(calls)
        )
        return Reply(
            message=AssistantMessage(text="\n".join(texts), calls=named),
            stop=Stop.CALLS if named else Stop.END,
            usage=self._usage,
            model=self.name,
        )

    async def aclose(self) -> None:
        """Nothing to close."""

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()
