"""Whole episodes of a real, small and clueless model that a real vLLM serves on the CPU."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from uuid import uuid4

import anyio
import httpx2
import pytest
from pdb_agent.episode import Answered, Ended, EpisodeLog, ExitReason, Replied
from pdb_agent.limits import EpisodeLimits
from pdb_agent.loop import EpisodeSettings, run_episode
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
    UserMessage,
)
from pdb_agent.policies.openai_compatible import chat_messages
from pdb_agent.policies.opening import open_policy
from pdb_agent.policy import Policy, Sampling
from pdb_agent.serving.vllm_server import VllmServer
from pdb_agent.task_files import load_task
from pdb_agent.toolsets import Toolset, ToolsetName

from tests.pdb_agent.serving.local_vllm import needs_vllm, served

pytestmark = [
    pytest.mark.anyio,
    pytest.mark.slow,
    pytest.mark.vllm,
    pytest.mark.timeout(900),
    needs_vllm,
]
TASKS = Path(__file__).resolve().parents[2] / "tasks"
EIGHT = (
    "config_precedence",
    "csv_dialect_quotes",
    "deepcopy_circular",
    "interval_merge_boundary",
    "inventory_hash_key",
    "invoice_rounding",
    "pagination_window",
    "undo_history_snapshots",
)
LIMITS = EpisodeLimits(turns=6, context_tokens=8000, wall_seconds=600)
SAMPLING = Sampling(temperature=0.7, max_output_tokens=128, seed=1)
SYSTEM = "You look things up."
LOOK_UP = ToolSpec(
    name="look_up",
    description="Looks up a word.",
    schema={
        "type": "object",
        "properties": {"word": {"type": "string", "maxLength": 20}},
        "required": ["word"],
        "additionalProperties": False,
    },
)
PROPER = frozenset(reason for reason in ExitReason if not reason.is_infrastructure)


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[VllmServer]:
    with served(uuid4().hex, tmp_path_factory.mktemp("vllm")) as server:
        yield server


@dataclass
class Played:
    """Eight episodes, each with its end and its replies."""

    ends: dict[str, Ended] = field(default_factory=dict[str, Ended])
    logs: dict[str, EpisodeLog] = field(default_factory=dict[str, EpisodeLog])

    def replies(self) -> list[Reply]:
        return [
            event.reply for log in self.logs.values() for event in log.events if isinstance(event, Replied)
        ]

    def answers(self) -> list[Answered]:
        return [event for log in self.logs.values() for event in log.events if isinstance(event, Answered)]


async def play(policy: Policy, toolset: ToolsetName, names: Sequence[str] = EIGHT) -> Played:
    """Episodes on these tasks, all at once."""
    played = Played()
    settings = EpisodeSettings(toolset=Toolset(name=toolset), limits=LIMITS, sampling=SAMPLING)

    async def one(name: str) -> None:
        played.logs[name] = EpisodeLog(None)
        played.ends[name] = await run_episode(load_task(TASKS / name), policy, settings, played.logs[name])

    async with anyio.create_task_group() as tasks:
        for name in names:
            tasks.start_soon(one, name)
    return played


async def counters(server: VllmServer) -> dict[str, float]:
    """The server's own counts of tokens, since its start."""
    async with httpx2.AsyncClient() as client:
        text = (await client.get(f"{server.base_url.removesuffix('/v1')}/metrics")).text
    counts: dict[str, float] = {}
    for line in text.splitlines():
        name, _, value = line.rpartition(" ")
        for kind in ("prompt", "generation"):
            if name.startswith(f"vllm:{kind}_tokens_total"):
                counts[kind] = counts.get(kind, 0) + float(value)
    return counts


@pytest.mark.parametrize(
    ("toolset", "body"),
    [
        pytest.param(ToolsetName.DEBUG, {}, id="debug"),
        pytest.param(ToolsetName.CODING_TOOLS, {}, id="coding-tools"),
        # By itself this model hardly ever makes a call; held to it, it makes bad ones.
        pytest.param(ToolsetName.DEBUG, {"tool_choice": "required"}, id="debug-held-to-calls"),
    ],
)
async def test_eight_episodes_at_once_end_properly_and_their_tokens_are_the_servers(
    server: VllmServer, toolset: ToolsetName, body: Mapping[str, str]
):
    before = await counters(server)
    async with open_policy(f"vllm/{server.model}", base_url=server.base_url, extra_body=body) as policy:
        played = await play(policy, toolset)
    after = await counters(server)
    reasons = {name: (end.reason, end.detail) for name, end in played.ends.items()}
    assert {reason for reason, _ in reasons.values()} <= PROPER, reasons
    assert set(played.ends) == set(EIGHT)
    assert all(end.graded is not None for end in played.ends.values())

    replies = played.replies()
    assert len(replies) >= len(EIGHT)
    assert not [attempt for reply in replies for attempt in reply.attempts]
    prompt = sum(reply.usage.input + reply.usage.cache_read for reply in replies)
    output = sum(reply.usage.output for reply in replies)
    assert (prompt, output) == (
        after["prompt"] - before["prompt"],
        after["generation"] - before["generation"],
    )
    calls = [call for reply in replies for call in reply.message.calls]
    assert [call.id for call in calls] == [answer.result.call_id for answer in played.answers()]
    assert bool(calls) or not body
    print(f"{len(replies)} replies, {len(calls)} calls, {prompt} and {output} tokens; {reasons}")


async def test_a_call_that_the_model_is_held_to_is_parsed_by_the_server(server: VllmServer):
    choice = {"tool_choice": {"type": "function", "function": {"name": "look_up"}}}
    async with open_policy(f"vllm/{server.model}", base_url=server.base_url, extra_body=choice) as policy:
        reply = await policy.respond(SYSTEM, [UserMessage(text="What is a lantern?")], [LOOK_UP], SAMPLING)
    (call,) = reply.message.calls
    assert (call.name, call.error, reply.parser_fallback) == ("look_up", None, False)
    assert call.arguments is not None


def shown() -> list[Message]:
    """A conversation in which calls have been made, so that even this model makes the next one."""
    said: list[Message] = []
    for number, word in enumerate(("river", "candle", "harbour", "window")):
        call = Call(id=f"c{number}", name="look_up", arguments={"word": word}, raw=f'{{"word": "{word}"}}')
        result = ToolResult(call_id=call.id, name="look_up", status=CallStatus.OK, text="found")
        said.append(UserMessage(text=f"Look up the word {word}."))
        said.append(AssistantMessage(text="", calls=(call,)))
        said.append(ToolMessage(results=(result,)))
        said.append(AssistantMessage(text="Found."))
    return [*said, UserMessage(text="Look up the word lantern.")]


@pytest.mark.parametrize("reader", ["server", "fallback"])
async def test_a_call_that_the_model_makes_by_itself_is_read(server: VllmServer, reader: str):
    # Without a choice of tools the server leaves calls where they are: in the text.
    body = {"tool_choice": "none"} if reader == "fallback" else {}
    sampling = Sampling(temperature=0.0, max_output_tokens=64)
    async with open_policy(f"vllm/{server.model}", base_url=server.base_url, extra_body=body) as policy:
        reply = await policy.respond(SYSTEM, shown(), [LOOK_UP], sampling)
    (call,) = reply.message.calls
    assert (call.name, call.error) == ("look_up", None)
    assert call.arguments is not None
    assert list(call.arguments) == ["word"]  # which word, this model does not get right
    assert "tool_call" not in reply.message.text
    assert (reply.stop, reply.parser_fallback) == (Stop.CALLS, reader == "fallback")


async def rendered(server: VllmServer, request: dict[str, Any]) -> str:
    """The prompt that the server makes of a request."""
    base = server.base_url.removesuffix("/v1")
    async with httpx2.AsyncClient(timeout=60) as client:
        answer = await client.post(f"{base}/tokenize", json={"model": server.model, **request})
        tokens = answer.raise_for_status().json()["tokens"]
        answer = await client.post(f"{base}/detokenize", json={"model": server.model, "tokens": tokens})
        return answer.raise_for_status().json()["prompt"]


async def test_the_template_carries_tools_calls_and_results(server: VllmServer):
    calls = tuple(
        Call(id=word, name="look_up", arguments={"word": word}, raw=f'{{"word": "{word}"}}')
        for word in ("sun", "moon")
    )
    results = tuple(
        ToolResult(call_id=call.id, name=call.name, status=CallStatus.OK, text=f"{call.id} found")
        for call in calls
    )
    said = [
        UserMessage(text="Go."),
        AssistantMessage(text="Both.", calls=calls),
        ToolMessage(results=results),
    ]
    function = {"name": "look_up", "description": "Look", "parameters": {"type": "object"}}
    prompt = await rendered(
        server,
        {
            "messages": chat_messages(SYSTEM, said, "vllm/x"),
            "tools": [{"type": "function", "function": function}],
        },
    )
    assert prompt == (
        """<|im_start|>system
You look things up.

You can call these functions, each given as JSON:
<tools>
{"type": "function", "function": {"name": "look_up", "description": "Look", "parameters": {"type": "object"}}}
</tools>

To call one, write exactly:
<tool_call>
{"name": "its name", "arguments": {"argument": "value"}}
</tool_call><|im_end|>
<|im_start|>user
Go.<|im_end|>
<|im_start|>assistant
Both.
<tool_call>
{"name": "look_up", "arguments": {"word": "sun"}}
</tool_call>
<tool_call>
{"name": "look_up", "arguments": {"word": "moon"}}
</tool_call><|im_end|>
<|im_start|>user
<tool_response>
sun found
</tool_response>
<tool_response>
moon found
</tool_response><|im_end|>
<|im_start|>assistant
"""
    )


async def test_cancelling_episodes_leaves_the_server_to_others(server: VllmServer):
    async with open_policy(f"vllm/{server.model}", base_url=server.base_url) as policy:
        with anyio.move_on_after(3) as patience:
            await play(policy, ToolsetName.CODING_TOOLS, EIGHT[:2])
        assert patience.cancelled_caught
        reply = await policy.respond(SYSTEM, [UserMessage(text="Hello.")], [], SAMPLING)
    assert reply.usage.output > 0
