from stockroom.orders import Line, Order, OrderDesk
from stockroom.scopes import Scopes
from stockroom.shelves import Shelves


def test_an_order_with_everything_on_the_shelf_is_filled():
    shelves = Shelves({"lamp": 4, "bulb": 3})
    report = OrderDesk(Scopes(shelves)).fill([Order("A-1", (Line("lamp", 2), Line("bulb", 3)))])
    assert report.filled == ["A-1"]
    assert shelves.counts() == {"lamp": 2, "bulb": 0}


def test_an_order_that_lacks_one_line_takes_nothing():
    shelves = Shelves({"lamp": 4, "bulb": 3})
    report = OrderDesk(Scopes(shelves)).fill([Order("A-1", (Line("lamp", 2), Line("bulb", 5)))])
    assert shelves.counts() == {"lamp": 4, "bulb": 3}
    assert report.skipped == ["A-1"]


def test_an_article_that_runs_short_is_replaced_by_the_other_choice():
    shelves = Shelves({"oak": 1, "pine": 8})
    report = OrderDesk(Scopes(shelves)).fill([Order("B-7", (Line("oak", 2, otherwise="pine"),))])
    assert report.filled == ["B-7"]
    assert shelves.counts() == {"oak": 1, "pine": 6}


def test_a_kit_is_picked_part_by_part():
    shelves = Shelves({"top": 1, "leg": 4})
    desk = OrderDesk(Scopes(shelves), kits={"table": ("top", "leg")})
    report = desk.fill([Order("C-3", (Line("table"),))])
    assert report.filled == ["C-3"]
    assert shelves.counts() == {"top": 0, "leg": 3}
