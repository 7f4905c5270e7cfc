"""Each judge says stopped, not stopped and cannot tell where it should."""

import os
from dataclasses import replace

import pytest
from pdb_agent.sandbox import CommandResult, Limits
from pdb_agent.sandboxes.attacks import judging
from pdb_agent.sandboxes.attacks.judging import CannotTell, NotStopped, Observed, Stopped
from pdb_agent.sandboxes.attacks.scene import set_scene

ENDED = CommandResult(
    exit_code=0,
    output="",
    omitted_bytes=0,
    timed_out=False,
    flooded=False,
    out_of_memory=False,
    seconds=0.1,
)
SILENT = Observed(
    limits=Limits(processes=64),
    timeout_seconds=5.0,
    report={},
    result=ENDED,
    ended_because=None,
    is_hung=False,
    is_alive=True,
    fetched={},
    inodes_lost=0,
    strays=(),
)


def result(**changes):
    return replace(ENDED, **changes)


def observed(report=None, **changes):
    return replace(SILENT, report=report or {}, **changes)


@pytest.fixture(scope="module")
def scene():
    with set_scene(os.geteuid()) as made:
        yield made


COUNTED = judging.bounded("count", "processes", lambda limits: limits.processes)


@pytest.mark.parametrize(
    ("judge", "seen", "expected"),
    [
        (judging.refused, observed({"done": [], "refused": {"x": "no"}}), Stopped),
        (judging.refused, observed({"done": ["x"], "refused": {}}), NotStopped),
        (judging.refused, observed(), CannotTell),
        (judging.refused, observed(result=None, is_hung=True), NotStopped),
        (COUNTED, observed({"count": 64}), Stopped),
        (COUNTED, observed({"count": 65}), NotStopped),
        (COUNTED, observed({"count": 300}, result=result(out_of_memory=True)), Stopped),
        (COUNTED, observed(), CannotTell),
        (judging.no_inodes_lost, observed({"count": 1000}, inodes_lost=3), Stopped),
        (judging.no_inodes_lost, observed({"count": 1000}, inodes_lost=990), NotStopped),
        (judging.flooded, observed(result=result(flooded=True)), Stopped),
        (judging.flooded, observed(result=result(flooded=False)), NotStopped),
        (judging.ended_in_time, observed(result=result(exit_code=-9, seconds=2.0)), Stopped),
        (judging.ended_in_time, observed(result=result(exit_code=-9, seconds=9.0)), NotStopped),
        (judging.ended_in_time, observed(result=result(exit_code=0)), NotStopped),
        (judging.nothing_left, observed({"ready": True}), Stopped),
        (judging.nothing_left, observed(), CannotTell),
        (judging.other_accounts, observed({"digest": "", "stopped_by": "no"}), Stopped),
        (judging.no_strays, observed({"done": [], "refused": {"x": "no"}}), Stopped),
        (judging.no_strays, observed({"done": ["x"], "refused": {}}, strays=("/etc/x",)), NotStopped),
        (judging.no_key_fetched, observed({"done": ["link"]}, fetched={"link.py": None}), Stopped),
        (judging.unreached("tcp"), observed({"done": ["TCP"], "refused": {}}), Stopped),
        (judging.victim_untouched, observed({"done": [], "refused": {"kill": "no"}}), Stopped),
        (judging.key_untouched, observed({"done": ["chmod"], "refused": {}}), Stopped),
        (judging.agent_held, observed(ended_because="it was killed"), Stopped),
        (judging.agent_held, observed(is_alive=False), NotStopped),
    ],
)
def test_a_judge_tells_by_what_was_seen(judge, seen, expected, scene):
    assert isinstance(judge(seen, scene), expected)


def test_the_hosts_own_list_of_accounts_is_recognised(scene):
    seen = observed({"digest": scene.accounts_digest(), "stopped_by": ""})
    assert isinstance(judging.other_accounts(seen, scene), NotStopped)


def test_the_key_in_a_fetched_file_is_recognised(scene):
    seen = observed({"done": ["link"]}, fetched={"link.py": scene.secret.encode()})
    assert isinstance(judging.no_key_fetched(seen, scene), NotStopped)


def test_a_later_report_adds_to_an_earlier_one_and_half_a_line_is_left_out():
    output = 'noise\nREPORT {"mb": 8}\nREPORT {"mb": 16, "by": "x"}\nREPORT {"mb": 2'
    assert judging.read_report(output) == {"mb": 16, "by": "x"}
