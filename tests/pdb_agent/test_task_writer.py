"""Tasks that are written are tasks that can be read."""

from dataclasses import replace

import pytest
import tomllib
from hypothesis import given
from hypothesis import strategies as st
from pdb_agent.errors import TaskError
from pdb_agent.procedural.gym import LabFamily, generate
from pdb_agent.procedural.gym_tasks import as_task
from pdb_agent.task import Split
from pdb_agent.task_files import content_hash, load_task, read_task_table
from pdb_agent.task_writer import toml_table, write


def gym_task():
    return as_task(generate(LabFamily.RANGE, 4), Split.TRAIN)


def test_a_task_keeps_all_it_has_and_gets_its_hash(tmp_path):
    task = gym_task()
    folder = tmp_path / task.id
    write(task, folder)
    read = load_task(folder)

    assert read.content_hash == content_hash(folder)
    assert replace(read, content_hash="", folder=task.folder) == task


def test_declared_errors_are_written(tmp_path):
    task = gym_task()
    write(task, tmp_path / task.id, declared_errors=("ValueError",))

    assert read_task_table(tmp_path / task.id).declared_errors == ["ValueError"]


def test_a_folder_with_something_in_it_is_left_alone(tmp_path):
    task = gym_task()
    write(task, tmp_path / task.id)

    with pytest.raises(TaskError, match="holds something already"):
        write(task, tmp_path / task.id)


def test_a_folder_of_another_name_is_refused(tmp_path):
    with pytest.raises(TaskError, match="name it gym_range_4"):
        write(gym_task(), tmp_path / "other")


def test_a_path_that_leaves_the_folder_is_refused(tmp_path):
    task = gym_task()
    outside = {**task.workspace, "../../outside.py": b"x = 1\n"}

    with pytest.raises(TaskError, match="leads out"):
        write(replace(task, workspace=outside), tmp_path / task.id)
    assert not (tmp_path / "outside.py").exists()


_values = st.one_of(st.text(), st.integers(), st.booleans(), st.lists(st.text()))


@given(st.dictionaries(st.from_regex(r"[a-z_]{1,8}", fullmatch=True), _values))
def test_any_text_survives_toml(values):
    assert tomllib.loads(toml_table(values)) == values
