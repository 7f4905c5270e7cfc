"""The agent's policy over a sampler of tokens: what the learner trains is what acts."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Self

from pdb_agent.messages import AssistantMessage, Attempt, Message, Reply, Stop, TokenIds, ToolSpec, Usage
from pdb_agent.policies.retrying import RetryRules
from pdb_agent.policy import (
    ContextOverflowError,
    PolicyRequestError,
    PolicyUnavailableError,
    Sampling,
)

from pdb_trainer.errors import SamplerError, SamplerUnavailableError
from pdb_trainer.renderers.renderer import SAMPLED_IDS, ParsedReply, Renderer
from pdb_trainer.sampler import Sampled, Sampler, SampleRequest

_SEED_BYTES = 6
"""Servers and their clients agree on whole numbers of this size."""
_TRIES = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class _Answer:
    sampled: Sampled
    attempts: tuple[Attempt, ...]


class LivePolicy:
    """A policy (see ``pdb_agent.policy``) that keeps nothing: a reply's ids travel in its message.

    One instance serves any number of episodes at once. The sampler stays the caller's: closing the policy
    leaves it open.
    """

    def __init__(
        self, renderer: Renderer, sampler: Sampler, *, name: str, rules: RetryRules | None = None
    ) -> None:
        """``rules`` say how often a sampler is asked; None is twice, for ours are patient themselves."""
        self._renderer = renderer
        self._sampler = sampler
        self._name = name
        self._rules = rules or RetryRules(tries=_TRIES)

    @property
    def name(self) -> str:
        """``provider/model``."""
        return self._name

    async def respond(
        self, system: str, messages: Sequence[Message], tools: Sequence[ToolSpec], sampling: Sampling
    ) -> Reply:
        """The next reply, drawn once. Raises PolicyError.

        Its seed is of ``sampling.seed``, the episode's, and of how many replies came before.
        """
        prompt = self._renderer.prompt(system, tools, messages)
        room = self._sampler.context_tokens - len(prompt)
        if room < 1:
            raise ContextOverflowError(
                f"The conversation has {len(prompt)} tokens, and the model takes no more than "
                f"{self._sampler.context_tokens}, the reply included."
            )
        turn = sum(isinstance(message, AssistantMessage) for message in messages)
        request = SampleRequest(
            prompt=tuple(prompt),
            max_tokens=min(sampling.max_output_tokens, room),
            stop_ids=self._renderer.stop_ids,
            temperature=1.0 if sampling.temperature is None else sampling.temperature,
            seed=None if sampling.seed is None else turn_seed(sampling.seed, turn),
        )
        answer = await self._ask(request)
        cut = answer.sampled.finish == "length"
        parsed = self._renderer.parse(answer.sampled.token_ids, tools, f"call_{len(messages)}", cut=cut)
        return self._reply(
            request, answer, parsed, _stop(parsed, cut=cut, is_full=request.max_tokens == room)
        )

    async def aclose(self) -> None:
        """Nothing to close."""

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()

    async def _ask(self, request: SampleRequest) -> _Answer:
        rules = self._rules
        attempts: list[Attempt] = []
        while True:
            try:
                sampled = await self._sampler.sample(request)
            except SamplerUnavailableError as error:
                if len(attempts) + 1 >= rules.tries:
                    raise PolicyUnavailableError(
                        f"{error} Given up after {rules.tries} tries: run the episode again."
                    ) from error
                longest = min(rules.longest_wait_seconds, rules.first_wait_seconds * 2.0 ** len(attempts))
                attempts.append(Attempt(error=str(error), waited_seconds=rules.chance() * longest))
            except SamplerError as error:
                raise PolicyRequestError(str(error)) from error
            else:
                _check(sampled)
                return _Answer(sampled=sampled, attempts=tuple(attempts))
            if rules.on_attempt is not None:
                rules.on_attempt(self.name, attempts[-1])
            await rules.sleep(attempts[-1].waited_seconds)

    def _reply(self, request: SampleRequest, answer: _Answer, parsed: ParsedReply, stop: Stop) -> Reply:
        sampled = answer.sampled
        sent = {"temperature": request.temperature, "max_tokens": request.max_tokens, "seed": request.seed}
        return Reply(
            message=AssistantMessage(
                text=parsed.text,
                reasoning=parsed.reasoning,
                calls=parsed.calls,
                native=({SAMPLED_IDS: list(sampled.token_ids)},),
                native_of=self.name,
            ),
            stop=stop,
            usage=Usage(
                input=len(request.prompt) - sampled.cached_tokens,
                cache_read=sampled.cached_tokens,
                output=len(sampled.token_ids),
            ),
            model=sampled.version,
            request_id=sampled.request_id,
            seconds=sampled.seconds,
            attempts=answer.attempts,
            sent=sent,
            tokens=TokenIds(
                prompt=request.prompt,
                sampled=sampled.token_ids,
                logprobs=sampled.logprobs,
                version=sampled.version,
            ),
        )


def turn_seed(episode_seed: int, turn: int) -> int:
    """The seed of one reply; those of different turns and episodes have nothing to do with each other."""
    digest = hashlib.sha256(f"{episode_seed}/{turn}".encode()).digest()
    return int.from_bytes(digest[:_SEED_BYTES], "little")


def _check(sampled: Sampled) -> None:
    if not sampled.token_ids or len(sampled.token_ids) != len(sampled.logprobs):
        raise PolicyRequestError(
            f"The sampler gave {len(sampled.logprobs)} log-probabilities for {len(sampled.token_ids)} tokens "
            "and each needs its own: let it return those of the tokens that it draws."
        )


def _stop(parsed: ParsedReply, *, cut: bool, is_full: bool) -> Stop:
    """Why it ended; ``is_full`` says that the limit of the reply was the context's."""
    if cut:
        return Stop.CONTEXT if is_full else Stop.MAX_TOKENS
    return Stop.CALLS if parsed.calls else Stop.END
