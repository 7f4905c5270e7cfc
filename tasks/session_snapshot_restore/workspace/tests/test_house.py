from datetime import date

import pytest

from saleroom.codec import from_text, to_text
from saleroom.house import House
from saleroom.session import LowBid

DAY = date(2025, 10, 4)


def new_house() -> House:
    house = House.open(DAY, ["Ada", "Bo"], {7: 300, 8: 0, 9: 50})
    house.session.bid(7, 1, 250)
    house.session.bid(7, 2, 500)
    return house


def test_values_come_back_from_text_as_they_were() -> None:
    value = {3: ("a", [1, 2]), 4: {5, 6}, "day": DAY, "none": None, "names": {1: "x"}}
    assert from_text(to_text(value)) == value


def test_buyer_pays_the_bid_and_the_fee() -> None:
    assert new_house().invoices() == {"Bo": 560}


def test_paddles_and_lots_are_there_after_the_break() -> None:
    house = House.take_up(new_house().put_away())
    assert house.session.paddles == {1: "Ada", 2: "Bo"}
    assert house.session.reserves == {7: 300, 8: 0, 9: 50}
    assert house.session.day == DAY


def test_lot_sold_before_the_break_is_on_the_invoice() -> None:
    house = House.take_up(new_house().put_away())
    house.session.bid(8, 1, 100)
    assert house.invoices() == {"Bo": 560, "Ada": 112}


def test_withdrawn_lot_stays_withdrawn_after_the_break() -> None:
    house = new_house()
    house.session.withdraw(9)
    house = House.take_up(house.put_away())
    assert house.session.withdrawn == {9}
    with pytest.raises(KeyError):
        house.session.bid(9, 1, 60)


def test_clerk_asks_for_half_the_reserve_and_then_for_more() -> None:
    house = new_house()
    assert [house.asking(lot) for lot in (7, 8, 9)] == [520, 1, 25]


def test_session_put_away_twice_gives_the_same_text() -> None:
    text = new_house().put_away()
    assert House.take_up(text).put_away() == text


def test_bid_has_to_be_higher() -> None:
    house = new_house()
    with pytest.raises(LowBid):
        house.session.bid(7, 1, 500)
    assert house.session.best(7) == (2, 500)
    assert house.left() == [8, 9]
