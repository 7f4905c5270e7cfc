"""What stands for the model: something that answers a conversation with a reply."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

from pdb_agent.errors import AgentError
from pdb_agent.messages import Message, Reply, ToolSpec


class PolicyError(AgentError):
    """A reply could not be had; after the policy's own retries."""


class PolicyUnavailableError(PolicyError):
    """The provider refused, failed or was out of reach: infrastructure, to be run again."""


class PolicyRequestError(PolicyError):
    """The provider will refuse this request every time: a key, a model's name, a setting."""


class ContextOverflowError(PolicyError):
    """The conversation is longer than the model takes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sampling:
    """How to draw a reply; a provider that takes less is sent less, and the reply says what."""

    temperature: float | None = 0.1
    top_p: float | None = None
    max_output_tokens: int = 4096
    effort: Literal["none", "low", "medium", "high", "max"] | None = None
    """Of reasoning, where a model has that."""
    seed: int | None = None


class Policy(Protocol):
    """Answers conversations; one may serve many episodes at once.

    Open it with ``async with``; the end of the block closes its connections.
    """

    @property
    def name(self) -> str:
        """``provider/model``, as asked for."""
        ...

    async def respond(
        self, system: str, messages: Sequence[Message], tools: Sequence[ToolSpec], sampling: Sampling
    ) -> Reply:
        """The next reply. Raises PolicyError; a retry never yields two replies."""
        ...

    async def aclose(self) -> None:
        """Close connections; idempotent."""
        ...
