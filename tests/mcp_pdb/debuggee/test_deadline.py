"""Code that takes too long is ended, and nothing else is."""

import threading
import time
from _thread import get_ident
from contextlib import suppress

import pytest
from mcp_pdb.debuggee.deadline import Deadline, Watchdog


@pytest.fixture
def watchdog() -> Watchdog:
    return Watchdog(get_ident())


def spin() -> None:
    while True:
        pass


def test_code_within_its_time_returns_its_value(watchdog):
    assert watchdog.run(lambda: 42, 5) == 42


@pytest.mark.parametrize("endless", [spin, lambda: time.sleep(60), lambda: threading.Event().wait(60)])
def test_the_main_thread_is_ended_in_a_loop_a_sleep_and_a_wait(watchdog, endless):
    with pytest.raises(Deadline):
        watchdog.run(endless, 0.1)


def test_code_that_swallows_the_deadline_is_ended_again(watchdog):
    def stubborn() -> None:
        for _ in range(3):
            try:
                spin()
            except Deadline:
                pass

    assert watchdog.run(stubborn, 0.1) is None


def test_another_thread_is_ended_in_a_loop(watchdog):
    outcomes: list[str] = []

    def work() -> None:
        try:
            watchdog.run(spin, 0.1)
        except Deadline:
            outcomes.append("ended")

    thread = threading.Thread(target=work)
    thread.start()
    thread.join(10)
    assert outcomes == ["ended"]


def test_a_call_that_cannot_be_ended_is_told(watchdog):
    told = threading.Event()
    lock = threading.Lock()
    lock.acquire()

    def work() -> None:
        with suppress(Deadline):
            watchdog.run(lambda: lock.acquire(timeout=30), 0.1, told.set)

    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    assert told.wait(10)
    lock.release()
    thread.join(10)


def test_light_code_is_ended_too_and_leaves_the_next_alone(watchdog):
    watchdog.expect_light(0.1)
    with pytest.raises(Deadline):
        watchdog.run_light(spin)
    assert watchdog.run_light(lambda value: value + 1, 1) == 2
