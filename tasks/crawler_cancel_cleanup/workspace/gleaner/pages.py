"""Reading one page."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from gleaner import scope
from gleaner.limits import HostLimits, host_of

MOST_MOVES = 5

Fetch = Callable[[str], Awaitable[str]]


class FetchFailed(Exception):
    """A page could not be fetched this time."""


class Moved(Exception):
    """A page lies at another address; ``target`` says where."""

    def __init__(self, target: str) -> None:
        super().__init__(target)
        self.target = target


@dataclass(frozen=True)
class Page:
    """A page that was read, and where it was found in the end."""

    asked: str
    found: str
    links: tuple[str, ...]


def links_in(text: str) -> tuple[str, ...]:
    """The addresses that a page names, each once."""
    named = [line[5:].strip() for line in text.splitlines() if line.startswith("link ")]
    return tuple(dict.fromkeys(named))


class PageReader:
    """Fetches pages, each from a seat at its host."""

    def __init__(self, fetch: Fetch, limits: HostLimits, tries: int = 2) -> None:
        self._fetch = fetch
        self._limits = limits
        self._tries = tries

    async def read(self, url: str) -> Page:
        """Read a page; raises FetchFailed when all tries and moves are used up."""
        try:
            found, text = await self._follow(url)
        except BaseException:
            scope.abandon()
            raise
        return Page(url, found, links_in(text))

    async def _follow(self, url: str) -> tuple[str, str]:
        """Where the page was found, and its text."""
        for _ in range(MOST_MOVES + 1):
            seat = scope.keep(await self._limits.seat(host_of(url)), url)
            try:
                text = await self._fetch_patiently(url)
            except Moved as move:
                scope.let_go(seat)
                url = move.target
            else:
                scope.let_go(seat)
                return url, text
        raise FetchFailed(f"moved more than {MOST_MOVES} times")

    async def _fetch_patiently(self, url: str) -> str:
        failure = FetchFailed("never tried")
        for _ in range(self._tries):
            try:
                return await self._fetch(url)
            except FetchFailed as error:
                failure = error
        raise failure
