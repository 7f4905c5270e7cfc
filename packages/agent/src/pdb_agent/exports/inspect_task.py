"""Our tasks for Inspect AI: its models, its logs, our loop, sandbox and grading.

Inspect finds tasks by their decorator, so write a file of four lines and run ``inspect eval`` on it::

    from inspect_ai import task
    from pdb_agent.exports.inspect_task import inspect_task

    @task
    def debugging(): return inspect_task(split="test", toolset="debug")
"""

import importlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from pdb_agent.exports.conversation import ExportError, Spoken, conversation_of
from pdb_agent.exports.foreign_tasks import Finished, TaskChoice, run_one
from pdb_agent.messages import (
    AssistantMessage,
    Call,
    CallStatus,
    Message,
    Reply,
    Stop,
    ToolMessage,
    ToolResult,
    ToolSpec,
    Usage,
    UserMessage,
)
from pdb_agent.policies.call_parsing import replayable_arguments
from pdb_agent.policies.wire import as_json
from pdb_agent.policy import ContextOverflowError, Sampling

_STOPS = {
    "stop": Stop.END,
    "tool_calls": Stop.CALLS,
    "max_tokens": Stop.MAX_TOKENS,
    "content_filter": Stop.REFUSAL,
}
_VERDICT = "pdb_agent"


def inspect_task(**choice: Any) -> Any:
    """An Inspect task of the tasks of a ``TaskChoice``. Raises ExportError without the package."""
    inspect_ai = _package("inspect_ai")
    dataset = _package("inspect_ai.dataset")
    chosen = TaskChoice(**choice)
    tasks = {task.id: task for task in chosen.tasks()}
    samples = [
        dataset.Sample(id=row["task"], input=row["prompt"][1]["content"], metadata=row["info"])
        for row in map(chosen.row, tasks.values())
    ]
    return inspect_ai.Task(
        dataset=dataset.MemoryDataset(samples, name="pdb-agent"),
        solver=_solver(tasks, chosen),
        scorer=_scorer(),
        name="pdb_agent",
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class InspectPolicy:
    """Asks an Inspect model (meets ``Policy``); what it raises is Inspect's to handle."""

    model: Any

    @property
    def name(self) -> str:
        """``inspect/model``."""
        return f"inspect/{self.model}"

    async def respond(
        self, system: str, messages: Sequence[Message], tools: Sequence[ToolSpec], sampling: Sampling
    ) -> Reply:
        """The next reply. Raises ContextOverflowError when the model says so."""
        package = _package("inspect_ai.model")
        config = package.GenerateConfig(
            max_tokens=sampling.max_output_tokens,
            temperature=sampling.temperature,
            top_p=sampling.top_p,
            seed=sampling.seed,
        )
        output = await self.model.generate(
            [package.ChatMessageSystem(content=system), *inspect_messages(messages)],
            tools=[_tool(tool) for tool in tools],
            config=config,
        )
        if output.stop_reason == "model_length":
            raise ContextOverflowError(f"{self.name} says that the conversation is longer than it takes.")
        return _reply(output, self.name)

    async def aclose(self) -> None:
        """The model is Inspect's to close."""


def inspect_messages(messages: Sequence[Message]) -> list[Any]:
    """A conversation as Inspect's messages; its own, reasoning included, come back as they were."""
    package = _package("inspect_ai.model")
    shown: list[Any] = []
    for message in messages:
        match message:
            case UserMessage():
                shown.append(package.ChatMessageUser(content=message.text))
            case AssistantMessage():
                shown.append(_assistant(package, message))
            case ToolMessage():
                shown += [_answer(package, result) for result in message.results]
    return shown


def _assistant(package: Any, message: AssistantMessage) -> Any:
    if message.native:
        return package.ChatMessageAssistant.model_validate(message.native[0])
    tool = _package("inspect_ai.tool")
    calls = [
        tool.ToolCall(id=call.id, function=call.name, arguments=dict(replayable_arguments(call)))
        for call in message.calls
    ]
    return package.ChatMessageAssistant(content=message.text, tool_calls=calls or None)


def _answer(package: Any, result: ToolResult) -> Any:
    error = None
    if result.status not in (CallStatus.OK, CallStatus.NOT_RUN):
        kinds = {CallStatus.TIMED_OUT: "timeout", CallStatus.MALFORMED: "parsing"}
        tool = _package("inspect_ai.tool")
        error = tool.ToolCallError(kinds.get(result.status, "unknown"), result.text)
    return package.ChatMessageTool(
        content=result.text, tool_call_id=result.call_id, function=result.name, error=error
    )


def _reply(output: Any, name: str) -> Reply:
    message, usage = output.message, output.usage
    calls = tuple(
        Call(
            id=call.id,
            name=call.function,
            arguments=None if call.parse_error else call.arguments,
            raw=as_json(call.arguments),
            error=call.parse_error,
        )
        for call in message.tool_calls or ()
    )
    reasoning = (
        []
        if isinstance(message.content, str)
        else [part.reasoning for part in message.content if part.type == "reasoning"]
    )
    return Reply(
        message=AssistantMessage(
            text=message.text,
            reasoning="\n".join(reasoning),
            calls=calls,
            native=(message.model_dump(mode="json"),),
            native_of=name,
        ),
        stop=_STOPS.get(output.stop_reason, Stop.CALLS if calls else Stop.END),
        usage=_usage(usage),
        model=output.model,
    )


def _usage(usage: Any) -> Usage:
    if usage is None:
        return Usage()
    return Usage(
        input=usage.input_tokens,
        cache_read=usage.input_tokens_cache_read or 0,
        cache_write=usage.input_tokens_cache_write or 0,
        output=usage.output_tokens,
        reasoning=usage.reasoning_tokens or 0,
    )


def _tool(spec: ToolSpec) -> Any:
    tool = _package("inspect_ai.tool")
    return tool.ToolInfo(
        name=spec.name,
        description=spec.description,
        parameters=tool.ToolParams.model_validate(dict(spec.schema)),
    )


def _solver(tasks: Any, choice: TaskChoice) -> Any:
    package, model = _package("inspect_ai.solver"), _package("inspect_ai.model")

    @package.solver(name="pdb_agent_loop")
    def loop() -> Any:
        async def solve(state: Any, generate: Any) -> Any:
            finished = await run_one(tasks[state.sample_id], InspectPolicy(model=model.get_model()), choice)
            _fill(state, finished, model)
            return state

        return solve

    return loop()


def _fill(state: Any, finished: Finished, package: Any) -> None:
    """Put the conversation and the verdict where Inspect's log and the scorer find them."""
    started = finished.episode.started
    conversation = messages_of(finished)
    state.messages = [package.ChatMessageSystem(content=started.system), *inspect_messages(conversation)]
    graded = finished.ended.graded
    state.store.set(
        _VERDICT,
        {
            "solved": finished.episode.solved,
            "exit_reason": finished.ended.reason.value,
            "reason": graded.reason if graded else "",
            "turns": finished.ended.turns,
        },
    )
    state.completed = True


def messages_of(finished: Finished) -> list[Message]:
    """The messages of an episode, for Inspect's log."""
    messages: list[Message] = []
    for part in conversation_of(finished.episode):
        if isinstance(part, Spoken):
            messages.append(UserMessage(text=part.text))
        else:
            messages.append(AssistantMessage(text=part.text, reasoning=part.reasoning, calls=part.calls))
            if part.results:
                messages.append(ToolMessage(results=part.results))
    return messages


def _scorer() -> Any:
    package = _package("inspect_ai.scorer")

    @package.scorer(metrics=[package.accuracy(), package.stderr()], name="pdb_agent_grading")
    def grading() -> Any:
        async def score(state: Any, target: Any) -> Any:
            verdict = state.store.get(_VERDICT)
            value = package.CORRECT if verdict["solved"] else package.INCORRECT
            return package.Score(value=value, answer=verdict["exit_reason"], explanation=verdict["reason"])

        return score

    return grading()


def _package(name: str) -> Any:
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise ExportError(f"This needs Inspect AI ({error}): pip install inspect-ai.") from error
