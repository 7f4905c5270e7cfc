import shutil
from pathlib import Path

import pytest
from pdb_agent.errors import TaskError
from pdb_agent.scaffold import write_skeleton
from pdb_agent.task import Preference, Split
from pdb_agent.task_files import content_hash, find_tasks_root, load_all, load_task
from pdb_agent.task_schema import difficulty_of


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return write_skeleton(tmp_path / "tasks", "sample_task")


def edit(path: Path, old: str, new: str) -> None:
    text = path.read_text("utf-8")
    assert text.count(old) == 1
    path.write_text(text.replace(old, new), "utf-8")


def test_a_task_is_read_whole(folder):
    task = load_task(folder)
    assert (task.id, task.preference, task.split) == ("sample_task", Preference.RECOMMENDED, Split.TRAIN)
    assert sorted(task.workspace) == [
        "README.md",
        "pytest.ini",
        "shelf/__init__.py",
        "shelf/orders.py",
        "shelf/templates.py",
        "tests/test_orders.py",
    ]
    assert list(task.hidden) == ["test_templates.py"]
    assert task.solution.text.startswith("--- a/shelf/templates.py")
    assert [decoy.name for decoy in task.decoys] == ["copy_in_order"]
    assert task.decoys[0].reason.startswith("The order is where the item appears")
    assert task.witness is not None
    assert [(stop.function, stop.line, stop.hit) for stop in task.witness.stops] == [
        ("Order.add", None, 2),
        (None, "self.items.append(item)", 1),
    ]
    assert task.limits.episode_seconds == 600
    assert task.difficulty_points == {
        "files": 2,
        "distance": 1,
        "decoys": 0,
        "fix_size": 0,
        "obvious_wrong_fix": 0,
    }


@pytest.mark.parametrize(
    ("old", "new", "sentence"),
    [
        (
            'family = "aliasing"',
            'famly = "aliasing"',
            "family is missing: write it; famly is no key of this file",
        ),
        ('family = "aliasing"', 'family = "magic"', "family: input should be 'aliasing', 'shared_state'"),
        ("version = 1", 'version = "1"', "version: input should be a valid integer"),
        ("test_seconds = 5", "test_seconds = 0", "limits.test_seconds: input should be greater than 0"),
        (
            "fix_size = 0",
            "fix_size = 3",
            "difficulty_points.fix_size: input should be less than or equal to 2",
        ),
        ("difficulty = 2", "difficulty = 4", "add up to 3, which is difficulty 2: correct one of them"),
        ('split = "train"', 'split = "exam"', "split: input should be 'train', 'validation' or 'test'"),
        ('id = "sample_task"', 'id = "other"', "id is 'other'; write 'sample_task', as the folder's"),
        ('python_min = "3.10"', 'python_min = "3.14"', "python_min is above python_max: exchange them"),
        ("target = ", "target = 1 #", "target: input should be a valid string"),
        ("fail_to_pass = [", 'fail_to_pass = ["tests/a.py::test_b"] # [', "is not in fail_to_pass: hand the"),
        ("[limits]", "[limits", "is not TOML"),
    ],
)
def test_settings_that_make_no_task_are_refused_with_the_file_and_the_key(folder, old, new, sentence):
    edit(folder / "task.toml", old, new)
    with pytest.raises(TaskError) as caught:
        load_task(folder)
    assert str(folder / "task.toml") in str(caught.value)
    assert sentence in str(caught.value)


def test_a_stop_names_exactly_one_place(folder):
    edit(folder / "witness.toml", "function = ", 'line = "x"\nfunction = ')
    with pytest.raises(
        TaskError, match=r"witness\.toml: a stop needs either function or line: give exactly one"
    ):
        load_task(folder)


def test_a_witness_has_no_place_where_the_debugger_is_to_be_avoided(folder):
    edit(folder / "task.toml", 'preference = "recommended"', 'preference = "avoid"')
    with pytest.raises(TaskError, match=r"witness\.toml is of no use where the debugger is to be avoided"):
        load_task(folder)


@pytest.mark.parametrize(
    ("path", "sentence"),
    [
        ("task.toml", "task.toml is missing: write a task's settings"),
        ("solution/fix.patch", "fix.patch is missing: write the solution, as a diff"),
        ("decoys/copy_in_order.md", "copy_in_order.md is missing: write why somebody would write the decoy"),
        ("hidden/test_templates.py", "hidden is empty: write hidden tests in test_*.py there"),
        ("workspace/tests/test_orders.py", "workspace holds no tests: write tests/test_*.py there"),
    ],
)
def test_a_file_that_is_missing_is_named(folder, path, sentence):
    (folder / path).unlink()
    with pytest.raises(TaskError) as caught:
        load_task(folder)
    assert sentence in str(caught.value)


def test_what_is_no_part_of_a_task_is_refused(folder):
    (folder / "notes.txt").write_text("x")
    with pytest.raises(TaskError, match=r"notes\.txt is no part of a task"):
        load_task(folder)


@pytest.mark.parametrize("path", ["task.toml", ".git/HEAD"])
def test_what_a_model_must_not_see_is_refused_in_the_workspace(folder, path):
    (folder / "workspace" / path).parent.mkdir(exist_ok=True)
    (folder / "workspace" / path).write_text("x")
    with pytest.raises(TaskError, match="is not for a model to see: remove it"):
        load_task(folder)


def test_a_link_in_the_workspace_is_refused(folder):
    (folder / "workspace" / "link.py").symlink_to("/etc/passwd")
    with pytest.raises(TaskError, match=r"link\.py is a symbolic link"):
        load_task(folder)


def test_what_running_the_tests_leaves_behind_is_no_part_of_the_task(folder):
    before = load_task(folder), content_hash(folder)
    for path in ("workspace/shelf/__pycache__/orders.pyc", "workspace/.pytest_cache/README", ".ruff_cache/x"):
        (folder / path).parent.mkdir(parents=True)
        (folder / path).write_text("x")
    assert (load_task(folder), content_hash(folder)) == before


def test_the_hash_is_of_the_content_and_not_of_the_measures(folder):
    before = content_hash(folder)
    edit(folder / "task.toml", "source_lines = 15", "source_lines = 99  # measured")
    assert content_hash(folder) == before
    edit(folder / "task.toml", "difficulty = 2", "difficulty = 3")
    changed = content_hash(folder)
    assert changed != before
    (folder / "hidden" / "test_more.py").write_text("")
    assert content_hash(folder) != changed


def test_all_tasks_are_read_in_order_and_can_be_chosen(folder):
    root = folder.parent
    write_skeleton(root, "another_task")
    (root / "stamps").mkdir()
    edit(root / "another_task" / "task.toml", 'split = "train"', 'split = "test"')
    assert [task.id for task in load_all(root)] == ["another_task", "sample_task"]
    assert [task.id for task in load_all(root, split=Split.TEST)] == ["another_task"]
    assert [task.id for task in load_all(root, family="locks")] == []
    assert [task.id for task in load_all(root, ids=["sample_task"])] == ["sample_task"]
    with pytest.raises(TaskError, match="There is no task missing_task"):
        load_all(root, ids=["missing_task"])


def test_the_tasks_are_found_from_below_and_in_the_checkout(folder, tmp_path):
    assert find_tasks_root(folder / "workspace") == folder.parent
    assert find_tasks_root(tmp_path) == folder.parent
    shutil.rmtree(folder)
    assert find_tasks_root(tmp_path) == Path(__file__).parents[2] / "tasks"


@pytest.mark.parametrize(
    ("points", "difficulty"), [(1, 1), (2, 1), (3, 2), (4, 3), (5, 3), (7, 4), (8, 5), (11, 5)]
)
def test_points_stand_for_a_difficulty(points, difficulty):
    assert difficulty_of(points) == difficulty
