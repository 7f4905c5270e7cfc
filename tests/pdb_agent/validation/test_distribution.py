from dataclasses import replace

from pdb_agent.task import Split
from pdb_agent.task_files import load_task
from pdb_agent.task_schema import FAMILIES
from pdb_agent.validation.distribution import check_distribution, totals


def balanced(sample):
    """One task of each family, in the sizes that are wanted."""
    task = load_task(sample.folder)
    return [
        replace(task, id=family, group=family, family=family, source_lines=130, source_files=3)
        for family in FAMILIES
    ]


def test_a_balanced_set_lacks_nothing(sample):
    assert check_distribution(balanced(sample)) == []


def test_a_family_without_a_task_is_named(sample):
    assert check_distribution(balanced(sample)[1:]) == [
        "No task is of the family aliasing: write one of each."
    ]


def test_medians_outside_their_bounds_are_told(sample):
    tasks = [replace(task, source_lines=90, source_files=2) for task in balanced(sample)]
    assert check_distribution(tasks) == [
        "The median of source_lines is 90, outside 120 to 145: balance small and large tasks.",
        "The median of source_files is 2, not 3: balance small and large tasks.",
    ]


def test_a_group_that_is_divided_between_splits_is_named(sample):
    tasks = balanced(sample)
    tasks.append(replace(tasks[0], id="again", split=Split.TEST))
    assert check_distribution(tasks) == [
        "The group aliasing is divided between test and train: move it into one split."
    ]


def test_totals_count_by_each_property(sample):
    task = load_task(sample.folder)
    tasks = [task, replace(task, family="locks", difficulty=5), replace(task, split=Split.TEST)]
    assert totals(tasks) == {
        "family": {"aliasing": 2, "locks": 1},
        "preference": {"recommended": 3},
        "difficulty": {"2": 2, "5": 1},
        "split": {"test": 1, "train": 2},
    }
