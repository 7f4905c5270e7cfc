import threading

import pytest

from tillbook.book import CashBook
from tillbook.gate import Gate, GateTimeout


def test_move_carries_money_and_notes_both_sides():
    book = CashBook()
    book.post("front", 5_000, "float")
    book.move("front", "bar", 1_200)
    assert (book.balance("front"), book.balance("bar")) == (3_800, 1_200)
    assert [entry.note for entry in book.entries] == ["float", "to bar", "from front"]


def test_emptying_tills_carries_all_of_it_to_the_safe():
    book = CashBook()
    book.post("front", 700, "float")
    book.post("bar", 300, "float")
    assert book.empty_into("safe", ["front", "bar"]) == 1_000
    assert book.balance("safe") == 1_000


def test_a_till_cannot_go_below_zero():
    book = CashBook()
    with pytest.raises(ValueError):
        book.move("front", "bar", 1)
    assert book.entries == []


def test_a_counter_outside_gives_up_while_another_is_inside():
    gate = Gate()
    raised = []

    def second_counter():
        try:
            gate.enter(0.05)
        except GateTimeout:
            raised.append("timeout")

    with gate.inside(1):
        counter = threading.Thread(target=second_counter)
        counter.start()
        counter.join(10)
    assert raised == ["timeout"]
    assert gate.waiting() == []


def test_a_counter_that_waited_can_move_money():
    queued = threading.Event()
    book = CashBook(Gate(on_wait=queued.set), patience_seconds=0.5)
    book.post("front", 900, "float")
    outcome = []

    def second_counter():
        try:
            book.move("front", "bar", 400)
            outcome.append("moved")
        except GateTimeout as error:
            outcome.append(str(error))

    counter = threading.Thread(target=second_counter)
    with book.gate.inside(1):
        counter.start()
        assert queued.wait(10)
    counter.join(10)
    assert outcome == ["moved"]
    assert book.balance("bar") == 400
