"""Which tasks a run learns from, and in which order."""

from itertools import islice

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pdb_agent.task_files import find_tasks_root, load_all
from pdb_agent.toolsets import ToolsetName
from pdb_trainer.config import GymTasksConfig, TasksConfig, ToolsetConfig
from pdb_trainer.errors import LeakageError
from pdb_trainer.training_tasks import endless, measuring_tasks, training_tasks

MENU = ToolsetConfig(name=ToolsetName.EDIT_MENU)


@given(st.integers(1, 30), st.integers(0, 5), st.integers(0, 200))
def test_a_pass_has_every_task_once_and_going_on_is_as_never_having_stopped(
    count: int, seed: int, position: int
) -> None:
    whole = list(islice(endless(count, seed, 0), position + 2 * count))
    assert list(islice(endless(count, seed, position), 2 * count)) == whole[position:]
    assert all(sorted(whole[lap * count : (lap + 1) * count]) == list(range(count)) for lap in range(2))


def test_passes_and_seeds_have_orders_of_their_own() -> None:
    first, second = (list(islice(endless(40, 0, lap * 40), 40)) for lap in range(2))
    assert first != second
    assert first != list(islice(endless(40, 1, 0), 40))


def test_tasks_of_a_folder_are_those_of_the_training_split() -> None:
    choice = training_tasks(TasksConfig(), ToolsetConfig())
    assert {task.split for task in choice.tasks} == {"train"}
    assert len(choice.tasks) > 5


def test_a_task_that_is_measured_on_is_refused_by_name() -> None:
    other = next(task.id for task in load_all(find_tasks_root()) if task.split != "train")
    with pytest.raises(LeakageError, match=f"{other} is of the .* split"):
        training_tasks(TasksConfig(ids=(other,)), ToolsetConfig())


def test_the_gym_makes_other_tasks_for_training_than_for_measuring() -> None:
    choice = training_tasks(TasksConfig(gym=GymTasksConfig(count=6)), MENU)
    assert len(choice.tasks) == 6
    assert all(choice.menus[task.id] for task in choice.tasks)
    assert not any("held" in task.id for task in choice.tasks)
    measured = measuring_tasks(TasksConfig(gym=GymTasksConfig()), 4)
    assert measured.gym is not None
    assert (measured.gym.held_out, measured.gym.count) == (True, 4)


def test_what_is_measured_on_beside_a_folder_is_its_validation_split() -> None:
    measured = measuring_tasks(TasksConfig(), 2)
    splits = {task.split for task in load_all(find_tasks_root(), ids=measured.ids)}
    assert (len(measured.ids), splits) == (2, {"validation"})
