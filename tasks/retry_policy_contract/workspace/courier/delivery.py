"""Delivery of messages, with patience."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from courier.clock import Clock
from courier.policy import RetryPolicy


class Unavailable(Exception):
    """The service is not there; it may be later."""


class Refused(Exception):
    """The service does not take this message."""


class GaveUp(Exception):
    """A message was tried as often as the policy and the courier's patience allow."""

    def __init__(self, tries: int, seconds: float) -> None:
        super().__init__(f"Gave up after {tries} tries in {seconds:g} seconds.")
        self.tries = tries
        self.seconds = seconds


class Loopback:
    """A service within the program, to try a policy on: away for the first calls."""

    def __init__(self, away: int = 0) -> None:
        self.away = away
        self.calls = 0

    def send(self, message: str) -> str:
        """Answers the message in capitals; an empty one is refused."""
        self.calls += 1
        if not message:
            raise Refused("There is nothing to send.")
        if self.calls <= self.away:
            raise Unavailable(f"Away for {self.away - self.calls} more calls.")
        return message.upper()


@dataclass(frozen=True)
class Receipt:
    """What the service answered, and what it took."""

    answer: str
    tries: int
    seconds: float


class Courier:
    """Delivers messages by ``send``, one at a time."""

    def __init__(
        self,
        send: Callable[[str], str],
        policy: RetryPolicy,
        clock: Clock,
        chance: Callable[[], float] = lambda: 0.0,
        patience: float | None = None,
    ) -> None:
        self._send = send
        self._policy = policy
        self._clock = clock
        self._chance = chance
        self._patience = patience

    def deliver(self, message: str) -> Receipt:
        """Try until the message is through; raises GaveUp or Refused."""
        began = self._clock.now()
        waits = self._policy.waits(self._chance)
        tries = 0
        while True:
            tries += 1
            try:
                answer = self._send(message)
            except Unavailable as error:
                wait = next(waits, None)
                if wait is None or not self._has_patience(began, wait):
                    raise GaveUp(tries, self._clock.now() - began) from error
                self._clock.wait(wait)
            else:
                return Receipt(answer, tries, self._clock.now() - began)

    def deliver_all(self, messages: Iterable[str]) -> dict[str, str]:
        """What became of each message: its answer, or "refused" or "gave up"."""
        outcomes: dict[str, str] = {}
        for message in messages:
            try:
                outcomes[message] = self.deliver(message).answer
            except Refused:
                outcomes[message] = "refused"
            except GaveUp:
                outcomes[message] = "gave up"
        return outcomes

    def _has_patience(self, began: float, wait: float) -> bool:
        return self._patience is None or self._clock.now() + wait - began <= self._patience
