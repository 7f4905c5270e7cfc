from parcels.bus import Bus
from parcels.events import Held, ParcelEvent, Received, Released
from parcels.listeners import Station


def test_everybody_hears_an_event_during_which_one_left_and_another_was_published():
    bus = Bus()
    heard: list[str] = []
    leaving = bus.subscribe(ParcelEvent, lambda event: leaving.cancel(), priority=1)

    def answer(event: ParcelEvent) -> None:
        if isinstance(event, Held):
            bus.publish(Released(event.parcel))

    bus.subscribe(ParcelEvent, answer, priority=2)
    bus.subscribe(ParcelEvent, lambda event: heard.append("board " + event.label()), priority=3)
    bus.subscribe(ParcelEvent, lambda event: heard.append("log " + event.label()), priority=4)
    bus.publish(Held("P1"))
    assert heard == ["board released P1", "log released P1", "board held P1", "log held P1"]


def test_a_cancelled_listener_does_not_hear_the_event_being_delivered():
    bus = Bus()
    heard: list[str] = []
    later = bus.subscribe(Held, lambda event: heard.append("later"), priority=60)
    bus.subscribe(Held, lambda event: later.cancel(), priority=10)
    bus.subscribe(Held, lambda event: heard.append("last"), priority=70)
    assert bus.publish(Held("P1")) == 2
    assert heard == ["last"]


def test_a_listener_cancelled_after_an_inner_event_does_not_hear_the_outer_one():
    bus = Bus()
    heard: list[str] = []
    later = bus.subscribe(ParcelEvent, lambda event: heard.append("later " + event.label()), priority=60)

    def answer(event: ParcelEvent) -> None:
        if isinstance(event, Held):
            bus.publish(Released(event.parcel))
            later.cancel()

    bus.subscribe(ParcelEvent, answer, priority=10)
    bus.subscribe(ParcelEvent, lambda event: heard.append("last " + event.label()), priority=70)
    bus.publish(Held("P1"))
    assert heard == ["later released P1", "last released P1", "last held P1"]


def test_nobody_hears_an_event_twice_when_a_listener_comes_during_it():
    bus = Bus()
    heard: list[str] = []

    def answer(event: ParcelEvent) -> None:
        heard.append("answer " + event.label())
        if heard == ["answer received P1"]:
            bus.subscribe(ParcelEvent, lambda event: heard.append("new " + event.label()), priority=1)
            bus.publish(Held(event.parcel))

    bus.subscribe(ParcelEvent, answer, priority=2)
    bus.publish(Received("P1", "A"))
    bus.publish(Released("P1"))
    assert heard == ["answer received P1", "answer held P1", "new released P1", "answer released P1"]


def test_a_listener_that_comes_waits_until_the_outer_delivery_has_ended():
    bus = Bus()
    heard: list[str] = []

    def answer(event: ParcelEvent) -> None:
        if isinstance(event, Received) and not heard:
            bus.subscribe(ParcelEvent, lambda event: heard.append(event.label()), priority=90)
            bus.publish(Held(event.parcel))
            bus.publish(Released(event.parcel))

    bus.subscribe(ParcelEvent, answer)
    bus.publish(Received("P1", "A"))
    bus.publish(Held("P2"))
    assert heard == ["held P2"]


def test_the_first_fragile_parcel_of_the_day_can_be_loaded_and_is_counted_off():
    station = Station({"Oldtown": "A"})
    station.depot.receive("P1", "Oldtown", fragile=True)
    station.depot.receive("P2", "Oldtown", fragile=True)
    station.depot.load("P1", "T1")
    assert station.board.waiting() == {"A": 1}
    assert station.audit.lines == ["flagged P1", "received P1", "flagged P2", "received P2", "loaded P1"]


def test_a_customer_is_told_of_a_parcel_that_is_first_met_when_it_opens_the_day():
    station = Station({})
    station.notifier.expect("P1", "Ada")
    station.depot.receive("P1", "Moor", fragile=True)
    station.depot.load("P1", "T2")
    assert station.notifier.messages == ["Ada: P1 travels with T2"]
    assert station.bus.recent() == ["received P1", "flagged P1", "loaded P1"]
    assert len(station.bus.topic(ParcelEvent)) == 2
