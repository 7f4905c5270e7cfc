"""A policy that gives saved replies again: an episode once more, without its model."""

from collections.abc import Sequence
from types import TracebackType
from typing import Self

from pdb_agent.messages import AssistantMessage, Message, Reply, ToolSpec
from pdb_agent.policy import PolicyRequestError, Sampling


class ReplayPolicy:
    """Gives the replies of one episode in order, each as it was saved."""

    def __init__(self, replies: Sequence[Reply], *, name: str = "replay/episode") -> None:
        self.name = name
        self._replies = tuple(replies)

    async def respond(
        self, system: str, messages: Sequence[Message], tools: Sequence[ToolSpec], sampling: Sampling
    ) -> Reply:
        """The reply after as many as the conversation holds. Raises PolicyRequestError past the last."""
        index = sum(isinstance(message, AssistantMessage) for message in messages)
        if index >= len(self._replies):
            raise PolicyRequestError(
                f"The saved episode has {len(self._replies)} replies and the loop asks for one more: "
                "replay it with the tools, limits and task that it was recorded with."
            )
        return self._replies[index]

    async def aclose(self) -> None:
        """Nothing to close."""

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()
