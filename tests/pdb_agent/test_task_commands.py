"""The commands, from their arguments to what they write."""

import io
import json
import re
from pathlib import Path

import pytest
from pdb_agent.errors import TaskError
from pdb_agent.scaffold import write_skeleton
from pdb_agent.task_commands import (
    ValidateOptions,
    check_tasks,
    list_tasks,
    measure_tasks,
    new_task,
    show_task,
    validate_tasks,
)
from pdb_agent.task_files import content_hash
from pdb_agent.validation.depth import AT_ONCE, FULL, PYTHONS, Depth
from pdb_agent.validation.stamp import RULES_VERSION, Stamp, stamp_path, write_stamp


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return write_skeleton(tmp_path / "tasks", "sample_task")


def test_a_listing_has_a_line_for_each_task_and_the_totals(folder):
    write_skeleton(folder.parent, "second_task")
    out = io.StringIO()
    assert list_tasks(folder.parent, out) == 0
    lines = out.getvalue().splitlines()
    assert re.split(" +", lines[0]) == (
        ["sample_task", "aliasing", "recommended", "2", "train", "15", "lines", "in", "2", "files"]
    )
    assert lines[2:] == [
        "2 tasks",
        "family: aliasing 2",
        "preference: recommended 2",
        "difficulty: 2 2",
        "split: train 2",
    ]


def test_a_listing_can_say_what_the_set_lacks(folder):
    out = io.StringIO()
    assert list_tasks(folder.parent, out, wants_distribution=True) == 1
    assert "The median of source_files is 2, not 3" in out.getvalue()


def test_a_task_is_shown_without_what_solves_it(folder):
    out = io.StringIO()
    assert show_task(folder, out) == 0
    assert "  target       tests/test_orders.py::test_orders_of_two_customers_stay_apart\n" in out.getvalue()
    assert "  validity     never validated in full\n" in out.getvalue()
    assert "list(self._items)" not in out.getvalue()


def test_measuring_changes_three_values_and_nothing_else(folder):
    settings = folder / "task.toml"
    before = settings.read_text("utf-8")
    blank = before.replace(content_hash(folder), "").replace("source_lines = 15", "source_lines = 0")
    settings.write_text(blank.replace("source_files = 2\n", ""), "utf-8")
    out = io.StringIO()
    assert measure_tasks([folder, folder.parent / "missing"], out) == 1
    lines = settings.read_text("utf-8").splitlines()
    assert sorted(lines) == sorted(before.splitlines())
    assert "sample_task: 15 lines in 2 files\n" in out.getvalue()
    assert "missing: " in out.getvalue()


def test_a_new_task_is_written_once(tmp_path):
    out = io.StringIO()
    assert new_task(tmp_path / "tasks", "first_task", out) == 0
    with pytest.raises(TaskError, match="is there already: take another id"):
        new_task(tmp_path / "tasks", "first_task", out)


@pytest.mark.parametrize("task_id", ["First", "a-b", "", "../up", "_a", "1a"])
def test_an_id_that_is_none_is_refused(tmp_path, task_id):
    with pytest.raises(TaskError, match="is no id of a task"):
        new_task(tmp_path / "tasks", task_id, io.StringIO())


@pytest.mark.anyio
@pytest.mark.slow
async def test_a_new_task_is_good_as_it_stands(folder):
    out = io.StringIO()
    assert await check_tasks([folder], out) == 0
    assert "buggy: 5 tests in " in out.getvalue()
    assert out.getvalue().endswith("sample_task: good so far\n")


@pytest.mark.anyio
@pytest.mark.slow
async def test_a_report_names_complaints_and_the_rules_that_were_broken(folder):
    (folder / "workspace" / "README.md").write_text("# shelf\n\nThis is a hack.\n")
    broken = write_skeleton(folder.parent, "torn_task")
    (broken / "task.toml").write_text("id = ")
    out, progress = io.StringIO(), io.StringIO()
    options = ValidateOptions(depth=AT_ONCE, jobs=2)
    assert await validate_tasks([folder, broken], out, progress, options) == 1
    assert "  V8: README.md, line 3 holds the word 'hack': say it otherwise.\n" in out.getvalue()
    assert "torn_task/task.toml is not TOML" in out.getvalue()
    assert "\nThe rules:\n  files: The files are those of a task.\n  V8: No word" in out.getvalue()
    assert out.getvalue().endswith("0 of 2 tasks are valid.\n")
    assert "sample_task: V3, V7 to V10, V12, V14, V16: its text\n" in progress.getvalue()
    assert not stamp_path(folder).exists()


@pytest.mark.anyio
@pytest.mark.slow
async def test_a_report_can_be_read_by_programs(folder):
    out = io.StringIO()
    options = ValidateOptions(depth=AT_ONCE, as_json=True)
    assert await validate_tasks([folder], out, io.StringIO(), options) == 0
    (report,) = json.loads(out.getvalue())
    assert (report["id"], report["valid"], report["complaints"], report["stamp"]) == (
        "sample_task",
        True,
        [],
        None,
    )


@pytest.mark.anyio
@pytest.mark.slow
async def test_a_stamped_task_is_looked_at_quickly_and_a_changed_one_in_full(folder):
    stamp = Stamp(
        id="sample_task", content_hash=content_hash(folder), rules_version=RULES_VERSION,
        pythons=("3.12.1",), repeats=10, outcome="valid", tier="A",
    )  # fmt: skip
    write_stamp(folder, stamp)
    lesser = Depth(repeats=2, pythons=(), engines=(), grades=False)
    options = ValidateOptions(depth=lesser, unless_stamped=True)
    progress = io.StringIO()
    assert await validate_tasks([folder], io.StringIO(), progress, options) == 0
    assert "run 1 of 1" in progress.getvalue()
    (folder / "workspace" / "README.md").write_text("# shelf\n")
    measure_tasks([folder], io.StringIO())
    progress = io.StringIO()
    assert await validate_tasks([folder], io.StringIO(), progress, options) == 0
    assert "run 2 of 2" in progress.getvalue()


@pytest.mark.anyio
@pytest.mark.slow
@pytest.mark.timeout(600)
async def test_a_full_validation_is_stamped(folder):
    out = io.StringIO()
    missing = [version for version in PYTHONS if not has_python(version)]
    if missing:
        pytest.skip(f"there is no Python {', '.join(missing)} for tasks here")
    assert await validate_tasks([folder], out, io.StringIO(), ValidateOptions(depth=FULL, jobs=2)) == 0
    fields = json.loads(stamp_path(folder).read_text())
    assert (fields["outcome"], fields["repeats"], len(fields["pythons"])) == ("valid", 10, 4)
    assert fields["tier"] in ("A", "B")
    shown = io.StringIO()
    show_task(folder, shown)
    assert "10 repeats, graded by tier" in shown.getvalue()


def has_python(version: str) -> bool:
    from pdb_agent.errors import SandboxError
    from pdb_agent.sandboxes.interpreters import task_interpreter

    try:
        task_interpreter(version)
    except SandboxError:
        return False
    return True
