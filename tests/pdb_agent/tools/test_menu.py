"""The edit menu, on tasks that the gym makes."""

from dataclasses import replace

import pytest
from pdb_agent.config import config_of
from pdb_agent.episode import EpisodeLog, ExitReason, FailureClass
from pdb_agent.loop import EpisodeSettings, run_episode
from pdb_agent.messages import CallStatus
from pdb_agent.policies.oracle import OraclePolicy
from pdb_agent.policies.scripted import ScriptedPolicy, scripted_call
from pdb_agent.procedural.gym import LabFamily
from pdb_agent.task import Task
from pdb_agent.task_choice import TaskChoice, choose_tasks
from pdb_agent.tools.menu import menu_tools
from pdb_agent.tools.tool import Tool
from pdb_agent.tools.visible_tests import VisibleTests
from pdb_agent.tools.workspace import Workspace
from pdb_agent.toolsets import Toolset, ToolsetName

from tests.pdb_agent.tools.working import open_workspace

pytestmark = [pytest.mark.anyio, pytest.mark.slow]


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(scope="module")
def choice() -> TaskChoice:
    return choose_tasks(config_of({"tasks": {"gym": {"families": ["zero"]}}}))


def tools_of(workspace: Workspace, choice: TaskChoice) -> dict[str, Tool]:
    menu = choice.menus[workspace.task.id]
    return {tool.spec.name: tool for tool in menu_tools(workspace, VisibleTests(workspace), menu)}


def settings_for(task: Task, choice: TaskChoice) -> EpisodeSettings:
    return EpisodeSettings(toolset=Toolset(name=ToolsetName.EDIT_MENU), menu=choice.menus[task.id])


async def test_the_menu_is_the_same_for_every_task_and_does_not_say_what_is_right(choice: TaskChoice):
    described: set[str] = set()
    for task in choice.tasks:
        async with open_workspace(task) as workspace:
            tools = tools_of(workspace, choice)
        assert list(tools) == ["read_file", "run_tests", "edit"]
        described.add(tools["edit"].spec.description)
    assert len(described) == 1


async def test_an_entry_is_applied_to_the_program_as_it_was_at_the_start(choice: TaskChoice):
    task = choice.tasks[0]
    menu = choice.menus[task.id]
    right = choice.right_operations[task.id]
    wrong = next(name for name, files in menu.items() if files and name != right)
    async with open_workspace(task) as workspace:
        edit = tools_of(workspace, choice)["edit"]
        await edit.run({"op": wrong})
        spoilt = await workspace.contents()
        answer = await edit.run({"op": right})
        contents = await workspace.contents()
        tests = await VisibleTests(workspace).run_tool().run({})
    assert spoilt == {**task.workspace, **menu[wrong]}
    assert (answer.status, answer.text) == (CallStatus.OK, f"Applied {right}.")
    assert contents == {**task.workspace, **menu[right]}
    assert tests.facts["failed"] == []


async def test_entries_that_are_none_or_find_nothing_are_refused(choice: TaskChoice):
    task = choice.tasks[0]
    idle = next(name for name, files in choice.menus[task.id].items() if not files)
    async with open_workspace(task) as workspace:
        edit = tools_of(workspace, choice)["edit"]
        unknown = await edit.run({"op": "rewrite"})
        nothing = await edit.run({"op": idle})
        changes = await workspace.changes()
    assert unknown.text.startswith("There is no change rewrite: there are ")
    assert nothing.text == f"{idle} finds nothing to change in this program."
    assert {unknown.status, nothing.status} == {CallStatus.FAILED}
    assert changes == ()


async def test_the_oracle_solves_a_task_by_its_menu_and_a_wrong_entry_does_not(choice: TaskChoice):
    task = choice.tasks[0]
    right = choice.right_operations[task.id]
    wrong = next(name for name, files in choice.menus[task.id].items() if files and name != right)
    settings = settings_for(task, choice)
    solved = await run_episode(task, OraclePolicy(task, right_operation=right), settings, EpisodeLog(None))
    policy = ScriptedPolicy([[scripted_call("edit", op=wrong)], "That is it."])
    failed = await run_episode(task, policy, settings, EpisodeLog(None))
    assert (solved.reason, solved.failure) == (ExitReason.NO_CALL_END, None)
    assert failed.failure is FailureClass.VISIBLE_FAIL


def test_the_gym_gives_the_families_that_are_asked_for_in_turn():
    table = {"families": ["range", "init"], "count": 5, "held_out": False}
    choice = choose_tasks(config_of({"tasks": {"gym": table}}))
    assert [task.id for task in choice.tasks] == [
        "gym_range_0",
        "gym_init_0",
        "gym_range_1",
        "gym_init_1",
        "gym_range_2",
    ]
    assert choice.menus.keys() == choice.right_operations.keys() == {task.id for task in choice.tasks}
    assert len({task.content_hash for task in choice.tasks}) == 5


def test_held_out_tasks_are_two_of_each_family():
    choice = choose_tasks(config_of({"tasks": {"gym": {}}}))
    assert [task.id.split("_")[1] for task in choice.tasks] == [*LabFamily, *LabFamily]
    assert all("held" in task.id and task.split == "test" for task in choice.tasks)
    few = choose_tasks(config_of({"tasks": {"gym": {"count": 3}}}))
    assert few.tasks == tuple(replace(task) for task in choice.tasks[:3])
