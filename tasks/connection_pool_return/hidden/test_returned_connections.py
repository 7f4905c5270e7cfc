import pytest

from cistern.connection import Archive
from cistern.pool import Pool, PoolExhausted
from cistern.session import Session


def filled_archive():
    return Archive({"levels": ["312", "308", "305"]})


def test_a_connection_lies_in_the_pool_once_after_a_stream():
    pool = Pool(filled_archive())
    with Session(pool, "anna") as session:
        for _ in session.stream("levels"):
            pass
    assert pool.idle_numbers() == [1]
    assert pool.numbers() == [1]


def test_closing_after_a_stream_leaves_the_next_borrower_alone():
    archive = filled_archive()
    pool = Pool(archive)
    cleo = Session(pool, "cleo")
    assert cleo.latest("levels", 2) == ["308", "305"]
    anna = Session(pool, "anna")
    anna.add("notes", "one")
    cleo.close()
    with Session(pool, "ben") as ben:
        ben.add("notes", "two")
        anna.add("notes", "three")
    anna.close()
    assert archive.log == ["anna added one", "ben added two", "anna added three"]
    assert sorted(pool.idle_numbers()) == [1, 2]


def test_a_session_borrows_again_after_a_stream():
    archive = filled_archive()
    pool = Pool(archive)
    with Session(pool, "cleo") as cleo, Session(pool, "anna") as anna:
        assert list(cleo.stream("levels")) == ["312", "308", "305"]
        anna.add("notes", "one")
        cleo.add("notes", "two")
        anna.add("notes", "three")
    assert archive.log == ["anna added one", "cleo added two", "anna added three"]
    assert pool.numbers() == [1, 2]


def test_copied_rows_are_added_by_the_one_who_copies():
    archive = filled_archive()
    pool = Pool(archive)
    with Session(pool, "cleo") as cleo:
        assert cleo.copy("levels", "backup") == 3
    assert archive.log == ["cleo added 312", "cleo added 308", "cleo added 305"]
    assert pool.idle_numbers() == [1]


def test_nothing_is_borrowed_after_the_spread_was_asked_for():
    pool = Pool(filled_archive())
    with Session(pool, "anna") as session:
        assert session.spread("levels") == (305, 312)
        assert pool.borrowed_count() == 0
    assert pool.borrowed_count() == 0
    assert pool.trim(keep=0) == [1]


def test_streams_of_empty_tables_give_back_once_as_well():
    pool = Pool(Archive(), size=1)
    with Session(pool, "anna") as session:
        assert session.latest("levels") == []
        assert session.latest("levels") == []
    assert pool.idle_numbers() == [1]


def test_a_pool_of_one_serves_one_session_at_a_time_after_a_stream():
    pool = Pool(filled_archive(), size=1)
    with Session(pool, "cleo") as cleo:
        cleo.latest("levels")
    with Session(pool, "anna") as anna, Session(pool, "ben") as ben:
        anna.add("notes", "one")
        with pytest.raises(PoolExhausted):
            ben.add("notes", "two")
    assert pool.idle_numbers() == [1]


def test_a_stream_read_to_its_end_twice_gives_back_once():
    pool = Pool(filled_archive())
    with Session(pool, "anna") as session:
        rows = session.stream("levels")
        assert [len(list(rows)), len(list(rows))] == [3, 0]
        assert pool.idle_numbers() == [1]
    assert pool.idle_numbers() == [1]
