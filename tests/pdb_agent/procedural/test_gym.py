"""The procedural gym, its programs really run."""

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pdb_agent.patches import apply_patch, changed_line_count, reverse_patch
from pdb_agent.procedural.gym import LabFamily, generate, held_out
from pdb_agent.procedural.gym_tasks import as_task
from pdb_agent.procedural.shape import Operation
from pdb_agent.procedural.validity import check_all, check_operations
from pdb_agent.task import Split

_families = st.sampled_from(list(LabFamily))
_seeds = st.integers(min_value=0, max_value=2**63)
few = settings(max_examples=50)


@pytest.mark.slow
@pytest.mark.parametrize("family", LabFamily)
def test_a_hundred_tasks_of_a_family_are_distinct_and_valid(family):
    tasks = [generate(family, seed) for seed in range(100)]

    assert len({task.workspace[task.source_path] for task in tasks}) == 100
    assert len({task.fingerprint for task in tasks}) > 80
    assert len({task.shape for task in tasks}) >= 5
    check_all([as_task(task, Split.TRAIN) for task in tasks])


@pytest.mark.slow
@pytest.mark.parametrize("family", LabFamily)
def test_of_the_edit_menu_only_the_right_operation_solves_a_task(family):
    check_operations([generate(family, seed) for seed in range(40)])


@pytest.mark.slow
def test_the_held_out_tasks_are_valid_two_of_each_family():
    tasks = held_out()

    assert [task.family for task in tasks] == [family for family in LabFamily for _ in range(2)]
    assert len({task.fingerprint for task in tasks}) == 10
    check_all([as_task(task, Split.TEST) for task in tasks])
    check_operations(tasks)


@few
@given(_families, _seeds)
def test_a_held_out_program_is_never_generated(family, seed):
    assert generate(family, seed).fingerprint not in {task.fingerprint for task in held_out()}


def test_a_negative_seed_is_refused_because_it_is_held_out():
    with pytest.raises(ValueError, match="give one from 0 on"):
        generate(LabFamily.INIT, -1)


@few
@given(_families, _seeds)
def test_the_same_seed_gives_the_same_task(family, seed):
    assert generate(family, seed) == generate(family, seed)


@few
@given(_families, _seeds)
def test_the_right_operation_is_the_solution_and_that_is_one_line(family, seed):
    task = generate(family, seed)
    (right,) = [entry for entry in task.edit_operations if entry.operation is task.right_operation]
    solved = apply_patch(task.solution, task.workspace)

    assert {**task.workspace, **right.files} == solved
    assert reverse_patch(task.solution, solved) == dict(sorted(task.workspace.items()))
    assert changed_line_count(task.solution) == 2
    assert task.solution_line in task.solved_source.decode().splitlines()


@few
@given(_families, _seeds)
def test_the_menu_is_the_same_for_every_task_and_some_of_it_does_not_apply(family, seed):
    task = generate(family, seed)

    assert [entry.operation for entry in task.edit_operations] == list(Operation)
    assert 2 <= sum(entry.applies for entry in task.edit_operations) < len(Operation)


@few
@given(_families, _seeds)
def test_visible_and_hidden_tests_have_no_input_in_common(family, seed):
    tests = generate(family, seed).tests
    visible, hidden = ({repr(case.arguments) for case in cases} for cases in (tests.visible, tests.hidden))

    assert 2 <= len(visible) == len(tests.visible) <= 4
    assert 4 <= len(hidden) == len(tests.hidden) <= 8
    assert not visible & hidden
    assert tests.failing


@few
@given(_families, _seeds)
def test_nothing_in_the_workspace_names_the_family_or_the_defect(family, seed):
    task = generate(family, seed)
    text = "".join(path + content.decode() for path, content in task.workspace.items()).lower()
    words = set(re.split(r"[^a-z]+", text))

    assert not words & {
        "bug",
        "fix",
        "wrong",
        "should",
        "hack",
        "todo",
        "broken",
        "incorrect",
        "init",
        "minmax",
    }
    assert task.family not in re.split(r"[_.]", task.function)
