from dataclasses import replace

import pytest
from pdb_agent.errors import TaskError
from pdb_agent.grading.verdict import Tier
from pdb_agent.task_files import content_hash, load_task
from pdb_agent.validation.stamp import RULES_VERSION, Stamp, read_stamp, stamp_path, tier_of, write_stamp


def stamp_of(sample, **changes) -> Stamp:
    stamp = Stamp(
        id="sample_task",
        content_hash=content_hash(sample.folder),
        rules_version=RULES_VERSION,
        pythons=("3.10.13", "3.11.7"),
        repeats=10,
        outcome="valid",
        tier="B",
    )
    return replace(stamp, **changes)


def test_a_stamp_comes_back_as_it_was_written(sample):
    write_stamp(sample.folder, stamp_of(sample))
    assert stamp_path(sample.folder) == sample.folder.parent / "stamps" / "sample_task.json"
    assert read_stamp(load_task(sample.folder)) == stamp_of(sample)


def test_a_stamp_is_valid_until_the_task_changes(sample):
    stamp = stamp_of(sample)
    assert stamp.is_valid_for(load_task(sample.folder))
    sample.append("workspace/README.md", "\nMore.\n")
    assert not stamp.is_valid_for(load_task(sample.folder))


@pytest.mark.parametrize("change", [{"outcome": "V5, V8"}, {"rules_version": RULES_VERSION - 1}])
def test_a_stamp_of_a_task_that_failed_or_of_older_rules_is_not_valid(sample, change):
    assert not stamp_of(sample, **change).is_valid_for(load_task(sample.folder))


def test_a_task_is_graded_by_the_tier_of_its_valid_stamp_or_by_the_one_that_hosts_all(sample):
    assert tier_of(load_task(sample.folder)) is Tier.SAME_PROCESS
    write_stamp(sample.folder, stamp_of(sample))
    assert tier_of(load_task(sample.folder)) is Tier.BOUNDARY
    sample.append("workspace/README.md", "\nMore.\n")
    assert tier_of(load_task(sample.folder)) is Tier.SAME_PROCESS


def test_a_file_that_is_no_stamp_is_refused(sample):
    write_stamp(sample.folder, stamp_of(sample))
    stamp_path(sample.folder).write_text('{"id": "sample_task"}')
    with pytest.raises(
        TaskError, match=r"is no stamp .*: delete it and run `pdb-agent tasks validate sample_task`"
    ):
        read_stamp(load_task(sample.folder))
