"""Seats at hosts: how many pages may be fetched from a host at the same time."""

import asyncio
from collections import Counter, defaultdict, deque
from dataclasses import dataclass
from urllib.parse import urlsplit


def host_of(url: str) -> str:
    """The host part of an address."""
    return urlsplit(url).netloc


@dataclass(eq=False)
class Seat:
    """The right to fetch from a host; giving it back again does nothing."""

    host: str
    limits: "HostLimits"
    taken: bool = True

    def give_back(self) -> None:
        """Let the next one have it."""
        if self.taken:
            self.taken = False
            self.limits.free(self.host)


class HostLimits:
    """Hands out at most ``per_host`` seats at each host, first come, first served."""

    def __init__(self, per_host: int) -> None:
        self._per_host = per_host
        self._in_use: Counter[str] = Counter()
        self._queues: defaultdict[str, deque[asyncio.Future[None]]] = defaultdict(deque)

    def in_use(self, host: str) -> int:
        """How many seats at ``host`` are taken."""
        return self._in_use[host]

    async def seat(self, host: str) -> Seat:
        """A seat at ``host``, as soon as there is one."""
        while self._in_use[host] >= self._per_host:
            await self._turn(host)
        self._in_use[host] += 1
        return Seat(host, self)

    def free(self, host: str) -> None:
        """Called by a seat that is given back."""
        self._in_use[host] -= 1
        self._call_next(host)

    async def _turn(self, host: str) -> None:
        turn = asyncio.get_running_loop().create_future()
        self._queues[host].append(turn)
        try:
            await turn
        except asyncio.CancelledError:
            if turn in self._queues[host]:
                self._queues[host].remove(turn)
            elif not turn.cancelled():
                self._call_next(host)
            raise

    def _call_next(self, host: str) -> None:
        while self._queues[host]:
            turn = self._queues[host].popleft()
            if not turn.done():
                turn.set_result(None)
                return
