"""Our tasks for trainers that know environments in the manner of ``verifiers``.

``load_environment`` gives an environment that needs no package: rows with a prompt, and rollouts with a
reward of 1.0 for a task that is solved. A trainer hands in its chat client, and gets messages back.

``verifiers_plugin`` makes a task set and a harness for verifiers 0.4, whose commands find them by the name
of a module that you write::

    from pdb_agent.exports.verifiers_environment import verifiers_plugin

    DebuggingTaskset, DebuggingHarness = verifiers_plugin(split="train")
    __all__ = ["DebuggingHarness", "DebuggingTaskset"]

Install verifiers first and pdb-agent after it: verifiers 0.4 pins an MCP SDK that is older than ours, which
pip says and which does no harm here, for none of its MCP servers takes part.
"""

import importlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from pdb_agent.episode import ExitReason
from pdb_agent.exports import openai_chat
from pdb_agent.exports.chat_client_policy import ChatClientPolicy
from pdb_agent.exports.conversation import ExportError
from pdb_agent.exports.foreign_tasks import Finished, TaskChoice, run_one
from pdb_agent.task import Task

_TRUNCATED = frozenset(
    {ExitReason.TURN_CAP, ExitReason.CONTEXT, ExitReason.TOKEN_BUDGET, ExitReason.WALL_TIME}
)
_PROMPT_MESSAGES = 2
"""System and task."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rollout:
    """One episode as a trainer takes it."""

    task: str
    prompt: list[dict[str, Any]]
    completion: list[dict[str, Any]]
    """All messages after the prompt: the model's, the tools' and the harness's."""
    tools: list[dict[str, Any]]
    reward: float
    """1.0 for a task that is solved, 0.0 otherwise."""
    metrics: Mapping[str, float]
    stop_condition: str
    is_truncated: bool


class DebuggingEnvironment:
    """Tasks as rows, episodes as rollouts; holds no state between them."""

    def __init__(self, choice: TaskChoice) -> None:
        self._choice = choice
        self._tasks = {task.id: task for task in choice.tasks()}

    def rows(self) -> list[dict[str, Any]]:
        """One row per task: ``task``, ``prompt`` as chat messages, ``info``."""
        return [self._choice.row(task) for task in self._tasks.values()]

    async def rollout(
        self, client: Any, model: str, task: str, request: Mapping[str, Any] | None = None
    ) -> Rollout:
        """Run one episode of a task with a client that has ``chat.completions.create``.

        Raises ExportError for an unknown task and for an end that says nothing of the model, and what
        the client raises.
        """
        found = self._tasks.get(task)
        if found is None:
            raise ExportError(f"There is no task {task} here: rows() lists those there are.")
        policy = ChatClientPolicy(client=client, model=model, request=request or {})
        return _rollout(found, await run_one(found, policy, self._choice))


def load_environment(**choice: Any) -> DebuggingEnvironment:
    """An environment of the tasks of a ``TaskChoice``, such as ``split="train"``, ``toolset="debug"``."""
    return DebuggingEnvironment(TaskChoice(**choice))


def verifiers_plugin(**choice: Any) -> tuple[type, type]:
    """The task set and the harness for verifiers 0.4, as classes. Raises ExportError without the package."""
    try:
        vf: Any = importlib.import_module("verifiers.v1")
        results: Any = importlib.import_module("verifiers.v1.runtimes")
        openai: Any = importlib.import_module("openai")
    except ImportError as error:
        raise ExportError(f"This needs verifiers ({error}): pip install 'verifiers>=0.4'.") from error
    chosen = TaskChoice(**choice)
    return _taskset_class(vf, chosen), _harness_class(vf, results, openai, chosen)


def _taskset_class(vf: Any, choice: TaskChoice) -> type:
    class DebuggingTask(vf.Task[vf.TaskData, vf.State, vf.TaskConfig]):
        @vf.reward
        async def solved(self, trace: Any) -> float:
            return float(trace.info["pdb_agent"]["solved"])

    class DebuggingTaskset(vf.Taskset[DebuggingTask, vf.TasksetConfig]):
        def load(self) -> Iterator[Any]:
            for task in choice.tasks():
                system, first = choice.row(task)["prompt"]
                data = vf.TaskData(
                    id=task.id, name=task.id, prompt=first["content"], system_prompt=system["content"]
                )
                yield DebuggingTask(data, self.config.task)

    return DebuggingTaskset


def _harness_class(vf: Any, results: Any, openai: Any, choice: TaskChoice) -> type:
    """A harness that runs our loop in its own process: the programs run in our own sandbox."""
    tasks = {task.id: task for task in choice.tasks()}

    class DebuggingHarness(vf.Harness[vf.HarnessConfig]):
        APPENDS_SYSTEM_PROMPT = True
        EXECUTES_CODE = False
        NEEDS_CONTAINER = False

        async def launch(
            self,
            ctx: Any,
            trace: Any,
            runtime: Any,
            endpoint: str,
            secret: str,
            mcp_urls: Mapping[str, str],
            data: Any,
        ) -> Any:
            async with openai.AsyncOpenAI(base_url=endpoint, api_key=secret, max_retries=0) as client:
                policy = ChatClientPolicy(client=client, model=ctx.model, request={})
                finished = await run_one(tasks[data.id], policy, choice)
            trace.info["pdb_agent"] = {"solved": finished.episode.solved, **_metrics(finished)}
            trace.record_metrics(_metrics(finished))
            return results.ProgramResult(exit_code=0, stdout="", stderr="")

    return DebuggingHarness


def _rollout(task: Task, finished: Finished) -> Rollout:
    line = openai_chat.export(finished.episode)
    messages: list[dict[str, Any]] = line["messages"]
    return Rollout(
        task=task.id,
        prompt=messages[:_PROMPT_MESSAGES],
        completion=messages[_PROMPT_MESSAGES:],
        tools=line["tools"],
        reward=float(finished.episode.solved),
        metrics=_metrics(finished),
        stop_condition=finished.ended.reason.value,
        is_truncated=finished.ended.reason in _TRUNCATED,
    )


def _metrics(finished: Finished) -> dict[str, float]:
    """Numbers beside the reward: tests that passed as shares, turns, tokens."""
    ended = finished.ended
    groups = ended.graded.groups if ended.graded else ()
    shares = {f"{group.name}_passed": group.passed / group.total for group in groups if group.total}
    return {**shares, "turns": float(ended.turns), "output_tokens": float(ended.usage.output)}
