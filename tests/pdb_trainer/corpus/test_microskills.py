"""Where a moment of skill begins and ends, and what of it is trained."""

from collections.abc import Sequence

from pdb_agent.episode import ExitReason
from pdb_agent.messages import CallStatus
from pdb_trainer.corpus.gates import conduct_of
from pdb_trainer.corpus.microskills import moments
from pdb_trainer.corpus.settings import SKILLS, Skill

from tests.pdb_agent.episode_making import TEST, Act, act, debugging, done, edit, ended, episode, shell
from tests.pdb_trainer.corpus.corpus_making import FAILING, GOOD, PASSING, READ

START = debugging("start_debugger", "session dbg-1", target=TEST)
BREAK = debugging("add_breakpoint", "breakpoint 1 at shop/cart.py:1", at="shop/cart.py:1")
RUN = debugging("continue_execution", "breakpoint 1", facts={"reason": "breakpoint", "breakpoint_ids": [1]})
LOOK = debugging("run_expression", "7", code="total")
STEP = debugging("step_over", "line 2")
STOP = act("stop_debugger", "closed")
REFUSED_EDIT = Act(
    name="edit_file",
    arguments={"path": "shop/cart.py", "old": "x", "new": "y"},
    text="x is not in shop/cart.py",
    status=CallStatus.FAILED,
)


def turns_of(skill: Skill, *acts: Act) -> list[int]:
    """Turns, from 1, that are trained."""
    return found(skill, [[one] for one in acts])


def found(skill: Skill, turns: Sequence[Sequence[Act]], reason: ExitReason = ExitReason.DONE) -> list[int]:
    made = episode(turns, end=ended(solved=True, turns=len(turns), reason=reason))
    (moment,) = [*moments(conduct_of(made), [skill])] or [None]
    if moment is None:
        return []
    assert moment.last == max(moment.replies)
    return sorted(reply + 1 for reply in moment.replies)


def test_reading_and_then_changing_a_file_is_trained_without_what_lies_between():
    acts = (FAILING, READ, shell("ls"), edit(), PASSING, done())
    assert turns_of("read_before_edit", *acts) == [2, 4]


def test_the_last_reading_before_the_change_counts():
    assert turns_of("read_before_edit", READ, READ, edit(), PASSING, done()) == [2, 3]


def test_a_change_of_a_file_that_was_not_read_shows_no_reading():
    other = Act(name="read_file", arguments={"path": "shop/pricing.py"}, facts={"path": "shop/pricing.py"})
    assert turns_of("read_before_edit", other, edit(), READ, edit(gone="b", new="c"), done()) == []


def test_reading_and_changing_in_one_reply_is_not_reading_first():
    assert found("read_before_edit", [[READ, edit()], [PASSING], [done()]]) == []


def test_a_breakpoint_that_stops_and_a_look_at_a_value_are_debugger_discipline():
    acts = (FAILING, READ, START, BREAK, RUN, LOOK, LOOK, STOP, edit(), PASSING, done())
    assert turns_of("debugger_discipline", *acts) == [3, 4, 5, 6]


def test_steps_before_the_look_are_no_discipline():
    acts = (FAILING, READ, START, BREAK, RUN, STEP, LOOK, STOP, edit(), PASSING, done())
    assert turns_of("debugger_discipline", *acts) == []


def test_a_look_without_a_breakpoint_is_no_discipline():
    assert turns_of("debugger_discipline", READ, START, LOOK, STOP, edit(), PASSING, done()) == []


def test_a_look_that_no_edit_follows_is_no_discipline():
    acts = (READ, edit(), START, BREAK, RUN, LOOK, STOP, PASSING, done())
    assert turns_of("debugger_discipline", *acts) == []


def test_a_session_that_other_calls_interrupt_is_no_discipline():
    acts = (READ, START, BREAK, shell("ls"), RUN, LOOK, STOP, edit(), PASSING, done())
    assert turns_of("debugger_discipline", *acts) == []


def test_the_second_session_shows_what_the_first_did_not():
    first, second = (START, LOOK, STOP), (START, BREAK, RUN, LOOK, STOP)
    assert turns_of("debugger_discipline", READ, *first, *second, edit(), PASSING, done()) == [5, 6, 7, 8]


def test_one_call_that_shows_values_at_a_stop_is_discipline_by_itself():
    table = debugging("investigate", "stop 1: line 1 in total\n  t = 7\n", breakpoints=["shop/cart.py:1"])
    missed = debugging("investigate", "the program never stopped", breakpoints=["shop/cart.py:9"])
    assert turns_of("debugger_discipline", READ, missed, table, edit(), PASSING, done()) == [3]


def test_the_passing_run_and_the_last_word_are_trained_together():
    assert turns_of("retest_before_done", *GOOD) == [4, 5]


def test_a_last_word_long_after_the_run_shows_nothing():
    assert turns_of("retest_before_done", FAILING, READ, edit(), PASSING, shell("ls"), done()) == []


def test_done_after_a_failing_run_shows_nothing():
    assert turns_of("retest_before_done", FAILING, READ, edit(), FAILING, done()) == []


def test_an_end_that_is_no_last_word_shows_nothing():
    turns = [[one] for one in (FAILING, READ, edit(), PASSING)]
    assert found("retest_before_done", turns, ExitReason.TURN_CAP) == []
    assert found("retest_before_done", turns, ExitReason.NO_CALL_END) == []  # it has the tool done


def test_the_replies_after_a_refused_edit_are_trained_and_the_edit_is_not():
    acts = (FAILING, READ, REFUSED_EDIT, READ, edit(), PASSING, done())
    assert turns_of("recover_from_failed_edit", *acts) == [4, 5]


def test_the_replies_after_an_edit_that_tests_show_to_be_wrong_are_trained():
    acts = (FAILING, READ, edit(), FAILING, edit(gone="b", new="c"), PASSING, done())
    assert turns_of("recover_from_failed_edit", *acts) == [4, 5]


def test_two_edits_that_belong_together_are_no_recovery():
    acts = (FAILING, READ, edit(), edit(gone="b", new="c"), PASSING, done())
    assert turns_of("recover_from_failed_edit", *acts) == []


def test_a_long_way_back_is_no_recovery():
    way = [shell(f"ls {n}") for n in range(4)]
    assert turns_of("recover_from_failed_edit", READ, REFUSED_EDIT, *way, edit(), PASSING, done()) == []


def test_only_the_skills_that_are_asked_for_are_looked_for():
    conduct = conduct_of(episode([[one] for one in GOOD]))
    assert [one.skill for one in moments(conduct, SKILLS)] == ["read_before_edit", "retest_before_done"]
    assert [*moments(conduct, ())] == []
