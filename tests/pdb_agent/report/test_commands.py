import io
from pathlib import Path

import pytest
from pdb_agent.episode_steps import gold_of
from pdb_agent.report.collect import ReportError
from pdb_agent.report.commands import GoldBook, compare_runs, write_report
from pdb_agent.task_files import load_task, task_folders

from tests.pdb_agent.report.made_runs import BASE, PLAIN, TRAINED, write_run

pytestmark = pytest.mark.slow
ROOT = Path(__file__).parents[3]


def test_the_report_command_says_what_it_found_and_what_to_open(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", {"debug": BASE, "no-debugger": PLAIN}, tasks=12, repetitions=3)
    stream = io.StringIO()

    assert write_report([run], tmp_path / "out", stream) == 0

    *_, last = stream.getvalue().splitlines()
    assert last == f"Open {(tmp_path / 'out' / 'report.html').as_uri()}"
    assert "debug against no-debugger: " in stream.getvalue()
    assert "debug opened the debugger in " in stream.getvalue()


def test_two_runs_are_compared_by_their_arms_of_equal_name(tmp_path: Path) -> None:
    first = write_run(tmp_path / "base", {"debug": BASE}, tasks=12, repetitions=3)
    second = write_run(tmp_path / "trained", {"debug": TRAINED}, tasks=12, repetitions=3)
    stream = io.StringIO()

    assert compare_runs(first, second, stream) == 0

    lines = stream.getvalue().splitlines()
    assert "trained: debug" in lines[0]
    assert "base: debug" in lines[0]
    assert lines[1].split() == ["tasks", "in", "both", "12"]
    assert any(line.startswith("sign-flip test") and " p " in line for line in lines)


def test_arms_of_one_run_are_compared_when_it_is_given_twice(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", {"debug": BASE, "no-debugger": PLAIN}, tasks=12, repetitions=3)
    stream = io.StringIO()

    assert compare_runs(run, run, stream) == 0

    first, *rest = stream.getvalue().splitlines()
    assert "debug" in first
    assert "no-debugger" in first
    assert any(line.startswith("turns of opening, on those  ") for line in rest)


def test_single_arms_of_other_names_are_compared_too(tmp_path: Path) -> None:
    first = write_run(tmp_path / "a", {"no-debugger": PLAIN}, tasks=3, repetitions=1)
    second = write_run(tmp_path / "b", {"debug": BASE}, tasks=3, repetitions=1)

    assert compare_runs(first, second, io.StringIO()) == 0


def test_what_cannot_be_compared_is_told_with_the_way_on(tmp_path: Path) -> None:
    one = write_run(tmp_path / "one", {"debug": BASE}, tasks=2, repetitions=1)
    two = write_run(tmp_path / "two", {"a": BASE, "b": PLAIN}, tasks=2, repetitions=1)
    other_tasks = write_run(tmp_path / "other", {"debug": BASE}, tasks=2, repetitions=1, seed=9)

    with pytest.raises(ReportError, match="has one arm only: give a second run"):
        compare_runs(one, one, io.StringIO())
    with pytest.raises(ReportError, match="give runs with an arm in common"):
        compare_runs(one, two, io.StringIO())
    with pytest.raises(ReportError, match="give runs over the same tasks"):
        compare_runs(one, other_tasks, io.StringIO())


def test_where_causes_are_is_looked_up_for_the_very_task_that_was_seen() -> None:
    task = load_task(ROOT / "tasks" / "reentrant_lock_owner")
    book = GoldBook(ROOT / "tasks")

    found = book(task.id, task.content_hash)

    assert found is not None
    assert found.files == {"tillbook/line.py"}
    assert found.functions == {("tillbook/line.py", "Tenure.belongs_to")}
    assert book(task.id, "another") is None
    assert book("no_such_task", task.content_hash) is None


def test_every_task_tells_where_its_cause_is() -> None:
    for folder in task_folders(ROOT / "tasks"):
        task = load_task(folder)
        gold = gold_of(task)
        assert gold.files
        assert bool(gold.functions) is (task.witness is not None), task.id
