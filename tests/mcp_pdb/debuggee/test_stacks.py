"""A program that hangs is explained: every thread and task, where it is, what it waits for."""

import json
import subprocess
from pathlib import Path

import pytest
from mcp_pdb.debuggee import run_target, source_map

from tests.mcp_pdb.debuggee.conftest import LIMIT_SECONDS, ROOT, VERSIONS, target_python

PROGRAM = ROOT / "tests" / "programs" / "blocked_threads.py"


@pytest.fixture(scope="module", params=VERSIONS)
def told(request):
    """What is told of a program whose standard input stays open and silent."""
    command = [target_python(request.param), str(PROGRAM), str(Path(run_target.__file__).parent)]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        try:
            assert process.stdout is not None
            line = process.stdout.readline()
            process.wait(LIMIT_SECONDS)
        finally:
            process.kill()
        assert process.stderr is not None
        assert line, process.stderr.read()
    return json.loads(line)


@pytest.mark.parametrize(
    ("name", "waits_on"),
    [
        ("first", "lock `lock_b`, held by thread 'second' at blocked_threads.py:{second}"),
        ("second", "lock `account.lock`, held by thread 'first' at blocked_threads.py:{first}"),
        ("reenter", "lock `reentrant`, held by thread 'MainThread'"),
        ("sleeper", "time.sleep"),
        ("getter", "an item from an empty Queue"),
        ("putter", "room in a full Queue (maxsize 1)"),
        ("simple_getter", "an item from an empty SimpleQueue"),
        ("notified", "a notification of a Condition"),
        ("counted", "a Semaphore (value 0)"),
        ("party", "the other 2 parties of a Barrier"),
        ("joiner", "thread 'first' to end"),
        ("promised", "the result of a future"),
        ("receiver", "data from a socket"),
        ("reader", "standard input"),
        ("recurse", "an Event to be set"),
        ("loop", "its event loop, where no task is ready"),
        ("busy", None),
        ("awaiting", "asyncio.sleep"),
        ("iterating", "asyncio.sleep"),
        ("holder", "asyncio.sleep"),
        ("waiter", "a lock, held by task 'holder' at blocked_threads.py:{holder}"),
        ("queued", "an item from an empty Queue"),
        ("evented", "an Event to be set"),
        ("following", "task 'awaiting'"),
        ("forever", "a future that nothing has completed"),
    ],
)
def test_what_a_thread_or_task_waits_for_is_said(told, name, waits_on):
    lines = {
        "first": _line_of("with lock_b:"),
        "second": _line_of("account.lock.acquire()"),
        "holder": _line_of("await asyncio.sleep(1000)", 3),
    }
    assert told[name]["waits_on"] == (waits_on and waits_on.format(**lines))


def test_a_child_process_that_is_waited_for_is_named(told):
    assert told["parent"]["waits_on"].startswith("child process ")


def test_gathered_tasks_are_named(told):
    (gathering,) = [entry for entry in told.values() if "gathered" in (entry["waits_on"] or "")]
    assert gathering["waits_on"].startswith("8 of 8 gathered tasks: ")
    assert gathering["kind"] == "task"


def test_frames_are_the_users_with_recursion_collapsed(told):
    frames = told["recurse"]["frames"]
    assert [frame["is_user"] for frame in frames] == [False, True, True]
    assert [frame["repeated"] for frame in frames] == [1, 1, 40]
    assert frames[1]["source"] == "event.wait()"
    assert frames[1]["file"] == str(PROGRAM)


def test_a_tasks_frames_follow_what_it_awaits(told):
    functions = [frame["function"] for frame in told["awaiting"]["frames"]]
    assert functions == ["sleep", "leaf", "awaiting"]
    functions = [frame["function"] for frame in told["iterating"]["frames"]]
    assert functions == ["sleep", "stream", "iterating"]
    assert told["iterating"]["kind"] == "task"


def _line_of(text, occurrence=1):
    lines = source_map.read_lines(str(PROGRAM))
    return [number for number, line in enumerate(lines, 1) if line.strip() == text][occurrence - 1]
