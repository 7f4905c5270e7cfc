"""Asking again: one bounded loop around every provider, with backoff, full jitter and Retry-After.

The SDKs' own retries are off, so each failed attempt is counted, kept in the
reply and told to whoever displays the run.
"""

import random
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from types import TracebackType
from typing import Protocol, Self

import anyio

from pdb_agent.messages import Attempt, Message, Reply, Stop, ToolSpec
from pdb_agent.policies.faults import FaultKind, RequestFault
from pdb_agent.policy import PolicyUnavailableError, Sampling

DISCARDED_USAGE = "discarded"
"""Key in ``raw_usage`` of what empty replies before this one used: objects of usage and raw_usage."""


def _utc_now() -> datetime:
    return datetime.now(UTC)


@dataclass(frozen=True, slots=True, kw_only=True)
class RetryRules:
    """How often and how patiently to ask again; clock, sleep and chance come from outside."""

    tries: int = 8
    """Requests for one reply, the first included."""
    empty_tries: int = 3
    """The same, where a model answered with nothing at all; its last empty reply then stands."""
    first_wait_seconds: float = 1.0
    """Upper end of the first wait; it doubles each time."""
    longest_wait_seconds: float = 60.0
    longest_retry_after_seconds: float = 600.0
    """A server that wants a longer pause than this is given up."""
    on_attempt: Callable[[str, Attempt], None] | None = None
    """Told the policy's name and each failed attempt, before the wait."""
    sleep: Callable[[float], Awaitable[None]] = anyio.sleep
    chance: Callable[[], float] = random.random
    """Uniform in [0, 1)."""
    now: Callable[[], datetime] = _utc_now
    monotonic: Callable[[], float] = time.monotonic


class Dialect(Protocol):
    """One provider's way to ask: a single request, no retries."""

    @property
    def name(self) -> str:
        """``provider/model``, as asked for."""
        ...

    async def ask(
        self, system: str, messages: Sequence[Message], tools: Sequence[ToolSpec], sampling: Sampling
    ) -> Reply:
        """The reply to one request. Raises RequestFault, or PolicyError where no request could be made."""
        ...

    async def aclose(self) -> None:
        """Close connections; idempotent."""
        ...


class RetryingPolicy:
    """A policy (see ``pdb_agent.policy``) out of a dialect."""

    def __init__(self, dialect: Dialect, rules: RetryRules | None = None) -> None:
        self._dialect = dialect
        self._rules = rules or RetryRules()

    @property
    def name(self) -> str:
        """``provider/model``, as asked for."""
        return self._dialect.name

    async def respond(
        self, system: str, messages: Sequence[Message], tools: Sequence[ToolSpec], sampling: Sampling
    ) -> Reply:
        """The next reply: exactly one, whatever was tried before it. Raises PolicyError."""
        rules = self._rules
        attempts: list[Attempt] = []
        discarded: list[Reply] = []
        while True:
            started = rules.monotonic()
            try:
                reply = await self._dialect.ask(system, messages, tools, sampling)
            except RequestFault as fault:
                if fault.kind is not FaultKind.TRANSIENT:
                    raise fault.as_policy_error() from None
                if len(attempts) + 1 >= rules.tries:
                    raise PolicyUnavailableError(f"{fault.sentence} {_gave_up(rules.tries)}") from None
                error, wait_seconds = fault.sentence, self._wait_seconds(fault, len(attempts))
            else:
                if not _is_empty(reply) or len(discarded) + 1 >= rules.empty_tries:
                    return _told(reply, attempts, discarded, rules.monotonic() - started)
                discarded.append(reply)
                error, wait_seconds = "The reply was empty.", self._backoff_seconds(len(attempts))
            attempts.append(Attempt(error=error, waited_seconds=wait_seconds))
            if rules.on_attempt is not None:
                rules.on_attempt(self.name, attempts[-1])
            await rules.sleep(wait_seconds)

    def _backoff_seconds(self, failures: int) -> float:
        rules = self._rules
        return rules.chance() * min(rules.longest_wait_seconds, rules.first_wait_seconds * 2.0**failures)

    def _wait_seconds(self, fault: RequestFault, failures: int) -> float:
        backoff = self._backoff_seconds(failures)
        asked = retry_after_seconds(fault.retry_after, self._rules.now())
        if asked is None:
            return backoff
        if asked > self._rules.longest_retry_after_seconds:
            raise PolicyUnavailableError(
                f"{fault.sentence} It asks for a pause of {asked:.0f} seconds: run again after that."
            ) from None
        # Clients that were told the same second must not all come back in it.
        return asked + min(backoff, self._rules.first_wait_seconds)

    async def aclose(self) -> None:
        """Close connections; idempotent."""
        await self._dialect.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with anyio.CancelScope(shield=True):
            await self.aclose()


def retry_after_seconds(header: str | None, now: datetime) -> float | None:
    """The pause that a Retry-After header asks for, never negative; None if it says nothing readable."""
    if header is None:
        return None
    try:
        seconds = float(header)
    except ValueError:
        try:
            date = parsedate_to_datetime(header)
        except ValueError:
            return None
        seconds = ((date if date.tzinfo else date.replace(tzinfo=UTC)) - now).total_seconds()
    return max(0.0, seconds) if seconds == seconds else None


def _gave_up(tries: int) -> str:
    return f"Given up after {tries} tries: run again later." if tries > 1 else "Run again later."


def _is_empty(reply: Reply) -> bool:
    """Whether the model said nothing at all, which some servers do under load."""
    message = reply.message
    said = message.text.strip() or message.reasoning.strip() or message.calls
    return not said and reply.stop is Stop.END


def _told(reply: Reply, attempts: Sequence[Attempt], discarded: Sequence[Reply], seconds: float) -> Reply:
    raw_usage = dict(reply.raw_usage)
    if discarded:
        raw_usage[DISCARDED_USAGE] = [
            {"usage": asdict(empty.usage), "raw_usage": dict(empty.raw_usage)} for empty in discarded
        ]
    return replace(reply, attempts=tuple(attempts), seconds=seconds, raw_usage=raw_usage)
