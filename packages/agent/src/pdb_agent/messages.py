"""What is said in an episode: messages, calls, results, and what a reply cost.

Canonical, for all providers. What a provider wants back exactly as it said it
(thinking blocks, reasoning items) travels in ``native`` and is replayed, whole
and in order, to the same provider and model only.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """A tool call as the model made it."""

    id: str
    name: str
    arguments: Mapping[str, Any] | None
    """None when they do not parse."""
    raw: str
    """The arguments as sent, for the record and for the model's own eyes."""
    error: str | None = None
    """Why the call is malformed, with the way on; None for a call that parses."""


class CallStatus(StrEnum):
    """How a call ended."""

    OK = "ok"
    FAILED = "failed"
    """Well formed, and the tool refused it."""
    MALFORMED = "malformed"
    """It does not parse, does not match the schema, or names no tool."""
    TIMED_OUT = "timed_out"
    NOT_RUN = "not_run"
    """The episode ended, or an earlier call of the turn ended it, first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolResult:
    """The answer to one call; every call gets one."""

    call_id: str
    name: str
    status: CallStatus
    text: str
    facts: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """What metrics read and the model does not: JSON values."""
    seconds: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class UserMessage:
    """Said to the model by the harness."""

    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class AssistantMessage:
    """Said by the model."""

    text: str
    reasoning: str = ""
    calls: tuple[Call, ...] = ()
    native: tuple[Mapping[str, Any], ...] = ()
    """The provider's own blocks, verbatim and in order."""
    native_of: str = ""
    """Which provider and model may see ``native`` again: ``provider/model``."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolMessage:
    """The results of all calls of one reply, in the order of the calls."""

    results: tuple[ToolResult, ...]


Message = UserMessage | AssistantMessage | ToolMessage


class Stop(StrEnum):
    """Why a reply ended."""

    END = "end"
    CALLS = "calls"
    MAX_TOKENS = "max_tokens"
    CONTEXT = "context"
    REFUSAL = "refusal"
    PAUSE = "pause"
    """The provider wants to be asked again with the same messages; no turn of its own."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """Tokens of one request, in classes that do not overlap but for the last."""

    input: int = 0
    cache_read: int = 0
    cache_write: int = 0
    output: int = 0
    reasoning: int = 0
    """A part of ``output``."""

    @property
    def context(self) -> int:
        """Tokens that the conversation holds after this reply."""
        return self.input + self.cache_read + self.cache_write + self.output

    def __add__(self, other: "Usage") -> "Usage":
        return Usage(
            input=self.input + other.input,
            cache_read=self.cache_read + other.cache_read,
            cache_write=self.cache_write + other.cache_write,
            output=self.output + other.output,
            reasoning=self.reasoning + other.reasoning,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenIds:
    """Exact tokens of one reply, for learners; from policies that sample token by token."""

    prompt: tuple[int, ...]
    sampled: tuple[int, ...]
    logprobs: tuple[float, ...]
    """Natural logarithms, one for each sampled token, as the sampler drew them."""
    version: str
    """Of the weights."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempt:
    """A request that had to be repeated."""

    error: str
    waited_seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """What a policy answered."""

    message: AssistantMessage
    stop: Stop
    usage: Usage
    model: str
    """As the server names it."""
    request_id: str = ""
    seconds: float = 0.0
    attempts: tuple[Attempt, ...] = ()
    """Failures before this answer."""
    parser_fallback: bool = False
    """Calls were found in the text, which the server had left there."""
    raw_usage: Mapping[str, Any] = field(default_factory=dict[str, Any])
    sent: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """Sampling settings as they were sent, which may be fewer than were asked for."""
    tokens: TokenIds | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolSpec:
    """A tool as a model is told of it."""

    name: str
    description: str
    schema: Mapping[str, Any]
    """JSON schema of its arguments, an object."""
