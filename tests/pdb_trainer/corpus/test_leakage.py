"""Whatever models are measured on is refused by its name, in every guise."""

import dataclasses
from collections.abc import Mapping

import pytest
from pdb_agent.episode import Started
from pdb_agent.procedural.gym import GymTask, LabFamily, generate, held_out
from pdb_agent.procedural.gym_tasks import as_task
from pdb_agent.task import Split, Task
from pdb_agent.task_files import find_tasks_root, load_all
from pdb_trainer.corpus.leakage import (
    LeakageGuard,
    SourceTask,
    gym_task,
    open_guard,
    source_task,
    task_to_learn,
)
from pdb_trainer.errors import LeakageError

from tests.pdb_agent.episode_making import started

TASKS = load_all(find_tasks_root())
FORBIDDEN = next(task for task in TASKS if task.split is Split.TEST)
GUARD = open_guard()


def harmless(**changes: object) -> SourceTask:
    given: dict[str, object] = {
        "id": "mine",
        "content_hash": "1234",
        "group": "mine",
        "split": "train",
        "sources": {"a.py": "def a(b):\n    return b + 1\n"},
    }
    return SourceTask(**given | changes)  # pyright: ignore[reportArgumentType]


def of_gym(task: GymTask, name: str | None = None, split: str = "train") -> Started:
    files = {path: content.decode() for path, content in task.workspace.items()}
    return started(task=name or task.name, split=split, files=files)


def sources_of(task: Task) -> Mapping[str, str]:
    return task_to_learn(task).sources


@pytest.mark.parametrize(
    "task", [task for task in TASKS if task.split is Split.TRAIN], ids=lambda task: task.id
)
def test_every_task_of_the_training_split_may_be_learnt_from(task: Task):
    GUARD.check(task_to_learn(task))


@pytest.mark.parametrize(
    "task", [task for task in TASKS if task.split is not Split.TRAIN], ids=lambda task: task.id
)
def test_every_other_task_is_refused_by_its_name(task: Task):
    with pytest.raises(LeakageError, match=f"{task.id} is of the {task.split} split"):
        GUARD.check(task_to_learn(task))
    with pytest.raises(LeakageError, match=f"{task.id} has the name of {task.id}"):
        GUARD.check(dataclasses.replace(task_to_learn(task), split="train"))


def test_the_content_of_a_forbidden_task_is_refused_under_another_name():
    with pytest.raises(
        LeakageError, match=rf"mine has the content of {FORBIDDEN.id}, which is of the test split"
    ):
        GUARD.check(harmless(content_hash=FORBIDDEN.content_hash))


def test_a_task_of_a_forbidden_group_is_refused():
    with pytest.raises(LeakageError, match=rf"mine is of the group of {FORBIDDEN.id}"):
        GUARD.check(harmless(group=FORBIDDEN.group))


def test_nearly_the_source_of_a_forbidden_task_is_refused_and_no_python_is_like_nothing():
    mostly = dict(sources_of(FORBIDDEN)) | {"more.py": "def more(a):\n    return a * 2 + 1\n"}
    with pytest.raises(LeakageError, match=rf"mine has nearly the source of {FORBIDDEN.id}"):
        GUARD.check(harmless(sources=mostly))
    assert GUARD.objection(harmless()) is None
    assert GUARD.objection(harmless(sources={"a.py": "this is no Python ("})) is None


def test_a_program_that_the_gym_holds_out_is_refused_whatever_it_is_called():
    for task in held_out():
        renamed = {
            f"other_{path}": content.decode().replace(task.function, "other")
            for path, content in task.workspace.items()
        }
        broken = [entry.files[task.source_path].decode() for entry in task.edit_operations if entry.applies]
        for source in (renamed[f"other_{task.source_path}"], task.solved_source.decode(), *broken):
            with pytest.raises(LeakageError, match=rf"mine has the program of {task.name}"):
                GUARD.check(harmless(sources={"other.py": source}))


def test_a_task_of_the_gym_that_is_held_out_is_refused_by_its_split():
    task = held_out()[0]
    with pytest.raises(LeakageError, match=rf"{task.name} is of the test split"):
        GUARD.check(source_task(of_gym(task, split="test"), "gym_minmax"))


@pytest.mark.parametrize("name", ["gym_minmax_43", "gym_range_58", "gym_init_0"])
def test_a_task_of_the_gym_may_look_like_another_program_by_its_defect(name: str):
    made = gym_task(name)
    assert made is not None
    GUARD.check(source_task(of_gym(made), None))
    source = made.workspace[made.source_path].decode()
    is_lookalike = GUARD.objection(harmless(sources={"other.py": source})) is not None
    assert is_lookalike == (name != "gym_init_0")


def test_a_guard_may_hold_out_more_of_the_gym():
    kept = [generate(LabFamily.RANGE, seed) for seed in range(3)]
    guard = LeakageGuard((), kept)
    with pytest.raises(LeakageError, match="gym_range_1 has the program of gym_range_1"):
        guard.check(source_task(of_gym(kept[1]), None))
    assert not guard.allows(kept[1])
    free = generate(LabFamily.MINMAX, 0)
    guard.check(source_task(of_gym(free), None))
    assert guard.allows(free)


def test_a_task_that_only_bears_the_name_of_one_of_the_gym_is_judged_by_its_source():
    task = held_out()[0]
    disguised = source_task(of_gym(task, name="gym_minmax_0"), None)
    assert disguised.program is None
    with pytest.raises(LeakageError, match=f"has the program of {task.name}"):
        GUARD.check(disguised)


def test_programs_of_one_shape_are_one_group_whatever_their_defect():
    made = [generate(family, seed) for family in LabFamily for seed in range(3)]
    groups = {task.name: source_task(of_gym(task), "gym_any").group for task in made}
    assert groups == {task.name: f"gym_{task.shape}" for task in made}
    assert source_task(started(), "carts").group == "carts"


def test_names_that_the_gym_does_not_give_are_none_of_its_tasks():
    assert gym_task("gym_minmax_held_1") is None
    assert gym_task("gym_other_1") is None
    assert gym_task("minmax_1") is None
    found = gym_task("gym_zero_3")
    assert found is not None
    assert as_task(found, Split.TRAIN).id == "gym_zero_3"


def test_tests_are_no_source():
    assert [*source_task(started(), None).sources] == ["shop/cart.py", "shop/pricing.py"]
