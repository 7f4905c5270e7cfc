"""The line of threads in front of a gate, and what the thread inside holds."""

import threading
from collections import deque
from collections.abc import Hashable
from dataclasses import dataclass, field


@dataclass
class Tenure:
    """The stay of one thread behind the gate; ``depth`` counts how often it came in."""

    holder: Hashable
    depth: int = 1

    def belongs_to(self, caller: Hashable) -> bool:
        """Whether this is the stay of ``caller``."""
        return self.holder == caller


@dataclass(eq=False)
class Ticket:
    """A place in the line; ``tenure`` is set when its turn has come."""

    person: threading.Thread = field(default_factory=threading.current_thread)
    tenure: Tenure | None = None

    def call_in(self) -> Tenure:
        """Give the waiting thread its stay."""
        self.tenure = Tenure(self.person)
        return self.tenure


class WaitLine:
    """First come, first served. The owner of the line does the locking."""

    def __init__(self) -> None:
        self._tickets: deque[Ticket] = deque()

    def __len__(self) -> int:
        return len(self._tickets)

    def names(self) -> list[str]:
        """The names of the waiting threads, the next one first."""
        return [ticket.person.name for ticket in self._tickets]

    def join(self) -> Ticket:
        """A place at the end for the calling thread."""
        ticket = Ticket()
        self._tickets.append(ticket)
        return ticket

    def abandon(self, ticket: Ticket) -> None:
        """Step out of the line without having been served."""
        self._tickets.remove(ticket)

    def next(self) -> Ticket | None:
        """Take the first ticket from the line, if there is one."""
        return self._tickets.popleft() if self._tickets else None
