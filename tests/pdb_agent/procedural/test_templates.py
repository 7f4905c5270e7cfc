"""The semantic templates, their programs really run."""

from dataclasses import replace
from fnmatch import fnmatchcase

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pdb_agent.errors import TaskError
from pdb_agent.patches import apply_patch, changed_line_count, changed_paths, reverse_patch
from pdb_agent.procedural.templates.catalogue import TemplateName, build
from pdb_agent.procedural.validity import check, check_all
from pdb_agent.reach import is_test_file
from pdb_agent.task import Patch, Split
from pdb_agent.task_files import load_task
from pdb_agent.task_writer import write
from pdb_agent.validation.validating import check_text

_templates = st.sampled_from(list(TemplateName))
_numbers = st.integers(min_value=0, max_value=2**63)
few = settings(max_examples=30)


@pytest.mark.slow
@pytest.mark.parametrize("template", TemplateName)
def test_five_tasks_of_a_template_are_distinct_and_valid(template):
    tasks = [build(template, number, Split.TRAIN) for number in range(5)]

    assert len({repr(task.workspace) for task in tasks}) == 5
    check_all(tasks)


@few
@given(_templates, _numbers)
def test_the_same_number_gives_the_same_task(template, number):
    assert build(template, number, Split.TRAIN) == build(template, number, Split.TRAIN)


@few
@given(_templates, _numbers)
def test_the_solution_reverses_and_touches_one_editable_file(template, number):
    task = build(template, number, Split.TRAIN)
    solved = apply_patch(task.solution, task.workspace)
    (path,) = changed_paths(task.solution)

    assert fnmatchcase(path, *task.editable)
    assert changed_line_count(task.solution) <= 10
    assert reverse_patch(task.solution, solved) == task.workspace


@few
@given(_templates, _numbers)
def test_a_task_has_two_to_four_files_of_source_two_decoys_and_a_witness(template, number):
    task = build(template, number, Split.VALIDATION)
    sources = [path for path, text in task.workspace.items() if path.endswith(".py") and text]

    assert 2 <= sum(not is_test_file(path) for path in sources) <= 4
    assert len(task.decoys) == 2
    assert task.witness is not None
    assert task.split is Split.VALIDATION
    assert task.group == template


@pytest.mark.parametrize("template", TemplateName)
def test_a_task_that_is_written_is_read_again_and_its_text_keeps_all_rules(template, tmp_path):
    task = build(template, 3, Split.TRAIN)
    write(task, tmp_path / task.id)
    read = load_task(tmp_path / task.id)

    assert replace(read, content_hash="", folder=task.folder) == task
    assert check_text(read) == []


@pytest.mark.slow
def test_a_task_whose_solution_solves_nothing_is_refused():
    task = build(TemplateName.DROPPED_COPY, 0, Split.TRAIN)
    useless = task.decoys[0]

    with pytest.raises(TaskError, match=r"with the solution, hidden/.* failed"):
        check(replace(task, solution=Patch(name="fix", text=useless.text)))


@pytest.mark.slow
def test_a_task_whose_decoy_solves_it_is_refused():
    task = build(TemplateName.EARLY_RETURN, 0, Split.TRAIN)
    decoy = Patch(name="too_good", text=task.solution.text)

    with pytest.raises(TaskError, match="with the decoy too_good, every hidden test passes"):
        check(replace(task, decoys=(decoy,)))


@pytest.mark.slow
def test_a_test_that_never_ends_makes_a_task_invalid_and_not_the_check_hang():
    task = build(TemplateName.LATE_BINDING, 0, Split.TRAIN)
    path = next(path for path in task.workspace if is_test_file(path))
    endless = task.workspace[path] + b"\n\ndef test_endless():\n    while True:\n        pass\n"

    with pytest.raises(TaskError, match="test_endless"):
        check(
            replace(
                task,
                workspace={**task.workspace, path: endless},
                pass_to_pass=(*task.pass_to_pass, f"{path}::test_endless"),
                decoys=(),
            )
        )


@pytest.mark.slow
def test_a_test_module_that_cannot_be_imported_makes_a_task_invalid():
    task = build(TemplateName.LATE_BINDING, 0, Split.TRAIN)
    path = next(path for path in task.workspace if is_test_file(path))

    with pytest.raises(TaskError, match=r"before the solution, .*elsewhere"):
        check(replace(task, workspace={**task.workspace, path: b"import elsewhere\n"}))
