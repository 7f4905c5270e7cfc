from pdb_agent.procedural.gym import LabFamily
from pdb_agent.task import Split
from pdb_trainer.labs.settings import LabTasksConfig
from pdb_trainer.labs.task_sets import TaskSets, shared_programs, task_sets, to_measure

SMALL = LabTasksConfig(primer=40, oracle=15, practice=20, held_out=30)


def made() -> TaskSets:
    return task_sets(SMALL)


def test_no_program_that_is_measured_was_ever_met_under_any_name_or_defect() -> None:
    sets = made()
    met = (*sets.primer, *sets.oracle, *sets.practice)

    assert shared_programs((*sets.held_out, *sets.fixed), met) == set()


def test_programs_that_are_measured_differ_from_each_other() -> None:
    sets = made()
    measured = (*sets.held_out, *sets.fixed)

    assert len({task.fingerprint for task in measured}) == len(measured) == 40


def test_every_family_is_measured() -> None:
    assert {task.family for task in made().held_out} == set(LabFamily)


def test_what_is_practised_was_not_imitated() -> None:
    sets = made()

    assert [len(sets.oracle), len(sets.practice)] == [15, 20]
    assert {task.name for task in sets.oracle}.isdisjoint(task.name for task in sets.practice)


def test_the_same_settings_give_the_same_sets() -> None:
    assert made() == made()


def test_a_task_to_measure_is_of_the_test_split_and_has_its_menu() -> None:
    gym_task = made().held_out[0]
    task, menu = to_measure(gym_task)

    assert task.split is Split.TEST
    assert list(menu) == [str(entry.operation) for entry in gym_task.edit_operations]
    assert menu[str(gym_task.right_operation)][gym_task.source_path] == gym_task.solved_source
