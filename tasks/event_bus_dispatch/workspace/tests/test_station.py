from parcels.depot import Place
from parcels.listeners import Station

LANES = {"Oldtown": "A", "Harbour": "B"}


def test_the_board_counts_what_waits_on_each_lane():
    station = Station(LANES)
    station.depot.receive("P1", "Oldtown")
    station.depot.receive("P2", "Oldtown")
    station.depot.receive("P3", "Moor")
    station.depot.load("P2", "T9")
    assert station.board.waiting() == {"A": 1, "Z": 1}


def test_a_fragile_parcel_waits_on_its_lane_like_any_other():
    station = Station(LANES)
    station.depot.receive("P1", "Harbour", fragile=True)
    station.depot.receive("P2", "Harbour")
    assert station.inspector.flagged == ["P1"]
    assert station.board.waiting() == {"B": 2}


def test_fragile_parcels_are_flagged_once():
    station = Station(LANES)
    station.depot.receive("P1", "Oldtown")
    station.depot.receive("P2", "Oldtown", fragile=True)
    station.depot.hold("P2")
    assert station.inspector.flagged == ["P2"]
    assert station.audit.lines == ["received P1", "flagged P2", "received P2", "held P2"]


def test_a_customer_is_told_when_the_parcel_is_loaded():
    station = Station(LANES)
    station.notifier.expect("P1", "Ada")
    station.notifier.expect("P1", "Ben")
    station.depot.receive("P1", "Oldtown")
    station.depot.load("P1", "T4")
    station.depot.depart("T4")
    assert station.notifier.messages == ["Ben: P1 travels with T4"]
    assert station.places(Place.GONE, "P1") == ["P1"]


def test_the_day_begins_with_the_first_parcel():
    station = Station(LANES)
    station.depot.receive("P1", "Oldtown")
    station.depot.receive("P2", "Harbour")
    assert station.opening.first == "P1"
