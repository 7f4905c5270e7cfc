"""Who listens to one kind of event, and in which order."""

from collections.abc import Callable
from typing import Any

from parcels.events import Event

Handler = Callable[[Any], None]
Accepts = Callable[[Any], bool]


class Subscription:
    """A handler's place in a topic."""

    def __init__(
        self,
        topic: "Topic",
        handler: Handler,
        *,
        priority: int = 50,
        once: bool = False,
        accepts: Accepts | None = None,
    ) -> None:
        self.topic = topic
        self.handler = handler
        self.priority = priority
        self.once = once
        self.accepts = accepts
        self.heard = 0

    def offer(self, event: Event) -> bool:
        """Let the handler hear the event if it wants to; answers whether it did."""
        if self.accepts is not None and not self.accepts(event):
            return False
        if self.once:
            self.cancel()
        self.heard += 1
        self.handler(event)
        return True

    def cancel(self) -> None:
        """Hear nothing any more. Harmless when done twice."""
        self.topic.remove(self)


class Topic:
    """The listeners of one kind of event, sorted by priority.

    Positions do not move during a delivery: a listener that leaves gives up
    its slot, and one that comes waits until the delivery has ended.
    """

    def __init__(self, kind: type[Event]) -> None:
        self.kind = kind
        self._slots: list[Subscription | None] = []
        self._waiting: list[Subscription] = []
        self._delivering = False

    def __len__(self) -> int:
        return len(self.listeners())

    def listeners(self) -> list[Subscription]:
        """All that are subscribed, those that wait at the end."""
        return [slot for slot in self._slots if slot is not None] + self._waiting

    def add(self, subscription: Subscription) -> None:
        """Give the subscription a place behind those of the same priority."""
        if self._delivering:
            self._waiting.append(subscription)
        else:
            self._place(subscription)

    def remove(self, subscription: Subscription) -> None:
        """Take the subscription out."""
        if subscription in self._waiting:
            self._waiting.remove(subscription)
        elif subscription in self._slots:
            position = self._slots.index(subscription)
            if self._delivering:
                self._slots[position] = None
            else:
                del self._slots[position]

    def deliver(self, event: Event, failed: Callable[[Subscription, Exception], None]) -> int:
        """Offer the event to every listener; answers how many heard it.

        A handler that raises does not keep the others from hearing: it is
        handed to `failed`.
        """
        heard = 0
        self._delivering = True
        try:
            for subscription in self._slots:
                if subscription is None:
                    continue
                try:
                    heard += subscription.offer(event)
                except Exception as error:
                    failed(subscription, error)
        finally:
            self._delivering = False
            self._settle()
        return heard

    def _settle(self) -> None:
        self._slots[:] = [slot for slot in self._slots if slot is not None]
        waiting, self._waiting = self._waiting, []
        for subscription in waiting:
            self._place(subscription)

    def _place(self, subscription: Subscription) -> None:
        position = len(self._slots)
        while position and self._priority_at(position - 1) > subscription.priority:
            position -= 1
        self._slots.insert(position, subscription)

    def _priority_at(self, position: int) -> int:
        slot = self._slots[position]
        return 0 if slot is None else slot.priority
