"""A trainer's client against a real task in a real sandbox."""

import importlib.util
from pathlib import Path

import pytest
from pdb_agent.exports.conversation import ExportError
from pdb_agent.exports.verifiers_environment import DebuggingEnvironment, load_environment, verifiers_plugin
from pdb_agent.task_files import load_task

from tests.pdb_agent.exports.oracle_client import OracleClient

TASKS = Path("tasks")
TASK = "reentrant_lock_owner"
pytestmark = pytest.mark.anyio


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
def environment() -> DebuggingEnvironment:
    return load_environment(root=TASKS, ids=[TASK])


def test_rows_hold_the_prompt_and_nothing_of_the_grading(environment: DebuggingEnvironment):
    [row] = environment.rows()
    task = load_task(TASKS / TASK)
    assert row["task"] == TASK
    assert [message["role"] for message in row["prompt"]] == ["system", "user"]
    assert task.target in row["prompt"][1]["content"]
    hidden = "".join(content.decode() for content in task.hidden.values())
    names = [
        line.split("(")[0].removeprefix("def ")
        for line in hidden.splitlines()
        if line.startswith("def test_")
    ]
    assert names
    assert not any(name in str(row) for name in names)


@pytest.mark.slow
async def test_a_rollout_that_solves_its_task_is_worth_one(environment: DebuggingEnvironment):
    client = OracleClient(load_task(TASKS / TASK))
    rollout = await environment.rollout(client, "small", TASK, {"temperature": 0.7})
    assert (rollout.reward, rollout.stop_condition, rollout.is_truncated) == (1.0, "done", False)
    assert rollout.metrics["hidden_passed"] == 1.0
    assert rollout.prompt == environment.rows()[0]["prompt"]
    assert rollout.completion[0]["tool_calls"][0]["function"]["name"] == "run_tests"
    assert rollout.completion[-1]["role"] == "tool"
    assert client.requests[0]["messages"] == rollout.prompt
    assert (client.requests[0]["model"], client.requests[0]["temperature"]) == ("small", 0.7)
    assert "start_debugger" in {tool["function"]["name"] for tool in rollout.tools}


@pytest.mark.slow
async def test_a_rollout_that_gives_up_is_worth_nothing(environment: DebuggingEnvironment):
    client = OracleClient(load_task(TASKS / TASK), gives_up=True)
    rollout = await environment.rollout(client, "small", TASK)
    assert rollout.reward == 0.0
    assert rollout.metrics["fail_to_pass_passed"] == 0.0


async def test_an_unknown_task_and_an_empty_choice_are_refused(environment: DebuggingEnvironment):
    with pytest.raises(ExportError, match="rows"):
        await environment.rollout(None, "small", "no_such_task")
    with pytest.raises(ExportError, match="tasks list"):
        load_environment(root=TASKS, ids=["no_such_task"])


@pytest.mark.skipif(importlib.util.find_spec("verifiers") is not None, reason="verifiers is here")
def test_the_plugin_says_what_to_install():
    with pytest.raises(ExportError, match="pip install 'verifiers"):
        verifiers_plugin(root=TASKS, ids=[TASK])
