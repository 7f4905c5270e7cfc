"""What draws tokens: a prompt of ids in, ids and their log-probabilities out."""

from dataclasses import dataclass
from typing import Literal, Protocol


@dataclass(frozen=True, slots=True, kw_only=True)
class SampleRequest:
    """One reply to draw. Sampling is from the whole distribution at ``temperature``: no top-p, no top-k."""

    prompt: tuple[int, ...]
    max_tokens: int
    stop_ids: frozenset[int]
    """Sampling one of these ends the reply; it is part of the reply."""
    temperature: float = 1.0
    """0 takes the likeliest token every time."""
    seed: int | None = None
    """Same request, same seed, same weights: same reply, where the sampler can promise that."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sampled:
    """A reply, token for token."""

    token_ids: tuple[int, ...]
    logprobs: tuple[float, ...]
    """Natural logarithms under the distribution that was sampled from (after temperature), one per token."""
    finish: Literal["stop", "length"]
    version: str
    """Name of the weights that drew all these tokens, e.g. ``policy-v17``; ``base`` without adapter."""
    request_id: str = ""
    cached_tokens: int = 0
    """Of the prompt, where the sampler knows."""
    seconds: float = 0.0


class Sampler(Protocol):
    """Draws replies; many at once."""

    @property
    def version(self) -> str:
        """Name of the weights that the next request is drawn with."""
        ...

    @property
    def context_tokens(self) -> int:
        """Prompt and reply together may have so many tokens."""
        ...

    async def sample(self, request: SampleRequest) -> Sampled:
        """Draw one reply; a retry inside never yields two. Raises SamplerError."""
        ...

    async def aclose(self) -> None:
        """Let go of connections; idempotent."""
        ...
