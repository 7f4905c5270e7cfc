import asyncio

from gleaner.crawler import Crawler
from gleaner.limits import HostLimits
from gleaner.pages import PageReader
from gleaner.rehearsal import Rehearsal

ENTRY = "gemini://hill.example/"
HOSTS = {"hill.example", "dale.example", "moor.example"}


def linking(*urls):
    return "\n".join(f"link {url}" for url in urls)


def crawl(rehearsal, per_host=1, **options):
    crawler = Crawler(PageReader(rehearsal.fetch, HostLimits(per_host)), HOSTS, **options)
    return asyncio.run(crawler.crawl(ENTRY))


def test_all_linked_pages_are_read_once():
    a, b = "gemini://hill.example/a", "gemini://dale.example/b"
    rehearsal = Rehearsal({ENTRY: linking(a, b, a), a: linking(b, ENTRY), b: "text"})
    report = crawl(rehearsal)
    assert sorted(report.read) == [b, ENTRY, a]
    assert len(rehearsal.fetched) == 3


def test_pages_of_other_hosts_are_left_alone():
    rehearsal = Rehearsal({ENTRY: linking("gemini://sea.example/")})
    crawl(rehearsal)
    assert rehearsal.fetched == [ENTRY]


def test_a_page_that_fails_is_tried_again_and_reported():
    rehearsal = Rehearsal({ENTRY: "failed out of order"})
    assert crawl(rehearsal).failed == {ENTRY: "out of order"}
    assert rehearsal.fetched == [ENTRY, ENTRY]


def test_a_move_is_followed_to_another_host():
    rehearsal = Rehearsal({ENTRY: "moved gemini://dale.example/", "gemini://dale.example/": "text"})
    assert crawl(rehearsal).moved == {ENTRY: "gemini://dale.example/"}


def test_no_host_is_asked_for_more_pages_at_once_than_allowed():
    pages = [f"gemini://dale.example/{number}" for number in range(6)]
    rehearsal = Rehearsal({ENTRY: linking(*pages), **{page: "text" for page in pages}})
    assert len(crawl(rehearsal, per_host=2).read) == 7
    assert rehearsal.busiest("dale.example") == 2


def test_cancelling_a_page_leaves_the_limit_of_other_hosts_alone():
    first, second, other = (
        "gemini://dale.example/1",
        "gemini://dale.example/2",
        "gemini://moor.example/1",
    )
    rehearsal = Rehearsal({ENTRY: linking(first, second, other), first: "text", second: "text"})
    rehearsal.hold(first, other)

    async def scenario():
        crawler = Crawler(PageReader(rehearsal.fetch, HostLimits(1)), HOSTS)
        crawling = asyncio.create_task(crawler.crawl(ENTRY))
        await rehearsal.go_on()
        assert await crawler.cancel(other) is True
        await rehearsal.go_on()
        rehearsal.let_through(first)
        return await crawling

    report = asyncio.run(scenario())
    assert report.cancelled == [other]
    assert sorted(report.read) == [first, second, ENTRY]
    assert rehearsal.busiest("dale.example") == 1
