import threading

import pytest

from tillbook.book import CashBook
from tillbook.gate import Gate, GateTimeout


def run_behind(gate, queued, work, name="counter"):
    """Run ``work`` in a thread that has had to wait for the gate."""
    counter = threading.Thread(target=work, name=name)
    with gate.inside(1):
        queued.clear()
        counter.start()
        assert queued.wait(10)
    counter.join(10)


def attempt(outcome, work):
    try:
        work()
        outcome.append("done")
    except GateTimeout:
        outcome.append("timeout")


def test_a_counter_that_waited_can_empty_all_tills():
    queued = threading.Event()
    book = CashBook(Gate(on_wait=queued.set), patience_seconds=0.5)
    book.post("front", 250, "float")
    book.post("bar", 750, "float")
    outcome = []
    run_behind(
        book.gate,
        queued,
        lambda: attempt(outcome, lambda: outcome.append(book.empty_into("safe", ["front", "bar"]))),
    )
    assert outcome == [1_000, "done"]
    assert book.balance("safe") == 1_000


def test_a_thread_that_waited_may_come_in_three_times():
    queued = threading.Event()
    gate = Gate(on_wait=queued.set)
    outcome = []

    def work():
        with gate.inside(5):
            attempt(outcome, lambda: gate.enter(0.3))
            attempt(outcome, lambda: gate.enter(0.3))
            for _ in range(outcome.count("done")):
                gate.leave()

    run_behind(gate, queued, work)
    assert outcome == ["done", "done"]
    gate.enter(0.3)
    gate.leave()
    assert gate.waiting() == []


def test_the_gate_stays_shut_until_a_waiter_has_left_as_often_as_it_came():
    queued = threading.Event()
    gate = Gate(on_wait=queued.set)
    twice_inside = threading.Event()
    go_on = threading.Event()

    def work():
        with gate.inside(5):
            try:
                gate.enter(0.3)
                gate.leave()
            except GateTimeout:
                pass
            twice_inside.set()
            go_on.wait(10)

    counter = threading.Thread(target=work)
    with gate.inside(1):
        counter.start()
        assert queued.wait(10)
    assert twice_inside.wait(10)
    with pytest.raises(GateTimeout):
        gate.enter(0.05)
    go_on.set()
    counter.join(10)
    gate.enter(1)
    gate.leave()
    assert gate.waiting() == []


def test_threads_of_one_name_are_kept_apart():
    gate = Gate()
    outcome = []
    inside = threading.Event()
    go_on = threading.Event()

    def first():
        with gate.inside(1):
            inside.set()
            go_on.wait(10)

    def second():
        attempt(outcome, lambda: gate.enter(0.05))

    threads = [threading.Thread(target=first, name="till"), threading.Thread(target=second, name="till")]
    threads[0].start()
    assert inside.wait(10)
    threads[1].start()
    threads[1].join(10)
    go_on.set()
    threads[0].join(10)
    assert outcome == ["timeout"]


def test_those_who_wait_are_served_in_the_order_in_which_they_came():
    queued = threading.Event()
    gate = Gate(on_wait=queued.set)
    served = []

    def work():
        with gate.inside(10):
            served.append(threading.current_thread().name)

    names = ["anna", "bela", "cora"]
    threads = [threading.Thread(target=work, name=name) for name in names]
    with gate.inside(1):
        for thread in threads:
            queued.clear()
            thread.start()
            assert queued.wait(10)
        assert gate.waiting() == ["anna", "bela", "cora"]
    for thread in threads:
        thread.join(10)
    assert served == ["anna", "bela", "cora"]


def test_a_note_in_the_middle_of_a_move_is_posted_by_a_waiter_too():
    queued = threading.Event()
    book = CashBook(Gate(on_wait=queued.set), patience_seconds=0.3)
    book.post("front", 100, "float")
    outcome = []

    def work():
        with book.gate.inside(5):
            attempt(outcome, lambda: book.post("front", 20, "found under the counter"))

    run_behind(book.gate, queued, work)
    assert outcome == ["done"]
    assert book.balance("front") == 120
