from parcels.bus import Bus
from parcels.events import Held, ParcelEvent, Released


def test_listeners_hear_by_priority_and_then_by_age():
    bus = Bus()
    heard: list[str] = []
    bus.subscribe(Held, lambda event: heard.append("late"), priority=80)
    bus.subscribe(Held, lambda event: heard.append("first"))
    bus.subscribe(Held, lambda event: heard.append("second"))
    bus.subscribe(Held, lambda event: heard.append("early"), priority=5)
    assert bus.publish(Held("P1")) == 4
    assert heard == ["early", "first", "second", "late"]


def test_a_handler_that_raises_does_not_silence_the_others():
    bus = Bus()
    heard: list[str] = []

    def fail(event: Held) -> None:
        raise LookupError("no such shelf")

    bus.subscribe(Held, fail, priority=1)
    bus.subscribe(Held, lambda event: heard.append(event.parcel))
    bus.publish(Held("P1"))
    assert heard == ["P1"]
    assert [failure.message for failure in bus.failures] == ["LookupError: no such shelf"]


def test_a_listener_of_the_general_kind_hears_the_special_ones():
    bus = Bus()
    heard: list[str] = []
    bus.subscribe(ParcelEvent, lambda event: heard.append(event.label()))
    bus.publish(Held("P1"))
    bus.publish(Released("P1"))
    assert heard == ["held P1", "released P1"]


def test_a_cancelled_listener_hears_no_further_event():
    bus = Bus()
    heard: list[str] = []
    listening = bus.subscribe(Held, lambda event: heard.append(event.parcel))
    bus.publish(Held("P1"))
    listening.cancel()
    listening.cancel()
    assert bus.publish(Held("P2")) == 0
    assert heard == ["P1"]
