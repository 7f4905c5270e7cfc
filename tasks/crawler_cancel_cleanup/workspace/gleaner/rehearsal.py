"""Rehearsing a crawl, without network."""

import asyncio
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from gleaner.crawler import Crawler, Report
from gleaner.limits import HostLimits, host_of
from gleaner.pages import FetchFailed, Moved, PageReader


class Stage:
    """A fetcher that plays ``script``, which holds a text for each address.

    A text ``moved ADDRESS`` sends the reader on, ``failed REASON`` fails, anything else is a page.
    """

    def __init__(self, script: Mapping[str, str]) -> None:
        self._script = dict(script)
        self._held: dict[str, asyncio.Event] = {}
        self._busy: Counter[str] = Counter()
        self._busiest: Counter[str] = Counter()
        self.fetched: list[str] = []

    def hold(self, urls: Collection[str]) -> None:
        """Hold pages back once they are fetched."""
        self._held.update((url, asyncio.Event()) for url in urls)

    def let_through(self, urls: Collection[str]) -> None:
        """Hold pages back no longer."""
        for url in [url for url in urls if url in self._held]:
            self._held.pop(url).set()

    def hosts(self) -> set[str]:
        """The hosts of the pages in the script."""
        return {host_of(url) for url in self._script}

    def busiest(self) -> dict[str, int]:
        """The largest number of pages that were fetched from each host at the same time."""
        return dict(self._busiest)

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


@dataclass(frozen=True)
class Rehearsed:
    """What was seen: addresses in the order in which they were fetched, and figures by host.

    ``taken`` are the seats after the last step, ``left_over`` those after the crawl.
    """

    report: Report
    fetched: list[str]
    busiest: dict[str, int]
    taken: dict[str, int]
    left_over: dict[str, int]


def rehearse(
    script: Mapping[str, str],
    entry: str,
    *,
    per_host: int = 1,
    held: Collection[str] = (),
    steps: Sequence[str] = (),
) -> Rehearsed:
    """Crawl all hosts of a script. The pages in ``held`` are held back.

    Steps are ``cancel ADDRESS``, ``let ADDRESS`` through, and ``stop`` the crawl; before each one all
    tasks have gone as far as they can. After the last step, everything is let through.
    """
    return asyncio.run(_rehearse(Stage(script), entry, HostLimits(per_host), held, steps))


async def _rehearse(
    stage: Stage, entry: str, limits: HostLimits, held: Collection[str], steps: Sequence[str]
) -> Rehearsed:
    stage.hold(held)
    crawler = Crawler(PageReader(stage.fetch, limits), stage.hosts())
    crawling = asyncio.create_task(crawler.crawl(entry))
    await stage.go_on()
    for step in steps:
        what, _, url = step.partition(" ")
        if what == "cancel":
            await crawler.cancel(url)
        elif what == "let":
            stage.let_through([url])
        else:
            crawling.cancel()
        await stage.go_on()
    taken = {host: limits.in_use(host) for host in sorted(stage.hosts())}
    stage.let_through(held)
    await asyncio.wait({crawling})
    left_over = {host: limits.in_use(host) for host in sorted(stage.hosts())}
    return Rehearsed(crawler.report, stage.fetched, stage.busiest(), taken, left_over)
