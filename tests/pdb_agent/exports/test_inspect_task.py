"""Runs where Inspect AI is installed; it is no dependency of ours."""

import importlib.util
from pathlib import Path
from typing import Any

import pytest
from pdb_agent.exports.conversation import ExportError
from pdb_agent.exports.inspect_task import inspect_task
from pdb_agent.messages import AssistantMessage, ToolSpec
from pdb_agent.policies.oracle import OraclePolicy
from pdb_agent.policy import Sampling
from pdb_agent.task_files import load_task

TASKS = Path("tasks")
TASK = "reentrant_lock_owner"
HAS_INSPECT = importlib.util.find_spec("inspect_ai") is not None


@pytest.mark.skipif(HAS_INSPECT, reason="Inspect AI is here")
def test_without_inspect_it_says_what_to_install():
    with pytest.raises(ExportError, match="pip install inspect-ai"):
        inspect_task(root=TASKS, ids=[TASK])


@pytest.mark.slow
@pytest.mark.skipif(not HAS_INSPECT, reason="needs Inspect AI: pip install inspect-ai")
def test_inspect_runs_a_task_with_its_own_model_and_scores_it(tmp_path: Path):
    import inspect_ai  # pyright: ignore[reportMissingImports] - optional
    from inspect_ai import model as models  # pyright: ignore[reportMissingImports] - optional

    oracle = OraclePolicy(load_task(TASKS / TASK))

    def reply(messages: list[Any], tools: list[Any], choice: Any, config: Any) -> Any:
        said = [AssistantMessage(text="") for message in messages if message.role == "assistant"]
        specs = [ToolSpec(name=tool.name, description="", schema={}) for tool in tools]
        step = oracle.respond("", said, specs, Sampling())
        with pytest.raises(StopIteration) as ended:  # it never waits
            step.send(None)
        [call] = ended.value.value.message.calls
        output: Any = models.ModelOutput.for_tool_call("mockllm/model", call.name, dict(call.arguments))
        output.usage = models.ModelUsage(input_tokens=10, output_tokens=5, total_tokens=15)
        return output

    model: Any = models.get_model("mockllm/model", custom_outputs=reply)
    [log] = inspect_ai.eval(
        inspect_task(root=TASKS, ids=[TASK]), model=model, display="none", log_dir=str(tmp_path)
    )
    assert log.status == "success"
    assert log.samples[0].scores["pdb_agent_grading"].value == "C"
    assert [message.role for message in log.samples[0].messages[:3]] == ["system", "user", "assistant"]
