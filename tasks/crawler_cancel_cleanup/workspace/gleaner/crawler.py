"""The crawl: which pages are read, and what became of them."""

import asyncio
from dataclasses import dataclass, field

from gleaner.limits import host_of
from gleaner.pages import FetchFailed, Page, PageReader


@dataclass
class Report:
    """What became of the pages, in the order in which they ended."""

    read: list[str] = field(default_factory=list)
    moved: dict[str, str] = field(default_factory=dict)
    failed: dict[str, str] = field(default_factory=dict)
    cancelled: list[str] = field(default_factory=list)


class Crawler:
    """Reads pages of ``hosts``, up to ``most_pages`` of them. It crawls once."""

    def __init__(self, reader: PageReader, hosts: set[str], most_pages: int = 1_000) -> None:
        self._reader = reader
        self._hosts = hosts
        self._most_pages = most_pages
        self._seen: set[str] = set()
        self._under_way: dict[str, asyncio.Task[None]] = {}
        self.report = Report()

    async def crawl(self, entry: str) -> Report:
        """Read ``entry`` and all that can be reached from it."""
        self._seen.add(entry)
        await self._visit(entry)
        try:
            while self._under_way:
                await asyncio.wait(
                    set(self._under_way.values()), return_when=asyncio.FIRST_COMPLETED
                )
                self._clear_ended()
        finally:
            await self._cancel_all()
        return self.report

    async def cancel(self, url: str) -> bool:
        """Give a page up and wait for its end; False when it is not under way."""
        task = self._under_way.get(url)
        if task is None or task.done():
            return False
        task.cancel()
        await asyncio.wait({task})
        return True

    def under_way(self) -> list[str]:
        """The pages that are being read or wait for a seat."""
        return [url for url, task in self._under_way.items() if not task.done()]

    async def _visit(self, url: str) -> None:
        try:
            page = await self._reader.read(url)
        except FetchFailed as error:
            self.report.failed[url] = str(error)
        except asyncio.CancelledError:
            self.report.cancelled.append(url)
            raise
        else:
            self._note(page)

    def _note(self, page: Page) -> None:
        self.report.read.append(page.asked)
        if page.found != page.asked:
            self.report.moved[page.asked] = page.found
        for link in page.links:
            self._plan(link)

    def _plan(self, url: str) -> None:
        """Start to read a page, unless it is known, elsewhere, or one too many."""
        if url in self._seen or host_of(url) not in self._hosts:
            return
        if len(self._seen) >= self._most_pages:
            return
        self._seen.add(url)
        self._under_way[url] = asyncio.create_task(self._visit(url), name=url)

    def _clear_ended(self) -> None:
        for url, task in list(self._under_way.items()):
            if task.done():
                del self._under_way[url]
                if not task.cancelled():
                    task.result()

    async def _cancel_all(self) -> None:
        for task in self._under_way.values():
            task.cancel()
        if self._under_way:
            await asyncio.wait(set(self._under_way.values()))
