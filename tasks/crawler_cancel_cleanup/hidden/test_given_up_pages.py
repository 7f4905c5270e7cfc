import asyncio

from gleaner.crawler import Crawler
from gleaner.limits import HostLimits
from gleaner.pages import PageReader
from gleaner.rehearsal import Rehearsal

ENTRY = "gemini://hill.example/"
HOSTS = {"hill.example", "dale.example", "moor.example"}
DALE = [f"gemini://dale.example/{number}" for number in range(4)]
MOOR = [f"gemini://moor.example/{number}" for number in range(4)]


def linking(*urls):
    return "\n".join(f"link {url}" for url in urls)


def rehearse(urls, held):
    rehearsal = Rehearsal({ENTRY: linking(*urls), **{url: "text" for url in urls}})
    rehearsal.hold(*held)
    return rehearsal


def crawl_and_cancel(rehearsal, limits, given_up, let_through):
    """Crawl; when all goes no further, cancel pages, then let others through."""

    async def scenario():
        crawler = Crawler(PageReader(rehearsal.fetch, limits), HOSTS)
        crawling = asyncio.create_task(crawler.crawl(ENTRY))
        await rehearsal.go_on()
        for url in given_up:
            await crawler.cancel(url)
            await rehearsal.go_on()
        rehearsal.let_through(*let_through)
        return await crawling

    return asyncio.run(scenario())


def test_cancelling_the_page_that_came_first_keeps_the_seat_of_the_next():
    rehearsal = rehearse([MOOR[0], DALE[0], DALE[1]], [MOOR[0], DALE[0]])
    report = crawl_and_cancel(rehearsal, HostLimits(1), [MOOR[0]], [DALE[0]])
    assert report.cancelled == [MOOR[0]]
    assert rehearsal.busiest("dale.example") == 1


def test_cancelling_one_of_two_pages_of_a_host_frees_one_seat():
    rehearsal = rehearse(DALE, DALE)
    report = crawl_and_cancel(rehearsal, HostLimits(2), [DALE[0]], DALE[1:])
    assert report.cancelled == [DALE[0]]
    assert rehearsal.busiest("dale.example") == 2


def test_cancelling_a_page_that_waits_for_a_seat_frees_none():
    rehearsal = rehearse(DALE[:3], [DALE[0]])
    report = crawl_and_cancel(rehearsal, HostLimits(1), [DALE[1]], [DALE[0]])
    assert report.cancelled == [DALE[1]]
    assert rehearsal.busiest("dale.example") == 1


def test_a_page_that_fails_frees_its_own_seat_only():
    rehearsal = Rehearsal(
        {ENTRY: linking(DALE[0], DALE[1], MOOR[0]), DALE[0]: "text", DALE[1]: "text"}
    )
    rehearsal.hold(DALE[0])
    report = crawl_and_cancel(rehearsal, HostLimits(1), [], [DALE[0]])
    assert report.failed == {MOOR[0]: "no such page"}
    assert rehearsal.busiest("dale.example") == 1


def test_the_seat_of_a_cancelled_page_goes_to_the_next():
    rehearsal = rehearse(DALE[:2], [DALE[0]])
    report = crawl_and_cancel(rehearsal, HostLimits(1), [DALE[0]], [])
    assert report.read == [ENTRY, DALE[1]]
    assert report.cancelled == [DALE[0]]


def test_no_seat_is_taken_after_the_crawl():
    limits = HostLimits(1)
    rehearsal = rehearse([MOOR[0], DALE[0], DALE[1]], [MOOR[0], DALE[0]])
    crawl_and_cancel(rehearsal, limits, [MOOR[0]], [DALE[0]])
    assert [limits.in_use(host) for host in sorted(HOSTS)] == [0, 0, 0]


def test_seats_stay_taken_while_another_host_is_given_up():
    rehearsal = rehearse([DALE[0], MOOR[0]], [DALE[0], MOOR[0]])
    limits = HostLimits(1)

    async def scenario():
        crawler = Crawler(PageReader(rehearsal.fetch, limits), HOSTS)
        crawling = asyncio.create_task(crawler.crawl(ENTRY))
        await rehearsal.go_on()
        await crawler.cancel(MOOR[0])
        taken = (limits.in_use("dale.example"), limits.in_use("moor.example"))
        rehearsal.let_through(DALE[0])
        await crawling
        return taken

    assert asyncio.run(scenario()) == (1, 0)


def test_cancelling_the_crawl_gives_every_seat_back():
    limits = HostLimits(2)
    rehearsal = rehearse([*DALE, *MOOR], [*DALE, *MOOR])

    async def scenario():
        crawler = Crawler(PageReader(rehearsal.fetch, limits), HOSTS)
        crawling = asyncio.create_task(crawler.crawl(ENTRY))
        await rehearsal.go_on()
        crawling.cancel()
        await asyncio.wait({crawling})
        return sorted(crawler.report.cancelled), limits.in_use("dale.example")

    cancelled, in_use = asyncio.run(scenario())
    assert cancelled == [*DALE, *MOOR]
    assert in_use == 0
