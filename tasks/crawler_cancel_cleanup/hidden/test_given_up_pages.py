from gleaner.rehearsal import rehearse

ENTRY = "gemini://hill.example/"
DALE = [f"gemini://dale.example/{number}" for number in range(4)]
MOOR = [f"gemini://moor.example/{number}" for number in range(4)]


def script_of(*urls):
    links = "\n".join(f"link {url}" for url in urls)
    return {ENTRY: links, **{url: "text" for url in urls}}


def test_cancelling_the_page_that_came_first_keeps_the_seat_of_the_next():
    seen = rehearse(
        script_of(MOOR[0], DALE[0], DALE[1]),
        ENTRY,
        held=[MOOR[0], DALE[0]],
        steps=[f"cancel {MOOR[0]}"],
    )
    assert seen.report.cancelled == [MOOR[0]]
    assert seen.busiest["dale.example"] == 1


def test_cancelling_one_of_two_pages_of_a_host_frees_one_seat():
    seen = rehearse(script_of(*DALE), ENTRY, per_host=2, held=DALE, steps=[f"cancel {DALE[0]}"])
    assert seen.report.cancelled == [DALE[0]]
    assert seen.busiest["dale.example"] == 2


def test_cancelling_a_page_that_waits_for_a_seat_frees_none():
    seen = rehearse(script_of(*DALE[:3]), ENTRY, held=[DALE[0]], steps=[f"cancel {DALE[1]}"])
    assert seen.report.cancelled == [DALE[1]]
    assert seen.busiest["dale.example"] == 1


def test_a_page_that_fails_frees_its_own_seat_only():
    script = {**script_of(DALE[0], DALE[1], MOOR[0]), MOOR[0]: "failed no such page"}
    seen = rehearse(script, ENTRY, held=[DALE[0]])
    assert seen.report.failed == {MOOR[0]: "no such page"}
    assert seen.busiest["dale.example"] == 1


def test_the_seat_of_a_cancelled_page_goes_to_the_next():
    seen = rehearse(script_of(*DALE[:2]), ENTRY, held=[DALE[0]], steps=[f"cancel {DALE[0]}"])
    assert seen.report.read == [ENTRY, DALE[1]]
    assert seen.report.cancelled == [DALE[0]]


def test_no_seat_is_taken_after_the_crawl():
    seen = rehearse(
        script_of(MOOR[0], DALE[0], DALE[1]),
        ENTRY,
        held=[MOOR[0], DALE[0]],
        steps=[f"cancel {MOOR[0]}", f"let {DALE[0]}"],
    )
    assert seen.left_over == {"dale.example": 0, "hill.example": 0, "moor.example": 0}


def test_seats_stay_taken_while_another_host_is_given_up():
    seen = rehearse(
        script_of(DALE[0], MOOR[0]),
        ENTRY,
        held=[DALE[0], MOOR[0]],
        steps=[f"cancel {MOOR[0]}"],
    )
    assert seen.taken == {"dale.example": 1, "hill.example": 0, "moor.example": 0}


def test_stopping_the_crawl_gives_every_seat_back():
    pages = [*DALE, *MOOR]
    seen = rehearse(script_of(*pages), ENTRY, per_host=2, held=pages, steps=["stop"])
    assert sorted(seen.report.cancelled) == [*DALE, *MOOR]
    assert seen.left_over == {"dale.example": 0, "hill.example": 0, "moor.example": 0}
