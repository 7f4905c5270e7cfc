from gleaner.rehearsal import rehearse

ENTRY = "gemini://hill.example/"


def linking(*urls):
    return "\n".join(f"link {url}" for url in urls)


def test_all_linked_pages_are_read_once():
    a, b = "gemini://hill.example/a", "gemini://dale.example/b"
    seen = rehearse({ENTRY: linking(a, b, a), a: linking(b, ENTRY), b: "text"}, ENTRY)
    assert sorted(seen.report.read) == [b, ENTRY, a]
    assert len(seen.fetched) == 3


def test_pages_of_other_hosts_are_left_alone():
    seen = rehearse({ENTRY: linking("gemini://sea.example/")}, ENTRY)
    assert seen.fetched == [ENTRY]


def test_a_page_that_fails_is_tried_again_and_reported():
    seen = rehearse({ENTRY: "failed out of order"}, ENTRY)
    assert seen.report.failed == {ENTRY: "out of order"}
    assert seen.fetched == [ENTRY, ENTRY]


def test_a_move_is_followed_to_another_host():
    target = "gemini://dale.example/"
    seen = rehearse({ENTRY: f"moved {target}", target: "text"}, ENTRY)
    assert seen.report.moved == {ENTRY: target}


def test_no_host_is_asked_for_more_pages_at_once_than_allowed():
    pages = [f"gemini://dale.example/{number}" for number in range(6)]
    script = {ENTRY: linking(*pages), **{page: "text" for page in pages}}
    seen = rehearse(script, ENTRY, per_host=2)
    assert len(seen.report.read) == 7
    assert seen.busiest["dale.example"] == 2


def test_cancelling_a_page_leaves_the_limit_of_other_hosts_alone():
    first, second, other = (
        "gemini://dale.example/1",
        "gemini://dale.example/2",
        "gemini://moor.example/1",
    )
    script = {ENTRY: linking(first, second, other), first: "text", second: "text", other: "text"}
    seen = rehearse(script, ENTRY, held=[first, other], steps=[f"cancel {other}"])
    assert seen.report.cancelled == [other]
    assert sorted(seen.report.read) == [first, second, ENTRY]
    assert seen.busiest["dale.example"] == 1
