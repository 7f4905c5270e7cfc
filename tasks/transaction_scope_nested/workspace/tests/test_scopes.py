import pytest

from stockroom.scopes import NotWritable, Scopes
from stockroom.shelves import OutOfStock, Shelves


def test_writes_of_a_scope_left_by_an_error_are_taken_back():
    shelves = Shelves({"lamp": 4})
    scopes = Scopes(shelves)
    with pytest.raises(ValueError):
        with scopes.open("work"):
            scopes.remove("lamp", 3)
            raise ValueError("changed my mind")
    assert shelves.counts() == {"lamp": 4}


def test_a_tolerated_error_ends_at_its_scope():
    shelves = Shelves({"lamp": 4})
    scopes = Scopes(shelves)
    with scopes.open("outer"):
        scopes.remove("lamp", 1)
        with scopes.open("try", tolerated=(OutOfStock,)) as attempt:
            scopes.remove("lamp", 2)
            scopes.remove("lamp", 2)
    assert attempt.outcome == "took back 1"
    assert shelves.counts() == {"lamp": 3}


def test_nothing_is_written_in_a_read_only_scope():
    shelves = Shelves({"lamp": 4})
    scopes = Scopes(shelves)
    with pytest.raises(NotWritable):
        with scopes.open("audit", read_only=True):
            scopes.remove("lamp", 1)
    assert shelves.counts() == {"lamp": 4}
