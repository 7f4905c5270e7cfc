from catalogue.pages import Pages


def links_of(pages, wanted):
    links = pages.links(wanted)
    return (links.first, links.previous, links.next, links.last)


def test_number_of_pages():
    counts = [Pages("x" * length, per_page=4).count for length in (1, 3, 4, 5, 8, 9, 12)]

    assert counts == [1, 1, 1, 2, 2, 3, 3]


def test_page_past_the_end_of_full_pages():
    pages = Pages("abcdef", per_page=3)

    assert (pages.items(3), pages.items(2), pages.nearest(9)) == ("def", "def", 2)
    assert pages.caption(7) == "Page 2 of 2: 4 to 6 of 6"


def test_listing_without_items():
    pages = Pages("", per_page=3)

    assert (pages.count, pages.nearest(4), pages.window(1)) == (1, 1, [1])
    assert links_of(pages, 1) == (None, None, None, None)
    assert pages.caption(1) == "Page 1 of 1: nothing to show"


def test_listing_of_exactly_one_page():
    pages = Pages("abc", per_page=3)

    assert (pages.window(1), pages.caption(1)) == ([1], "Page 1 of 1: 1 to 3 of 3")
    assert links_of(pages, 1) == (None, None, None, None)


def test_one_item_to_a_page():
    pages = Pages("abcd", per_page=1, width=3)

    assert [pages.window(wanted) for wanted in (1, 2, 3, 4)] == [[1, 2, 3], [1, 2, 3], [2, 3, 4], [2, 3, 4]]
    assert pages.items(4) == "d"


def test_window_of_even_width():
    pages = Pages("x" * 20, per_page=2, width=4)

    assert [pages.window(wanted) for wanted in (1, 5, 10)] == [[1, 2, 3, 4], [3, 4, 5, 6], [7, 8, 9, 10]]


def test_links_of_full_pages():
    pages = Pages("x" * 9, per_page=3)

    assert [links_of(pages, wanted) for wanted in (1, 2, 3)] == [
        (None, None, 2, 3),
        (1, 1, 3, 3),
        (1, 2, None, None),
    ]


def test_row_at_both_ends():
    pages = Pages("x" * 6, per_page=2)

    assert [pages.row(wanted) for wanted in (1, 3, 4)] == ["[1] 2 3", "1 2 [3]", "1 2 [3]"]
    assert Pages("x" * 6, per_page=1, width=2).row(6) == "... 5 [6]"
