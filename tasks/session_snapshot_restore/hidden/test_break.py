from datetime import date

import pytest

from saleroom.codec import from_text, to_text
from saleroom.house import House
from saleroom.session import LowBid

EVE = date(2025, 12, 31)


def new_house() -> House:
    house = House.open(EVE, ["Cy", "Di", "Ed"], {1: 10, 2: 10, 3: 10})
    for lot, paddle, amount in ((1, 3, 20), (1, 2, 30), (1, 3, 40), (2, 2, 5)):
        house.session.bid(lot, paddle, amount)
    return house


def test_lower_bid_is_refused_after_the_break() -> None:
    house = House.take_up(new_house().put_away())
    with pytest.raises(LowBid):
        house.session.bid(1, 1, 35)
    house.session.bid(1, 1, 45)
    assert house.sold() == {1: (1, 45)}


def test_bids_of_a_lot_are_pairs_after_the_break() -> None:
    house = House.take_up(new_house().put_away())
    assert house.session.bids[1] == [(3, 20), (2, 30), (3, 40)]
    assert house.session.best(2) == (2, 5)
    assert house.session.best(3) is None


def test_keenest_bidders_before_and_after_the_break() -> None:
    house = House.take_up(new_house().put_away())
    house.session.bid(3, 2, 50)
    house.session.bid(3, 1, 60)
    house.session.bid(3, 2, 70)
    assert house.keenest() == ["Di 4", "Ed 2", "Cy 1"]


def test_two_breaks_lose_nothing() -> None:
    house = House.take_up(new_house().put_away())
    house.session.bid(2, 1, 15)
    house = House.take_up(house.put_away())
    assert house.session.raised[2] == 2
    assert house.invoices() == {"Ed": 44, "Cy": 16}
    assert house.summary() == "31.12.2025: 2 of 3 lots, 55"


def test_break_before_the_first_bid() -> None:
    house = House.take_up(House.open(EVE, ["Cy"], {4: 0}).put_away())
    house.session.bid(4, 1, 1)
    assert house.sold() == {4: (1, 1)}
    assert house.keenest() == ["Cy 1"]


def test_clerk_asks_for_more_than_was_bid_before_the_break() -> None:
    house = House.take_up(new_house().put_away())
    assert [house.asking(lot) for lot in (1, 2, 3)] == [41, 6, 5]


def test_mappings_of_every_kind_keep_their_keys() -> None:
    session = new_house().session
    assert from_text(to_text(session.raised)) == {3: 2, 2: 2}
    assert from_text(to_text(session.bids))[1] == [(3, 20), (2, 30), (3, 40)]
    assert from_text(to_text({(1, 2): [3], 4: {5: 6}})) == {(1, 2): [3], 4: {5: 6}}


def test_mapping_inside_a_mapping_keeps_its_keys() -> None:
    state = from_text(to_text(new_house().session.state()))
    assert sorted(state["raised"].items()) == [(2, 2), (3, 2)]
    assert sorted(state["reserves"].items()) == [(1, 10), (2, 10), (3, 10)]


def test_plain_values_stay_as_they_are() -> None:
    assert from_text(to_text([True, 1, 1.5, "1", None, (False,)])) == [True, 1, 1.5, "1", None, (False,)]
