from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from pdb_agent.behaviour import UNKNOWN_TOOL, ToolCounts, measure
from pdb_agent.debugger_sessions import Outcome
from pdb_agent.episode import Answered, Ended, Episode, EpisodeLog, ExitReason, read_episode
from pdb_agent.episode_steps import Gold, gold_of
from pdb_agent.loop import EpisodeSettings, run_episode
from pdb_agent.messages import CallStatus, ToolSpec
from pdb_agent.policies.oracle import OraclePolicy
from pdb_agent.policies.scripted import ScriptedPolicy, scripted_call
from pdb_agent.policy import Policy
from pdb_agent.task import Task
from pdb_agent.task_files import load_task
from pdb_agent.toolsets import Toolset, ToolsetName

from tests.pdb_agent.episode_making import (
    TEST,
    Act,
    act,
    debugging,
    done,
    edit,
    ended,
    episode,
    shell,
    unlocking,
)
from tests.pdb_agent.grading.cart import CART_TASK

ROOT = Path(__file__).parents[2]
CART_TEST = "tests/test_cart.py::test_two_items_are_added_up"
BAD_HABITS = (
    ("start_debugger", {"target": "tests/test_cart.py", "on_failure": "continue"}),
    ("add_breakpoint", {"at": "shop/cart.py:12"}),  # blank
    ("add_breakpoint", {"at": "shop/cart.py:400"}),  # past the end
    ("run_expression", {"code": "t"}),  # before it exists
    ("print_variable", {"path": "cart"}),
    ("continue_execution", {}),  # to the end without a stop
    ("stop_debugger", {}),
    ("start_debugger", {"target": CART_TEST}),
    ("add_breakpoint", {"at": "shop/cart.py:23"}),  # never reached from this test
    ("step_over", {}),
    ("step_over", {}),
    ("step_over", {}),
    ("examine_locals", {}),
    ("continue_execution", {}),
    ("continue_execution", {}),
    ("edit_file", {"path": "shop/cart.py", "old": "t = 0", "new": "t = 0"}),
    ("edit_file", {"path": "tests/test_cart.py", "old": "== 7", "new": "== 5"}),
    ("edit_file", {"path": "shop/cart.py", "old": "items[1:]", "new": "items[2:]"}),
    ("edit_file", {"path": "shop/cart.py", "old": "items[2:]", "new": "items[1:]"}),
    *[("read_file", {"path": "shop/pricing.py"})] * 8,  # stalling
)


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


async def run(task: Task, policy: Policy, path: Path, toolset: ToolsetName = ToolsetName.DEBUG) -> Episode:
    settings = EpisodeSettings(toolset=Toolset(name=toolset), arm=toolset)
    with EpisodeLog(path) as log:
        await run_episode(task, policy, settings, log)
    return read_episode(path)


@pytest.mark.anyio
@pytest.mark.slow
async def test_each_bad_habit_is_answered_with_a_way_on_and_counted(tmp_path: Path) -> None:
    turns = [[scripted_call(name, **arguments)] for name, arguments in BAD_HABITS]

    found = await run(CART_TASK, ScriptedPolicy(turns), tmp_path / "episode.jsonl")

    texts = [event.result.text for event in found.events if isinstance(event, Answered)]
    assert "moved" in texts[1]
    assert "line 12 is blank" in texts[1].lower()
    assert "the last executable line is 35" in texts[2]
    assert texts[3].startswith("NameError: name 't' is not defined")
    assert "examine_locals" in texts[4] or "did you mean" in texts[4]
    assert "never fired" in texts[5]
    assert "never reached this line" in texts[14]
    assert "give the text as it has to be" in texts[15]
    assert "change a file of that" in texts[16]

    use, discipline = measure(found).debugger, measure(found).discipline
    assert isinstance(found.ended, Ended)
    assert (found.ended.reason, found.ended.detail) == (ExitReason.GUARD, "repeat")
    assert measure(found).turns == 27
    assert measure(found).nudges == {"repeat": 1}
    assert (use.opened, use.first_open_turn, use.sessions, use.refused_starts) == (True, 1, 2, 0)
    assert (use.targeted_starts, use.sessions_with_stop, use.empty_runs) == (1, 0, 1)
    assert (use.calls, use.longest_run, use.session_calls) == (15, 15, (6, 7))
    assert {one: count for one, count in use.breakpoints.items() if count} == {
        Outcome.REJECTED: 1,
        Outcome.UNREACHED: 2,
    }
    assert (use.requests, use.wasted, use.moved) == (3, 3, 1)
    assert ([seen.turn for seen in use.inspections], use.undefined_reads) == ([13], 2)
    assert (use.blind_step_runs, use.longest_step_run) == (1, 3)
    assert measure(found).inspection_led_to_edit
    assert not measure(found).inspection_led_to_edit_strictly  # no frame of shop/cart.py was seen
    assert (discipline.first_edit_turn, discipline.effective_edits) == (18, 2)
    assert (discipline.reverted_edits, discipline.no_change_edits) == (1, 1)
    assert discipline.edited_after_reading is False
    assert discipline.reproduced_before_edit
    assert (discipline.test_runs, discipline.retested, discipline.false_done) == (0, False, False)
    assert (discipline.repeats, discipline.longest_repeat, discipline.test_edit_attempts) == (7, 8, 1)
    assert measure(found).tools["edit_file"] == ToolCounts(calls=4, malformed=0, failed=2, timed_out=0)
    assert measure(found).tools["add_breakpoint"] == ToolCounts(calls=3, malformed=0, failed=1, timed_out=0)


@pytest.mark.anyio
@pytest.mark.slow
async def test_the_oracle_looks_at_the_cause_before_it_edits(tmp_path: Path) -> None:
    task = load_task(ROOT / "tasks" / "reentrant_lock_owner")
    found = measure(await run(task, OraclePolicy(task), tmp_path / "episode.jsonl"), gold_of(task))

    assert (found.debugger.sessions, found.debugger.targeted_starts, found.debugger.wasted) == (1, 1, 0)
    assert found.witness_before_edit is True
    assert found.inspection_led_to_edit
    assert found.localisation is not None
    assert found.localisation.function_turn == 5
    assert found.discipline.edited_after_reading
    assert found.discipline.retested


@pytest.mark.anyio
@pytest.mark.slow
async def test_the_compound_tool_is_a_session_with_inspections(tmp_path: Path) -> None:
    task = load_task(ROOT / "tasks" / "reentrant_lock_owner")
    path = tmp_path / "episode.jsonl"
    found = measure(await run(task, OraclePolicy(task), path, ToolsetName.COMPOUND), gold_of(task))

    use = found.debugger
    assert (use.sessions, use.targeted_starts, use.sessions_with_stop, use.session_calls) == (1, 1, 1, (1,))
    assert (use.breakpoints[Outcome.HIT], len(use.inspections), use.empty_runs) == (1, 1, 0)
    assert found.witness_before_edit is True


@pytest.mark.anyio
@pytest.mark.slow
async def test_coding_tools_are_measured_by_what_they_do(tmp_path: Path) -> None:
    path = tmp_path / "episode.jsonl"
    found = measure(await run(CART_TASK, OraclePolicy(CART_TASK), path, ToolsetName.CODING_TOOLS))

    assert not found.debugger.opened
    assert found.discipline.reproduced_before_edit
    assert found.discipline.edited_after_reading
    assert found.discipline.effective_edits == 1
    assert found.discipline.retested
    assert found.discipline.test_runs == 2


def test_an_edit_by_a_shell_counts_as_an_edit_and_naming_a_file_as_reading_it() -> None:
    sed = Act(name="bash", arguments={"command": "sed -i s/a/b/ shop/cart.py"}, changes=("shop/cart.py",))

    found = measure(episode([[shell("sed -n 1,40p shop/cart.py")], [sed]])).discipline
    blind = measure(episode([[sed]])).discipline

    assert (found.effective_edits, found.first_edit_turn, found.edited_after_reading) == (1, 2, True)
    assert blind.edited_after_reading is False


def test_without_an_edit_there_is_nothing_to_say_of_edits() -> None:
    found = measure(episode([[shell("ls")]])).discipline

    assert found.first_edit_turn is None
    assert found.edited_after_reading is None
    assert found.retested is None


def test_a_test_run_counts_as_reproduction_only_before_the_edit_and_when_it_fails() -> None:
    failing, passing = shell("pytest", "1 failed in 1s", 1), shell("pytest", "3 passed in 1s")

    assert measure(episode([[failing], [edit()]])).discipline.reproduced_before_edit
    assert not measure(episode([[passing], [edit()]])).discipline.reproduced_before_edit
    assert not measure(episode([[edit()], [failing]])).discipline.reproduced_before_edit


def test_the_last_edit_has_to_be_followed_by_the_test_that_is_to_be_repaired() -> None:
    last = shell("pytest tests/test_cart.py", "3 passed in 1s")
    other = shell("pytest tests/test_other.py", "3 passed in 1s")

    assert measure(episode([[edit()], [last]])).discipline.retested is True
    assert measure(episode([[edit()], [other]])).discipline.retested is False
    assert measure(episode([[edit()], [last], [edit(gone="b", new="c")]])).discipline.retested is False


@pytest.mark.parametrize(
    ("reason", "visible", "false"),
    [
        (ExitReason.DONE, 1, True),
        (ExitReason.DONE, 2, False),
        (ExitReason.TURN_CAP, 1, False),
        (ExitReason.NO_CALL_END, 1, False),
    ],
)
def test_done_is_false_while_a_visible_test_fails(reason: ExitReason, visible: int, *, false: bool) -> None:
    end = ended(solved=False, turns=2, reason=reason, visible=visible)

    assert measure(episode([[edit()], [done()]], end=end)).discipline.false_done is false


def test_where_there_is_no_done_the_last_words_are_the_claim() -> None:
    end = ended(solved=False, turns=1, reason=ExitReason.NO_CALL_END, visible=1)
    tools = (ToolSpec(name="Bash", description="", schema={}),)

    assert measure(episode([[edit()]], end=end, tools=tools)).discipline.false_done


def test_an_edit_is_taken_back_by_its_mirror_image_alone() -> None:
    turns = [[edit(gone="a", new="b")], [edit(gone="b", new="a")], [edit(gone="a", new="c")]]
    other_file = [[edit(gone="a", new="b")], [edit("shop/pricing.py", gone="b", new="a")]]

    assert measure(episode(turns)).discipline.reverted_edits == 1
    assert measure(episode(other_file)).discipline.reverted_edits == 0


def test_equal_calls_with_equal_answers_are_repeats_whatever_their_running_time() -> None:
    first, second = shell("pytest", "1 failed in 0.12s", 1), shell("pytest", "1 failed in 0.31s", 1)
    other = shell("pytest", "2 failed in 0.12s", 1)

    found = measure(episode([[first], [second], [other], [first]])).discipline

    assert (found.repeats, found.longest_repeat) == (2, 2)


def test_attempts_on_tests_are_counted_however_they_are_made() -> None:
    by_shell = Act(name="bash", arguments={"command": "..."}, changes=("tests/test_cart.py",))
    scratch = Act(name="bash", arguments={"command": "..."}, changes=("repro.py",))
    refused = act("edit_file", status=CallStatus.FAILED, path="pytest.ini", old="a", new="b")

    assert measure(episode([[by_shell], [scratch], [refused]])).discipline.test_edit_attempts == 2


def test_malformed_failed_and_timed_out_calls_are_kept_apart() -> None:
    schema = {"type": "object", "properties": {"count": {"type": "integer"}}, "additionalProperties": False}
    tools = tuple(ToolSpec(name=name, description="", schema=schema) for name in ("step_over", "bash"))
    turns = [
        [act("step_over", status=CallStatus.FAILED, cout=1)],  # as servers refuse what does not fit
        [act("step_over", status=CallStatus.FAILED, count="many")],
        [act("step_over", status=CallStatus.FAILED, count="2")],
        [act("bash", status=CallStatus.TIMED_OUT)],
        [act("invented", status=CallStatus.MALFORMED)],
        [act("bash", status=CallStatus.NOT_RUN)],
    ]

    assert measure(episode(turns, tools=tools)).tools == {
        UNKNOWN_TOOL: ToolCounts(calls=1, malformed=1, failed=0, timed_out=0),
        "bash": ToolCounts(calls=1, malformed=0, failed=0, timed_out=1),
        "step_over": ToolCounts(calls=3, malformed=2, failed=1, timed_out=0),
    }


def test_the_debugger_is_there_from_the_start_or_from_the_turn_that_brought_it() -> None:
    turns = [[edit()], [edit()], [done()]]
    assert measure(episode(turns)).debugger_from_turn == 0
    assert measure(unlocking(turns, turn=2)).debugger_from_turn == 2
    never = tuple(ToolSpec(name=name, description="", schema={}) for name in ("bash", "done"))
    assert measure(episode(turns, tools=never)).debugger_from_turn is None


def test_calls_of_a_tool_that_appeared_are_judged_by_its_schema() -> None:
    schema = {"type": "object", "properties": {}, "additionalProperties": False}
    made = unlocking([[edit()], [act("add_breakpoint", status=CallStatus.FAILED, att="x")], [done()]], turn=1)
    tool = ToolSpec(name="add_breakpoint", description="", schema=schema)
    made = replace(made, started=replace(made.started, later_tools=(tool,)))
    assert measure(made).tools["add_breakpoint"] == ToolCounts(calls=1, malformed=1, failed=0, timed_out=0)


def start(*, facts: Mapping[str, object] | None = None, target: str = TEST, **arguments: Any) -> Act:
    shown = facts or {"reason": "entry"}
    return debugging("start_debugger", facts=shown, target=target, **arguments)


def exited(*verdicts: dict[str, object], name: str = "continue_execution") -> Act:
    facts = {"state": "exited", "reason": None, "location": None, "exit_code": 1, "verdicts": list(verdicts)}
    return debugging(name, facts=facts)


@pytest.mark.parametrize(
    ("target", "args", "count"),
    [
        (TEST, [], 1),
        (f"./{TEST}", [], 1),
        (TEST, ["tests/test_other.py"], 0),
        ("tests/test_cart.py", [], 0),
        ("tests/test_cart.py::test_other", [], 0),
    ],
)
def test_a_start_is_targeted_when_it_names_one_test_to_be_repaired(
    target: str, args: list[str], count: int
) -> None:
    assert measure(episode([[start(target=target, args=args)]])).debugger.targeted_starts == count


def test_a_refused_start_opens_nothing() -> None:
    refused = debugging("start_debugger", "There is no test", status=CallStatus.FAILED, target="nope")

    found = measure(episode([[refused], [start()]])).debugger

    assert (found.refused_starts, found.sessions, found.first_open_turn) == (1, 1, 2)


def bound(number: int, *, at: str = "shop/cart.py:1", moved: bool = False) -> dict[str, object]:
    return {"id": number, "at": at, "file": "/tmp/x/project/shop/cart.py", "line": 1, "is_moved": moved}


def test_each_request_for_a_breakpoint_has_one_outcome() -> None:
    places = [bound(1), bound(2, moved=True), bound(3), bound(4), bound(5, moved=True), bound(6)]
    asked = [
        debugging(
            "add_breakpoint", f"breakpoint {one['id']} at shop/cart.py:1", facts={"breakpoints": places}
        )
        for one in places
    ]
    hit = {"reason": "breakpoint", "breakpoint_ids": [1, 2], "breakpoints": places}
    raised = {"reason": "breakpoint", "breakpoint_ids": [6], "breakpoints": places}
    turns = [
        start(),
        *asked,
        debugging("add_breakpoint", "There is no such line", status=CallStatus.FAILED),
        debugging("continue_execution", "breakpoint 1, 2: here", facts=hit),
        debugging(
            "continue_execution", "breakpoint 6: x\nits condition raised NameError; stopped", facts=raised
        ),
        exited(
            {**bound(3), "hit_count": 0, "explanation": "its file was never imported"},
            {**bound(4), "hit_count": 0, "explanation": "total ran, but never reached this line"},
        ),
    ]

    found = measure(episode([[one] for one in turns])).debugger

    assert found.breakpoints == {
        Outcome.REJECTED: 1,
        Outcome.MOVED: 1,
        Outcome.UNBOUND: 1,
        Outcome.UNREACHED: 2,
        Outcome.CONDITION_ERROR: 1,
        Outcome.HIT: 1,
    }
    assert (found.wasted, found.moved, found.empty_runs) == (4, 2, 0)


def test_breakpoints_of_a_start_are_requests_too() -> None:
    places = [bound(1, at="shop/cart.py:1")]
    facts = {"reason": "breakpoint", "breakpoint_ids": [1], "breakpoints": places}

    found = measure(episode([[start(facts=facts, breakpoints='["shop/cart.py:1", "gone.py:3"]', run=True)]]))

    assert found.debugger.breakpoints[Outcome.HIT] == 1
    assert found.debugger.breakpoints[Outcome.REJECTED] == 1


def test_a_log_point_that_wrote_has_fired_without_a_stop() -> None:
    asked = debugging("add_breakpoint", "log point 1 at shop/cart.py:1", facts={"breakpoints": [bound(1)]})
    turns = [start(), asked, exited({**bound(1), "hit_count": 3, "explanation": None})]

    found = measure(episode([[one] for one in turns])).debugger

    assert (found.breakpoints[Outcome.HIT], found.sessions_with_stop, found.empty_runs) == (1, 0, 1)


@pytest.mark.parametrize("reason", ["breakpoint", "post_mortem"])
def test_a_run_with_a_stop_is_not_empty(reason: str) -> None:
    facts = {"reason": reason, "breakpoint_ids": [1] if reason == "breakpoint" else []}
    turns = [start(), debugging("continue_execution", facts=facts), exited()]

    assert measure(episode([[one] for one in turns])).debugger.empty_runs == 0
    assert measure(episode([[start()], [exited()]])).debugger.empty_runs == 1
    assert measure(episode([[start()], [exited(name="step_over")]])).debugger.empty_runs == 0


def test_steps_are_blind_until_something_is_looked_at() -> None:
    step, look = debugging("step_over"), debugging("examine_locals")
    where = debugging("where_am_i")
    blind = [start(), step, step, where, step, look, step, step, look, step]

    found = measure(episode([[one] for one in blind])).debugger

    assert (found.blind_step_runs, found.longest_step_run, len(found.inspections)) == (1, 3, 2)


@pytest.mark.parametrize("text", ["NameError: name 'x' is not defined", "there is no name 'x' in this frame"])
def test_a_value_that_does_not_exist_yet_is_an_undefined_read(text: str) -> None:
    failed = CallStatus.FAILED
    turns = [
        start(),
        debugging("run_expression", text, status=failed, code="x"),
        debugging("run_expression", "ZeroDivisionError: division by zero", status=failed, code="1/0"),
    ]

    assert measure(episode([[one] for one in turns])).debugger.undefined_reads == 1


def test_an_inspection_leads_to_an_edit_only_in_a_later_turn() -> None:
    look = debugging("examine_locals")

    together = measure(episode([[start()], [look, edit()]]))
    later = measure(episode([[start()], [look], [edit()]]))
    much_later = measure(episode([[start()], [look], *[[shell(f"ls {n}")] for n in range(10)], [edit()]]))
    elsewhere = measure(episode([[start()], [look], [edit("shop/pricing.py")]]))

    assert not together.inspection_led_to_edit
    assert later.inspection_led_to_edit_strictly
    assert (much_later.inspection_led_to_edit, much_later.inspection_led_to_edit_strictly) == (True, False)
    assert (elsewhere.inspection_led_to_edit, elsewhere.inspection_led_to_edit_strictly) == (True, False)


def test_the_witness_is_seen_in_its_function_or_by_its_expression() -> None:
    gold = Gold(
        files=frozenset({"shop/cart.py"}),
        functions=frozenset({("shop/cart.py", "Cart.sum")}),
        expressions=frozenset({"len(items) == 2"}),
    )
    location = {"file": "/tmp/x/project/shop/cart.py", "line": 9, "function": "Cart.sum"}
    stop = debugging("continue_execution", facts={"reason": "breakpoint", "location": location})
    look = debugging("run_expression", "True", code="len( items )==2")

    assert measure(episode([[start()], [stop], [edit()]]), gold).witness_before_edit is True
    assert measure(episode([[start()], [look], [edit()]]), gold).witness_before_edit is True
    assert measure(episode([[start()], [edit()], [look]]), gold).witness_before_edit is False
    assert measure(episode([[start()], [edit()]])).witness_before_edit is None


def test_an_episode_that_was_cut_off_is_measured_as_far_as_it_goes() -> None:
    whole = episode([[start()], [edit()]])

    found = measure(Episode(started=whole.started, events=whole.events, ended=None))

    assert (found.turns, found.discipline.effective_edits) == (2, 1)
