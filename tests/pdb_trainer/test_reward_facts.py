"""The facts of a reward, from episodes that really happened and from some that are made up."""

import functools
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from pdb_agent.episode import Episode, EpisodeLog, ExitReason, GroupCount, assemble
from pdb_agent.grading.grader import grade
from pdb_agent.loop import EpisodeSettings, run_episode
from pdb_agent.policies.oracle import OraclePolicy
from pdb_agent.policies.scripted import ScriptedPolicy, scripted_call
from pdb_agent.policy import Policy
from pdb_agent.procedural.gym import GymTask, LabFamily, generate
from pdb_agent.procedural.gym_tasks import as_task
from pdb_agent.task import Preference, Split, Task
from pdb_agent.task_files import load_task
from pdb_agent.toolsets import Toolset, ToolsetName
from pdb_trainer.errors import RewardError
from pdb_trainer.reward import itemised, outcome_only
from pdb_trainer.reward_facts import facts_of, is_same_code

from tests.pdb_agent.episode_making import Act, act, debugging, done, edit, ended, episode
from tests.pdb_agent.grading.cart import CART_TASK

TASKS = Path(__file__).resolve().parents[2] / "tasks"
RECOMMENDED = replace(CART_TASK, preference=Preference.RECOMMENDED)
SOURCE = {path: content.decode() for path, content in CART_TASK.workspace.items() if path.startswith("shop/")}
CHANGED = {**SOURCE, "shop/cart.py": SOURCE["shop/cart.py"] + "LATER = 1\n"}


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@functools.cache
def gym_task() -> GymTask:
    return generate(LabFamily.RANGE, 3)


async def play(task: Task, policy: Policy, **settings: Any) -> Episode:
    log = EpisodeLog(None)
    await run_episode(task, policy, EpisodeSettings(**settings), log)
    return assemble(log.events, "memory")


def made(turns: Sequence[Sequence[Act]], final: dict[str, str] = CHANGED, **end: Any) -> Episode:
    given: dict[str, Any] = {"solved": False, "turns": len(turns), "final": final, **end}
    return episode(turns, end=ended(**given))


def groups(*counts: tuple[int, int]) -> tuple[GroupCount, ...]:
    names = ("fail_to_pass", "pass_to_pass", "hidden")
    return tuple(
        GroupCount(name=name, passed=passed, total=total)
        for name, (passed, total) in zip(names, counts, strict=True)
    )


def graded(*counts: tuple[int, int], tamper: tuple[str, ...] = ()) -> Episode:
    """An episode that changed the program and left the tests so."""
    one = made([[edit()], [done()]])
    assert one.ended is not None
    assert one.ended.graded is not None
    verdict = replace(one.ended.graded, groups=groups(*counts), tamper=tamper)
    return replace(one, ended=replace(one.ended, graded=verdict))


@pytest.mark.slow
@pytest.mark.anyio
async def test_a_task_of_the_gym_solved_by_its_menu_is_credited_for_reading_first():
    made_task = gym_task()
    task = as_task(made_task, Split.TRAIN)
    menu = {entry.operation.value: entry.files for entry in made_task.edit_operations}
    policy = OraclePolicy(task, right_operation=made_task.right_operation.value)
    one = await play(task, policy, toolset=Toolset(name=ToolsetName.EDIT_MENU), menu=menu)
    assert {name: value for name, value in itemised(one, task).items() if value} == pytest.approx(
        {
            "outcome": 1.0,
            "inspection_to_edit": 0.20,
            "localisation": 0.10,
            "code_change": 0.05,
            "credit_cap": -0.05,
            "turns": -0.20 * 4 / 30,
        }
    )
    assert outcome_only(one) == {"outcome": 1.0}


@pytest.mark.slow
@pytest.mark.anyio
async def test_a_debugger_that_shows_the_cause_is_credited_where_it_is_recommended():
    task = load_task(TASKS / "undo_history_snapshots")
    one = await play(task, OraclePolicy(task))
    facts = facts_of(one, task)
    assert facts.solved
    assert facts.inspected_before_edit
    assert facts.debugger_fits
    assert facts.localised
    assert facts.code_changed
    assert not facts.unverified
    assert sum(itemised(one, task).values()) == pytest.approx(1.30 - 0.20 * facts.turns / 30)
    assert not facts_of(one, replace(task, preference=Preference.AVOID)).debugger_fits


@pytest.mark.slow
@pytest.mark.anyio
async def test_a_wrong_fix_that_passes_the_visible_tests_is_a_failure_that_progressed():
    task = as_task(gym_task(), Split.TRAIN)
    decoy = replace(task, solution=task.decoys[0])
    one = await play(task, OraclePolicy(decoy), toolset=Toolset(name=ToolsetName.NO_DEBUGGER))
    before = (await grade(task, task.workspace)).groups
    counts = tuple(GroupCount(name=each.name, passed=each.passed, total=each.total) for each in before)
    seen, unseen = facts_of(one, task), facts_of(one, task, before=counts)
    assert (seen.solved, seen.exit, seen.progress) == (False, ExitReason.DONE, 1.0)
    assert 0.0 < unseen.progress < 1.0
    assert sum(itemised(one, task).values()) < -0.64
    assert outcome_only(one) == {"outcome": 0.0}


@pytest.mark.slow
@pytest.mark.anyio
async def test_stalling_until_a_guard_earns_a_tenth_and_pays_for_all():
    task = as_task(gym_task(), Split.TRAIN)
    policy = ScriptedPolicy([[scripted_call("bash", command="ls")]] * 20)
    one = await play(task, policy)
    facts = facts_of(one, task)
    assert (facts.exit, facts.turns, facts.repeated_calls) == (ExitReason.GUARD, 8, 7)
    assert not facts.code_changed
    assert sum(itemised(one, task).values()) == pytest.approx(0.10 - 7 * 0.02 - 1.00 - 0.75 - 0.28)


@pytest.mark.slow
@pytest.mark.anyio
async def test_an_edit_of_a_comment_earns_nothing():
    task = as_task(gym_task(), Split.TRAIN)
    path = gym_task().source_path
    turns = [
        [scripted_call("read_file", path=path)],
        [scripted_call("bash", command=f"echo '# looks right' >> {path}")],
        [scripted_call("done", summary="")],
    ]
    facts = facts_of(await play(task, ScriptedPolicy(turns)), task)
    assert facts.localised
    assert (facts.code_changed, facts.inspected_before_edit, facts.progress) == (False, False, 0.0)


def test_where_a_debugger_is_recommended_reading_is_no_inspection():
    read = act("read_file", path="shop/cart.py")
    one = made([[read], [edit()], [done()]])
    assert not facts_of(one, RECOMMENDED).inspected_before_edit
    assert facts_of(one, replace(CART_TASK, preference=Preference.OPTIONAL)).inspected_before_edit
    looked = made([[debugging("start_debugger")], [debugging("examine_locals")], [edit()]])
    assert facts_of(looked, RECOMMENDED).inspected_before_edit
    assert facts_of(looked, RECOMMENDED).debugger_fits


def test_an_inspection_after_the_edit_or_of_nothing_is_no_inspection():
    start = debugging("start_debugger")
    late = made([[start], [edit()], [debugging("examine_locals")]])
    assert not facts_of(late, RECOMMENDED).inspected_before_edit
    unread = facts_of(made([[start], [debugging("step_over")], [edit()]]), RECOMMENDED)
    assert (unread.inspected_before_edit, unread.debugger_fits) == (False, False)


def test_without_a_debugger_there_is_no_choice_to_credit():
    task = replace(CART_TASK, preference=Preference.AVOID)
    one = made([[edit()], [done()]])
    without = replace(one, started=replace(one.started, toolset="coding-tools"))
    assert facts_of(one, task).debugger_fits
    assert not facts_of(without, task).debugger_fits
    opened = made([[debugging("start_debugger")], [edit()], [done()]])
    assert not facts_of(opened, task).debugger_fits


def test_a_program_put_back_as_it_was_has_not_changed():
    one = made([[debugging("start_debugger")], [debugging("examine_locals")], [edit()]], final=SOURCE)
    facts = facts_of(one, RECOMMENDED)
    assert (facts.code_changed, facts.inspected_before_edit) == (False, False)


@pytest.mark.parametrize(
    ("after", "progress"),
    [
        (((0, 4), (5, 5), (0, 3)), 0.0),
        (((1, 4), (5, 5), (0, 3)), 0.25),
        (((3, 4), (5, 5), (0, 3)), 0.75),
        (((3, 4), (4, 5), (3, 3)), 0.0),
    ],
)
def test_progress_is_the_share_of_failing_tests_that_pass_with_none_broken(
    after: tuple[tuple[int, int], ...], progress: float
):
    assert facts_of(graded(*after), CART_TASK).progress == progress


def test_hidden_tests_count_when_it_is_known_what_passed_before():
    before = groups((0, 2), (5, 5), (1, 3))
    assert facts_of(graded((1, 2), (5, 5), (2, 3)), CART_TASK, before=before).progress == 0.5
    assert facts_of(graded((2, 2), (5, 5), (0, 3)), CART_TASK, before=before).progress == 0.0


def test_there_is_no_progress_without_a_change_or_with_tests_interfered_with():
    one = graded((1, 2), (5, 5), (0, 3))
    assert one.ended is not None
    unchanged = replace(one, ended=replace(one.ended, final=SOURCE))
    assert facts_of(unchanged, CART_TASK).progress == 0.0
    assert facts_of(graded((1, 2), (5, 5), (0, 3), tamper=("no_finish",)), CART_TASK).progress == 0.0


def test_hidden_tests_that_pass_by_interference_are_no_outcome():
    assert outcome_only(graded((0, 1), (5, 5), (3, 3))) == {"outcome": 1.0}
    assert outcome_only(graded((1, 1), (5, 5), (2, 3))) == {"outcome": 0.0}
    assert outcome_only(graded((1, 1), (5, 5), (3, 3), tamper=("no_finish",))) == {"outcome": 0.0}


@pytest.mark.parametrize("reason", [one for one in ExitReason if one.is_infrastructure])
def test_infrastructure_is_never_scored(reason: ExitReason):
    one = made([[done()]], reason=reason, detail="out of memory")
    with pytest.raises(RewardError, match=f"ended by {reason.value} .out of memory.: run it again"):
        itemised(one, CART_TASK)
    with pytest.raises(RewardError):
        outcome_only(one)


def test_an_episode_that_was_cut_off_is_never_scored():
    with pytest.raises(RewardError, match="was cut off"):
        itemised(replace(made([[done()]]), ended=None), CART_TASK)


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("a = 1\n", "a = 1  # one\n\n\n", True),
        ("def f():\n    return 1\n", 'def f():\n  """Give one."""\n  return 1\n', True),
        ("def f():\n    return 1\n", "def f():\n    return 2\n", False),
        ('x = "a"\n', 'x = "b"\n', False),
        ('f("a")\n', 'f("b")\n', False),
        ("if x:\n    y = 1\nz = 2\n", "if x:\n    y = 1\n    z = 2\n", False),
        ("a = 1\n", "a = (1\n", False),
        ("a = (1\n", "a = (1\n", True),
        ('"""Doc."""\n', "", True),
        ("a = 1", "a = 1\n", True),
    ],
)
def test_comments_docstrings_and_layout_are_no_code(one: str, other: str, same: bool):
    assert is_same_code(one, other) is same
    assert is_same_code(other, one) is same
