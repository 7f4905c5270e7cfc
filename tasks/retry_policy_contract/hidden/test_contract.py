import pytest
from courier.clock import ManualClock
from courier.delivery import Courier, GaveUp, Loopback
from courier.policy import RetryPolicy


def give_up(policy, patience=None):
    clock = ManualClock()
    with pytest.raises(GaveUp) as caught:
        Courier(Loopback(away=99).send, policy, clock, patience=patience).deliver("anyone?")
    return (caught.value.tries, caught.value.seconds, list(clock.waits))


def test_waits_lie_between_the_tries():
    assert give_up(RetryPolicy(attempts=4, first_wait=2.0, growth=3.0)) == (4, 26.0, [2.0, 6.0, 18.0])


def test_single_attempt_waits_for_nothing():
    assert give_up(RetryPolicy(attempts=1, first_wait=9.0)) == (1, 0.0, [])


def test_two_attempts_wait_once():
    assert give_up(RetryPolicy(attempts=2, first_wait=9.0)) == (2, 9.0, [9.0])


def test_waits_of_a_policy():
    policy = RetryPolicy(attempts=5, first_wait=1.0, growth=2.0, longest_wait=6.0)

    assert list(policy.waits(lambda: 0.0)) == [1.0, 2.0, 4.0, 6.0]


def test_worst_case_counts_waits_between_tries():
    steady = RetryPolicy(attempts=3, first_wait=4.0, growth=1.0, spread=0.5)

    assert steady.worst_case() == 12.0
    assert RetryPolicy(attempts=1).worst_case() == 0
    assert RetryPolicy(attempts=4, first_wait=1.0, growth=10.0, longest_wait=50.0).worst_case() == 61.0


def test_patience_for_exactly_one_wait():
    policy = RetryPolicy(attempts=3, first_wait=2.0, growth=2.0)

    assert give_up(policy, patience=2.0) == (2, 2.0, [2.0])
    assert give_up(policy, patience=60.0) == (3, 6.0, [2.0, 4.0])


def test_last_try_may_succeed():
    service = Loopback(away=2)
    courier = Courier(service.send, RetryPolicy(attempts=3, first_wait=1.0), ManualClock())

    receipt = courier.deliver("thanks")

    assert (receipt.answer, receipt.tries, receipt.seconds) == ("THANKS", 3, 3.0)


def test_outcomes_of_several_messages():
    service = Loopback(away=4)
    clock = ManualClock()
    courier = Courier(service.send, RetryPolicy(attempts=2, first_wait=3.0), clock)

    outcomes = courier.deliver_all(["a", "", "c", "d"])

    assert outcomes == {"a": "gave up", "": "refused", "c": "C", "d": "D"}
    assert (clock.now(), service.calls) == (6.0, 6)
