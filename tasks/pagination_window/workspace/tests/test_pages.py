from catalogue.pages import Pages

TITLES = [f"title {number}" for number in range(1, 48)]


def links_of(pages, wanted):
    links = pages.links(wanted)
    return (links.first, links.previous, links.next, links.last)


def test_items_of_a_page():
    pages = Pages(TITLES, per_page=10)

    assert list(pages.items(1))[-1] == "title 10"
    assert list(pages.items(5)) == TITLES[40:47]


def test_page_past_the_end():
    pages = Pages(TITLES, per_page=10)

    assert [pages.nearest(wanted) for wanted in (-3, 0, 3, 6)] == [1, 1, 3, 5]


def test_window_is_moved_inward():
    pages = Pages(TITLES, per_page=5)

    assert pages.window(1) == [1, 2, 3, 4, 5]
    assert pages.window(5) == [3, 4, 5, 6, 7]
    assert pages.window(10) == [6, 7, 8, 9, 10]


def test_window_of_a_short_listing():
    assert Pages(TITLES, per_page=20).window(2) == [1, 2, 3]


def test_links():
    pages = Pages(TITLES, per_page=10)

    assert links_of(pages, 1) == (None, None, 2, 5)
    assert links_of(pages, 3) == (1, 2, 4, 5)


def test_row_of_page_numbers():
    pages = Pages(TITLES, per_page=5)

    assert pages.row(2) == "1 [2] 3 4 5 ..."
    assert pages.row(6) == "... 4 5 [6] 7 8 ..."


def test_caption():
    assert Pages(TITLES, per_page=20).caption(3) == "Page 3 of 3: 41 to 47 of 47"


def test_last_page_is_full():
    pages = Pages(TITLES[:40], per_page=10)

    assert pages.window(4) == [1, 2, 3, 4]
    assert links_of(pages, 4) == (1, 3, None, None)
