"""Every gate with an episode that it refuses and a twin beside it that passes all of them."""

from collections.abc import Sequence

import pytest
from pdb_agent.episode import Episode, ExitReason
from pdb_agent.messages import CallStatus
from pdb_trainer.corpus.gates import Gate, conduct_of, rejections
from pdb_trainer.corpus.settings import GateSettings

from tests.pdb_agent.episode_making import TEST, Act, debugging, done, edit, ended, episode, shell

READ = Act(name="read_file", arguments={"path": "shop/cart.py"}, facts={"path": "shop/cart.py"})
FAILING = Act(name="run_tests", facts={"tests": [], "passed": [], "failed": [TEST]})
PASSING = Act(name="run_tests", facts={"tests": [], "passed": [TEST], "failed": []})
START = debugging("start_debugger", "session dbg-1", target=TEST)
STOP = Act(name="stop_debugger", text="session dbg-1 closed")
GOOD = (FAILING, READ, edit(), PASSING, done())


def look(number: int = 0) -> Act:
    return debugging("run_expression", str(number), code=f"value + {number}")


def step(line: int = 0) -> Act:
    return debugging("step_over", f"line {line}")


def of(*acts: Act) -> Episode:
    """One call in each turn."""
    return episode([[one] for one in acts], split="train")


def refused(made: Episode, settings: GateSettings | None = None) -> list[str]:
    found = rejections(conduct_of(made), settings or GateSettings())
    assert all(one.detail for one in found)
    return [one.gate.name for one in found]


def debugged(*inside: Act) -> Sequence[Act]:
    """A good episode with debugger calls before its edit."""
    return (FAILING, READ, START, *inside, STOP, edit(), PASSING, done())


def test_a_careful_episode_passes_every_gate():
    assert refused(of(*GOOD)) == []
    assert refused(of(*debugged(look()))) == []


def test_more_than_three_fifths_of_calls_to_the_debugger_is_a_treadmill():
    at_bound = [FAILING, READ, START, *[look(n) for n in range(4)], STOP, edit(), PASSING]  # 6 of 10
    late = GateSettings(first_source_edit=1.0)
    assert refused(of(*at_bound), late) == []
    above = [FAILING, READ, START, *[look(n) for n in range(5)], STOP, edit(), PASSING]  # 7 of 11
    assert refused(of(*above), late) == ["DEBUGGER_SHARE"]


def test_thirteen_debugger_calls_in_a_row_are_one_too_many():
    others = [FAILING, READ, *[shell(f"cat notes{n}.txt") for n in range(6)]]
    end = [edit(), PASSING, done()]

    def run_of(count: int) -> list[Act]:
        return [*others, START, *[look(n) for n in range(count - 2)], STOP, *end, shell("ls"), shell("ls -l")]

    late = GateSettings(first_source_edit=1.0, debugger_share=1.0)
    assert refused(of(*run_of(12)), late) == []
    assert refused(of(*run_of(13)), late) == ["DEBUGGER_STREAK"]


def test_an_edit_after_more_than_three_quarters_of_the_turns_is_late():
    def edits_in(turn: int, turns: int) -> list[Act]:
        before = [READ, *[shell(f"cat notes{n}.txt") for n in range(turn - 2)]]
        after = [PASSING, *[shell(f"ls {n}") for n in range(turns - turn - 2)], done()]
        return [*before, edit(), *after]

    assert refused(of(*edits_in(10, 12))) == []  # 9 turns of 12 are over before it
    assert refused(of(*edits_in(11, 13))) == ["LATE_EDIT"]  # 10 of 13


def test_a_last_edit_that_no_run_follows_was_never_retested():
    assert refused(of(FAILING, READ, edit(), PASSING, edit(gone="b", new="c"), done())) == ["NO_RETEST"]
    assert refused(of(FAILING, READ, edit(), edit(gone="b", new="c"), PASSING, done())) == []


def test_a_run_of_other_tests_does_not_retest():
    other = Act(
        name="run_tests",
        facts={"tests": ["tests/test_other.py"], "passed": ["tests/test_other.py::test_x"], "failed": []},
    )
    assert refused(of(FAILING, READ, edit(), other, done())) == ["NO_RETEST"]


@pytest.mark.parametrize(
    "acts",
    [
        (FAILING, READ, look(), START, STOP, edit(), PASSING, done()),  # no session is open yet
        (FAILING, READ, START, STOP, look(), edit(), PASSING, done()),  # it is closed
        debugged(
            debugging("continue_execution", "the program exited", facts={"state": "exited"}),
            debugging("step_over", "", status=CallStatus.FAILED),
        ),
    ],
    ids=["before a session", "after a session", "after the program's end"],
)
def test_a_debugger_call_without_its_program_is_out_of_order(acts: Sequence[Act]):
    assert refused(of(*acts)) == ["ORDER"]


def test_what_makes_sense_after_a_programs_end_is_in_order():
    ran = debugging("continue_execution", "the program exited", facts={"state": "exited"})
    again = debugging("restart_debugger", "stopped at its first line")
    report = debugging("where_am_i", "the program exited", facts={"state": "exited"})
    assert refused(of(*debugged(ran, report, again, look()))) == []


def test_an_edit_that_is_refused_for_want_of_reading_is_out_of_order():
    refusal = Act(
        name="Edit",
        arguments={"file_path": "shop/cart.py", "old_string": "a", "new_string": "b"},
        text="Read shop/cart.py before you edit it.",
        status=CallStatus.FAILED,
    )
    missing = Act(name="Edit", text="old_string is not in it", status=CallStatus.FAILED)
    assert refused(of(FAILING, refusal, READ, edit(), PASSING, done())) == ["ORDER"]
    assert refused(of(FAILING, READ, missing, edit(), PASSING, done())) == []


def test_three_steps_without_an_inspection_are_blind():
    assert refused(of(*debugged(step(1), step(2), step(3), look()))) == ["BLIND_STEPPING"]
    assert refused(of(*debugged(step(1), step(2), look(), step(3)), shell("ls"))) == []


def test_the_same_call_three_times_with_the_same_answer_is_a_loop():
    listing = shell("ls", "cart.py")
    assert refused(of(FAILING, listing, listing, listing, READ, edit(), PASSING, done())) == ["REPEATS"]
    assert refused(of(FAILING, listing, listing, READ, edit(), PASSING, done())) == []
    changing = [shell("ls", f"cart.py {n}") for n in range(3)]
    assert refused(of(FAILING, *changing, READ, edit(), PASSING, done())) == []


def test_a_file_is_read_before_it_is_edited():
    assert refused(of(FAILING, edit(), READ, PASSING, done())) == ["UNREAD_EDIT"]
    other = Act(name="read_file", arguments={"path": "shop/pricing.py"}, facts={"path": "shop/pricing.py"})
    assert refused(of(FAILING, other, edit(), PASSING, done())) == ["UNREAD_EDIT"]


def test_an_inspection_has_to_be_followed_by_an_edit_or_a_run():
    idle = of(FAILING, READ, edit(), PASSING, START, look(), STOP, done())
    used = of(FAILING, READ, edit(), START, look(), STOP, PASSING, done())
    assert refused(idle) == ["UNUSED_OBSERVATION"]
    assert refused(used) == []


def test_the_last_run_before_done_has_to_pass():
    assert refused(of(FAILING, READ, edit(), FAILING, done())) == ["UNVERIFIED_END"]
    assert refused(of(FAILING, READ, edit(), FAILING, edit(gone="b", new="c"), PASSING, done())) == []


def test_an_end_by_the_turn_cap_claims_nothing():
    turns = [[one] for one in (FAILING, READ, edit(), FAILING)]
    capped = episode(turns, split="train", end=ended(solved=True, turns=4, reason=ExitReason.TURN_CAP))
    assert refused(capped) == []


def test_an_episode_is_refused_by_every_gate_that_it_does_not_pass():
    wild = of(look(), step(1), step(2), step(3), edit(), done())
    assert refused(wild) == [
        "DEBUGGER_SHARE",
        "NO_RETEST",
        "ORDER",
        "BLIND_STEPPING",
        "UNREAD_EDIT",
        "UNVERIFIED_END",
    ]


def test_thresholds_are_settings():
    lenient = GateSettings(
        debugger_share=1.0,
        blind_steps=4,
        require_final_verify=False,
        require_order=False,
        require_read=False,
        require_passing_run=False,
    )
    assert refused(of(look(), step(1), step(2), step(3), edit(), done()), lenient) == []
    assert len(Gate) == 10
