"""Rehearsing a crawl: a fetcher that plays pages from a script."""

import asyncio
from collections import Counter
from collections.abc import Mapping

from gleaner.limits import host_of
from gleaner.pages import FetchFailed, Moved


class Rehearsal:
    """Plays ``script``, a text for each address.

    A text ``moved ADDRESS`` sends the reader on, ``failed REASON`` fails, anything else is a page.
    """

    def __init__(self, script: Mapping[str, str]) -> None:
        self._script = dict(script)
        self._held: dict[str, asyncio.Event] = {}
        self._busy: Counter[str] = Counter()
        self._busiest: Counter[str] = Counter()
        self.fetched: list[str] = []

    def hold(self, *urls: str) -> None:
        """Hold pages back once they are fetched."""
        for url in urls:
            self._held[url] = asyncio.Event()

    def let_through(self, *urls: str) -> None:
        """Hold pages back no longer."""
        for url in urls:
            self._held.pop(url).set()

    def busiest(self, host: str) -> int:
        """The largest number of pages that were fetched from ``host`` at the same time."""
        return self._busiest[host]

    async def fetch(self, url: str) -> str:
        """The fetcher."""
        host = host_of(url)
        self.fetched.append(url)
        self._busy[host] += 1
        self._busiest[host] = max(self._busiest[host], self._busy[host])
        try:
            await asyncio.sleep(0)
            if url in self._held:
                await self._held[url].wait()
            return self._play(url)
        finally:
            self._busy[host] -= 1

    async def go_on(self, turns: int = 50) -> None:
        """Let all tasks go as far as they can without what is held back."""
        for _ in range(turns):
            await asyncio.sleep(0)

    def _play(self, url: str) -> str:
        text = self._script.get(url, "failed no such page")
        kind, _, rest = text.partition(" ")
        if kind == "moved":
            raise Moved(rest)
        if kind == "failed":
            raise FetchFailed(rest)
        return text
