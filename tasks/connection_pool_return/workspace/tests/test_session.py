import pytest

from cistern.connection import Archive, ConnectionLost
from cistern.pool import Pool, PoolExhausted
from cistern.session import Session


def filled_archive():
    return Archive({"levels": ["312", "308", "305"]})


def test_rows_are_added_on_behalf_of_the_user():
    archive = Archive()
    with Session(Pool(archive), "anna") as session:
        session.add("levels", "301", "299")
    assert archive.log == ["anna added 301", "anna added 299"]


def test_a_connection_is_used_again_by_the_next_session():
    pool = Pool(Archive())
    for user in ("anna", "ben"):
        with Session(pool, user) as session:
            session.add("levels", "1")
    assert pool.numbers() == [1]
    assert pool.idle_numbers() == [1]


def test_a_session_that_stopped_reading_gives_its_connection_back_at_the_end():
    pool = Pool(filled_archive())
    with Session(pool, "anna") as session:
        assert next(session.stream("levels")) == "312"
        assert pool.idle_numbers() == []
    assert pool.idle_numbers() == [1]


def test_no_more_connections_are_made_than_allowed():
    pool = Pool(Archive(), size=1)
    with Session(pool, "anna") as anna, Session(pool, "ben") as ben:
        anna.add("levels", "1")
        with pytest.raises(PoolExhausted):
            ben.add("levels", "2")
    assert pool.idle_numbers() == [1]


def test_a_lost_connection_is_replaced():
    archive = filled_archive()
    pool = Pool(archive, size=1)
    with Session(pool, "anna") as session:
        session.add("levels", "1")
        archive.hang_up(1)
        with pytest.raises(ConnectionLost):
            session.add("levels", "2")
    with Session(pool, "ben") as session:
        session.add("levels", "3")
    assert pool.numbers() == [2]


def test_a_connection_is_idle_once_all_rows_have_been_read():
    pool = Pool(filled_archive())
    with Session(pool, "anna") as session:
        assert list(session.stream("levels")) == ["312", "308", "305"]
        assert pool.idle_numbers() == [1]


def test_idle_connections_can_be_trimmed():
    pool = Pool(Archive())
    with Session(pool, "anna") as anna, Session(pool, "ben") as ben:
        anna.add("levels", "1")
        ben.add("levels", "2")
        assert pool.borrowed_count() == 2
    assert pool.trim(keep=1) == [2]
    assert (pool.numbers(), pool.borrowed_count()) == ([1], 0)


def test_users_are_kept_apart_after_somebody_read_all_levels():
    archive = filled_archive()
    pool = Pool(archive)
    with Session(pool, "cleo") as session:
        assert session.latest("levels") == ["305"]
    with Session(pool, "anna") as anna, Session(pool, "ben") as ben:
        anna.add("notes", "dry")
        ben.add("notes", "rain")
        anna.add("notes", "dry again")
    assert archive.log == ["anna added dry", "ben added rain", "anna added dry again"]
