"""The manifest: what a run was made with."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
from pdb_agent.config import RunConfig, config_of, read_config
from pdb_agent.manifest import PACKAGES, commit, describe_tasks, make_manifest, task_set_hash
from pdb_agent.prompt import prompt_hash
from pdb_agent.task import Task
from pdb_agent.task_files import load_task

from tests.pdb_agent.tools.working import task_of

TASKS = Path(__file__).resolve().parents[2] / "tasks"


@pytest.fixture(scope="module")
def task() -> Task:
    return load_task(TASKS / "pagination_window")


def test_the_settings_come_back_from_a_manifest_on_disk(task: Task):
    config = read_config(
        None, ["limits.cost=0.25", "arms.a.toolset=compound", "tasks.ids=['pagination_window']"]
    )
    manifest = make_manifest(
        config, [task], sandbox={"backend": "bubblewrap"}, tiers={task.id: "B"}, tools={"debug": "abc"}
    )
    read = json.loads(json.dumps(manifest))
    assert read == manifest
    assert RunConfig.model_validate_json(json.dumps(read["config"])) == config
    assert read["sandbox"] == {"backend": "bubblewrap"}
    assert read["grading_tiers"] == {task.id: "B"}
    assert read["prompt"] == prompt_hash()


def test_versions_of_all_that_speaks_in_a_run_are_there(task: Task):
    manifest = make_manifest(RunConfig(), [task], sandbox={}, tiers={}, tools={})
    assert manifest["packages"].keys() == set(PACKAGES)
    assert manifest["packages"]["mcp"]
    assert manifest["python"].startswith("3.")


def test_sets_of_tasks_are_told_apart_by_ids_and_contents_and_not_by_order(task: Task):
    other = task_of()
    assert task_set_hash([task, other]) == task_set_hash([other, task])
    assert task_set_hash([task]) != task_set_hash([task, other])
    assert task_set_hash([task]) != task_set_hash([replace(task, content_hash="changed")])
    assert task_set_hash([task]) != task_set_hash([replace(task, id="other")])


def test_nothing_hidden_is_in_what_reports_are_told_of_tasks(task: Task):
    described = describe_tasks([task])
    assert described[task.id]["preference"] == task.preference
    assert described[task.id].keys().isdisjoint({"hidden", "solution", "workspace", "decoys", "witness"})
    text = json.dumps(described)
    assert not [path for path in task.hidden if path in text]


def test_no_key_gets_into_a_manifest(task: Task, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")
    config = config_of({"policy": {"name": "openai/gpt", "key_variable": "OPENAI_API_KEY"}})
    assert "sk-secret" not in json.dumps(make_manifest(config, [task], sandbox={}, tiers={}, tools={}))


def test_the_commit_is_known_in_a_checkout():
    found = commit()
    assert found is not None
    assert len(found.rstrip("+")) == 40
