"""The first words to a model: enough to begin, nothing of what is held back."""

from dataclasses import replace
from pathlib import Path

import pytest
from pdb_agent.prompt import first_message, system_prompt
from pdb_agent.task import Task
from pdb_agent.task_files import load_task, task_folders
from pdb_agent.toolsets import Toolset, ToolsetName

TASKS = Path(__file__).resolve().parents[2] / "tasks"
FOLDERS = task_folders(TASKS)
SHORT = 12
"""Lines of less say nothing of where they come from."""


@pytest.fixture(scope="module")
def task() -> Task:
    return load_task(FOLDERS[0])


def words_of(task: Task) -> str:
    return "\n".join(
        [first_message(task), *(system_prompt(task, Toolset(name=name)) for name in ToolsetName)]
    )


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_nothing_that_is_held_back_is_in_the_words(folder: Path):
    task = load_task(folder)
    words = words_of(task)
    held_back = [content.decode() for content in task.hidden.values()]
    held_back += [task.solution.text, task.preference_reason, *(decoy.text for decoy in task.decoys)]
    held_back += [decoy.reason for decoy in task.decoys]
    if task.witness is not None:
        held_back += [value.expression for stop in task.witness.stops for value in stop.values]
        held_back += [stop.line or f"{stop.file}: {stop.function}" for stop in task.witness.stops]
    lines = {line.strip(" +-") for text in held_back for line in text.splitlines()}
    assert [line for line in lines if len(line) > SHORT and line in words] == []
    assert [path for path in task.hidden if path in words] == []
    assert all(label not in words for label in (task.family, *(decoy.name for decoy in task.decoys)))


def test_every_failing_test_and_what_may_be_changed_is_named(task: Task):
    assert first_message(task).count("\n- ") == len(task.fail_to_pass)
    assert all(f"\n- {test}\n" in first_message(task) for test in task.fail_to_pass)
    assert all(glob in system_prompt(task, Toolset()) for glob in task.editable)


@pytest.mark.parametrize("name", list(ToolsetName))
def test_the_debugger_is_spoken_of_only_where_there_is_one(task: Task, name: ToolsetName):
    words = system_prompt(task, Toolset(name=name, unlock_after_edits=7))
    assert ("debugger" in words) is Toolset(name=name).has_debugger
    assert ("once you have made 7 edits" in words) is (name is ToolsetName.UNLOCK_AFTER_EDITS)
    assert ("call done" in words) is not Toolset(name=name).no_call_is_final


def test_who_judges_is_said_as_it_is(task: Task):
    assert "other tests, which you cannot see, decide" in system_prompt(task, Toolset())
    own = system_prompt(replace(task, hidden={}), Toolset())
    assert "cannot see" not in own
    assert "what passes has to go on passing" in own
