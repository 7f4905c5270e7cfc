"""The way of events from those who publish them to those who listen."""

from collections import deque
from dataclasses import dataclass

from parcels.events import Event
from parcels.topics import Accepts, Handler, Subscription, Topic


@dataclass(frozen=True)
class Failure:
    """An exception that left a handler."""

    event: Event
    message: str


class Bus:
    """Takes every event to the listeners of its kind, then to those of the kinds it derives from."""

    def __init__(self, remembered: int = 100) -> None:
        self.failures: list[Failure] = []
        self._topics: dict[type[Event], Topic] = {}
        self._recent: deque[Event] = deque(maxlen=remembered)

    def subscribe(
        self, kind: type[Event], handler: Handler, *, priority: int = 50, accepts: Accepts | None = None
    ) -> Subscription:
        """Call the handler with every event of the kind that `accepts` says yes to."""
        return self._added(Subscription(self.topic(kind), handler, priority=priority, accepts=accepts))

    def once(
        self, kind: type[Event], handler: Handler, *, priority: int = 50, accepts: Accepts | None = None
    ) -> Subscription:
        """Call the handler with the first such event only."""
        return self._added(
            Subscription(self.topic(kind), handler, priority=priority, once=True, accepts=accepts)
        )

    def publish(self, event: Event) -> int:
        """Deliver the event before returning; answers how many handlers heard it."""
        self._recent.append(event)

        def failed(subscription: Subscription, error: Exception) -> None:
            self.failures.append(Failure(event, f"{type(error).__name__}: {error}"))

        heard = 0
        for kind in type(event).__mro__:
            topic = self._topics.get(kind)
            if topic is not None:
                heard += topic.deliver(event, failed)
        return heard

    def topic(self, kind: type[Event]) -> Topic:
        """The topic of a kind, made when it is first wanted."""
        if kind not in self._topics:
            self._topics[kind] = Topic(kind)
        return self._topics[kind]

    def recent(self) -> list[str]:
        """The labels of the newest events, in the order of publishing."""
        return [event.label() for event in self._recent]

    def _added(self, subscription: Subscription) -> Subscription:
        subscription.topic.add(subscription)
        return subscription
