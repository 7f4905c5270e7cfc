import pytest

from stockroom.orders import Line, Order, OrderDesk
from stockroom.scopes import NotWritable, Scopes
from stockroom.shelves import OutOfStock, Shelves


def test_orders_after_a_skipped_one_find_its_pieces():
    shelves = Shelves({"cup": 6, "plate": 1})
    orders = [
        Order("D-1", (Line("cup", 4), Line("plate", 2))),
        Order("D-2", (Line("cup", 5),)),
        Order("D-3", (Line("plate", 1), Line("cup", 2))),
    ]
    report = OrderDesk(Scopes(shelves)).fill(orders)
    assert report.filled == ["D-2"]
    assert report.skipped == ["D-1", "D-3"]
    assert shelves.counts() == {"cup": 1, "plate": 1}


def test_a_kit_that_lacks_a_part_gives_way_to_the_other_choice():
    shelves = Shelves({"top": 2, "leg": 0, "stool": 5})
    desk = OrderDesk(Scopes(shelves), kits={"table": ("top", "leg")})
    report = desk.fill([Order("E-1", (Line("table", 1, otherwise="stool"),))])
    assert report.filled == ["E-1"]
    assert shelves.counts() == {"top": 2, "leg": 0, "stool": 4}


def test_a_kit_that_lacks_a_part_skips_its_order():
    shelves = Shelves({"frame": 3, "saddle": 0, "bell": 2})
    desk = OrderDesk(Scopes(shelves), kits={"bike": ("frame", "saddle")})
    report = desk.fill([Order("F-1", (Line("bell"), Line("bike")))])
    assert report.skipped == ["F-1"]
    assert shelves.counts() == {"frame": 3, "saddle": 0, "bell": 2}


def test_an_error_reaches_the_scope_that_tolerates_it():
    shelves = Shelves({"nut": 5})
    scopes = Scopes(shelves)
    with scopes.open("outer", tolerated=(OutOfStock,)) as outer:
        scopes.remove("nut", 2)
        with scopes.open("middle") as middle, scopes.open("inner") as inner:
            scopes.remove("nut", 9)
    assert [inner.outcome, middle.outcome, outer.outcome] == ["took back 0", "took back 0", "took back 1"]
    assert shelves.counts() == {"nut": 5}


def test_a_scope_inside_a_read_only_one_writes_nothing():
    shelves = Shelves({"nut": 5})
    scopes = Scopes(shelves)
    with scopes.open("audit", read_only=True) as audit:
        with pytest.raises(NotWritable):
            with scopes.open("count", tolerated=(OutOfStock,)):
                scopes.remove("nut", 1)
    assert audit.outcome == "kept"
    assert shelves.counts() == {"nut": 5}


def test_every_tolerating_scope_stops_its_own_errors():
    shelves = Shelves({"nut": 5})
    scopes = Scopes(shelves)
    with scopes.open("outer", tolerated=(ValueError,)) as outer:
        with scopes.open("inner", tolerated=(OutOfStock,)) as inner:
            scopes.remove("nut", 3)
            raise ValueError("not counted")
    assert [inner.outcome, outer.outcome] == ["took back 1", "took back 0"]
    assert shelves.counts() == {"nut": 5}
