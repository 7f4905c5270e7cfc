"""The bug tasks themselves: every one is valid, and says so in the table that people read."""

import io
import re
from pathlib import Path

import anyio
import pytest
from pdb_agent.task import Task
from pdb_agent.task_commands import ValidateOptions, validate_tasks
from pdb_agent.task_files import load_all, task_folders
from pdb_agent.validation.depth import QUICK
from pdb_agent.validation.stamp import read_stamp

ROOT = Path(__file__).resolve().parents[2] / "tasks"
TASKS = load_all(ROOT)
JOBS = 2


@pytest.mark.parametrize("task", TASKS, ids=[task.id for task in TASKS])
def test_a_task_has_been_validated_in_full_as_it_stands(task: Task):
    stamp = read_stamp(task)
    assert stamp is not None, f"run: pdb-agent tasks validate {task.id}"
    assert stamp.is_valid_for(task), f"it changed: run pdb-agent tasks validate {task.id}"
    assert {python.rpartition(".")[0] for python in stamp.pythons} == {"3.10", "3.11", "3.12", "3.13"}
    assert stamp.repeats == 10


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_every_task_is_valid_here_and_its_witness_is_seen_on_both_engines():
    report, progress = io.StringIO(), io.StringIO()
    options = ValidateOptions(depth=QUICK, jobs=JOBS)
    status = anyio.run(validate_tasks, task_folders(ROOT), report, progress, options)
    assert status == 0, report.getvalue()
    steps = progress.getvalue()
    assert all(f"{task.id}: V13" in steps for task in TASKS)
    assert all(f"{task.id}: V11" in steps for task in TASKS if task.witness)


def test_the_table_of_tasks_says_what_the_tasks_say():
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| \[(\w+)\]\(\1/workspace/README\.md\) \| (.*) \|$", text, re.M)
    table = {name: {cell.strip(" `") for cell in rest.split("|")} for name, rest in rows}
    assert {task.id for task in TASKS} <= table.keys()
    for task in TASKS:
        said = {task.family, str(task.preference), str(task.difficulty), str(task.split)}
        assert said <= table[task.id], task.id
