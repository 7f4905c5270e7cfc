import os

import pytest
from pdb_agent.errors import TaskError
from pdb_agent.sandboxes.interpreters import examine, task_interpreter
from pdb_agent.task import TaskLimits
from pdb_agent.task_files import load_task
from pdb_agent.validation.depth import FULL, QUICK, Depth, interpreters_for
from pdb_agent.validation.matrix import Cell, by_version, check_matrix, run_on_python
from pdb_agent.validation.suite import Outcome, SuiteRun

PASSED = Outcome(outcome="passed")
FAILED = Outcome(outcome="failed", error="AssertionError")


def run_of(**outcomes: Outcome) -> SuiteRun:
    return SuiteRun(outcomes=outcomes, uncollected={}, timed_out=False)


def test_one_test_that_differs_is_told_once_for_each_version_of_the_task():
    cells = [
        Cell(python="3.12", version=version, repeat=n) for version in ("buggy", "fixed") for n in range(4)
    ]
    runs = {cell: run_of(a=PASSED, b=FAILED if cell.repeat > 1 else PASSED) for cell in cells}
    assert [complaint.text for complaint in check_matrix(runs)] == [
        f"b is passed in {version} (Python 3.12, repeat 1) but failed (AssertionError) in {version} "
        "(Python 3.12, repeat 3, under load): make it depend on nothing else."
        for version in ("buggy", "fixed")
    ]


def test_a_test_that_is_not_run_differs_and_another_exception_too():
    cells = [Cell(python=python, version="fixed", repeat=0) for python in ("3.10", "3.11")]
    other = Outcome(outcome="failed", error="KeyError")
    runs = dict(zip(cells, (run_of(a=PASSED, b=FAILED), run_of(b=other)), strict=True))
    assert len(check_matrix(runs)) == 2


def test_equal_outcomes_are_no_complaint():
    cells = [Cell(python="3.12", version="buggy", repeat=n) for n in range(3)]
    assert check_matrix({cell: run_of(a=FAILED) for cell in cells}) == []


def test_of_ten_runs_half_are_in_reverse_and_one_is_under_load():
    cells = [Cell(python="3.12", version="buggy", repeat=n) for n in range(10)]
    assert sum(cell.reverse for cell in cells) == 5
    assert sum(cell.loaded for cell in cells) == 1
    assert (cells[0].reverse, cells[0].loaded) == (False, False)


def test_a_full_validation_is_ten_runs_on_four_pythons_with_both_engines():
    assert (FULL.repeats, sorted(FULL.pythons), sorted(FULL.engines)) == (
        10,
        ["3.10", "3.11", "3.12", "3.13"],
        ["debugpy", "pdb"],
    )
    assert FULL.is_full
    assert not QUICK.is_full


def test_a_task_runs_on_the_pythons_that_it_is_for(sample):
    sample.edit("task.toml", 'python_max = "3.13"', 'python_max = "3.10"')
    task = load_task(sample.folder)
    with pytest.raises(TaskError, match=r"is for Python 3\.10 to 3\.10, which leaves none of 3\.11, 3\.13"):
        interpreters_for(task, Depth(pythons=("3.11", "3.13")))
    usual = task_interpreter()
    assert interpreters_for(task, QUICK) == {examine(usual).version: usual}


@pytest.mark.anyio
@pytest.mark.slow
async def test_every_core_is_busy_in_the_third_run_alone(sample):
    """The hidden test counts the programs that burn, and tells how many by what it raises."""
    sample.write(
        "hidden/test_templates.py",
        "from pathlib import Path\n\n\nclass Busy(Exception):\n    pass\n\n\ndef test_load():\n"
        "    lines = [path.read_bytes() for path in Path('/proc').glob('[0-9]*/cmdline')]\n"
        "    count = sum(b'while True: pass' in line for line in lines)\n"
        "    if count:\n        raise Busy(count)\n",
    )
    python = task_interpreter()
    steps: list[str] = []
    task = load_task(sample.folder)
    assert task.limits == TaskLimits(test_seconds=5, suite_seconds=20, episode_seconds=600)
    runs = await run_on_python(task, (examine(python).version, python), 4, None, steps.append)
    outcomes = [run.outcomes["hidden/test_templates.py::test_load"] for run in by_version(runs)["fixed"]]
    assert [outcome.kind for outcome in outcomes] == ["passed", "passed", "failed (Busy)", "passed"]
    assert f"Busy: {os.cpu_count()}" in outcomes[2].message
    assert len(steps) == 4
