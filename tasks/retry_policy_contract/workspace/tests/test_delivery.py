import pytest
from courier.clock import ManualClock
from courier.delivery import Courier, GaveUp, Loopback
from courier.policy import RetryPolicy

STEADY = RetryPolicy(attempts=3, first_wait=5.0, growth=1.0)


def test_message_goes_through_at_once():
    clock = ManualClock()

    receipt = Courier(Loopback(0).send, STEADY, clock).deliver("hello")

    assert (receipt.answer, receipt.tries, clock.waits) == ("HELLO", 1, [])


def test_message_goes_through_when_the_service_is_back():
    receipt = Courier(Loopback(2).send, STEADY, ManualClock()).deliver("hello")

    assert (receipt.tries, receipt.seconds) == (3, 10.0)


def test_gives_up_when_all_attempts_are_used():
    service = Loopback(10)
    courier = Courier(service.send, STEADY, ManualClock())

    with pytest.raises(GaveUp):
        courier.deliver("hello")

    assert service.calls == 3


def test_refused_message_is_not_tried_again():
    service = Loopback(0)

    outcomes = Courier(service.send, STEADY, ManualClock()).deliver_all(["", "a"])

    assert (outcomes, service.calls) == ({"": "refused", "a": "A"}, 2)


def test_patience_ends_before_the_attempts():
    service = Loopback(10)
    courier = Courier(service.send, STEADY, ManualClock(), patience=7.0)

    with pytest.raises(GaveUp) as caught:
        courier.deliver("hello")

    assert str(caught.value) == "Gave up after 2 tries in 5 seconds."


def test_spread_stays_below_the_longest_wait():
    policy = RetryPolicy(attempts=4, first_wait=20.0, growth=1.0, longest_wait=25.0, spread=0.5)

    assert next(policy.waits(lambda: 0.25)) == 22.5
    assert next(policy.waits(lambda: 1.0)) == 25.0
