"""What happens to leases, and how the parts of the gateway learn of it."""

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from leasegate.leases import Lease, LeaseRequest


@dataclass(frozen=True)
class Booked:
    """A rig was taken for a lease."""

    lease: Lease


@dataclass(frozen=True)
class Amended:
    """A lease took the place of another one of the same rig and tenant."""

    before: Lease
    after: Lease


@dataclass(frozen=True)
class Withdrawn:
    """A lease was taken back before it was granted."""

    lease: Lease
    reason: str


@dataclass(frozen=True)
class Ended:
    """A granted lease was given back or ran out."""

    lease: Lease


@dataclass(frozen=True)
class Refused:
    """A request got no lease."""

    request: LeaseRequest
    reason: str


class EventBus:
    """Delivers events in the order in which they were published.

    What a handler publishes is delivered after the event at hand has reached everybody.
    """

    def __init__(self) -> None:
        self._handlers: dict[type, list[Callable[[Any], None]]] = {}
        self._pending: deque[object] = deque()
        self._is_delivering = False

    def subscribe(self, kind: type, handler: Callable[[Any], None]) -> None:
        """Call ``handler`` with every event of ``kind``."""
        self._handlers.setdefault(kind, []).append(handler)

    def publish(self, event: object) -> None:
        """Deliver an event, at once unless another one is being delivered."""
        self._pending.append(event)
        if self._is_delivering:
            return
        self._is_delivering = True
        try:
            while self._pending:
                self._deliver(self._pending.popleft())
        finally:
            self._is_delivering = False

    def _deliver(self, event: object) -> None:
        for handler in tuple(self._handlers.get(type(event), ())):
            handler(event)
