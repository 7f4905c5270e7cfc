"""One conversation in each dialect, kept as it went over the wire.

The kept files are recorded from the fake servers. After an intended change of a
request, write them anew with MCP_PDB_REGENERATE_GOLDEN=1 and review the difference.
"""

import os
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

import httpx2
import pytest
from pdb_agent.messages import Message, Reply, Stop
from pdb_agent.policies.anthropic_api import AnthropicMessages
from pdb_agent.policies.faults import Endpoint
from pdb_agent.policies.openai_api import OpenAIResponses
from pdb_agent.policies.openai_compatible import ChatCompletions, ChatSettings
from pdb_agent.policies.retrying import RetryingPolicy
from pdb_agent.policy import Sampling

from tests.pdb_agent.policies.cassette import Player, Recorder
from tests.pdb_agent.policies.dialects import (
    ANTHROPIC,
    ASKED,
    CHAT,
    KEY,
    RESPONSES,
    TOOLS,
    Surroundings,
    error,
    function_call,
    output_text,
    results,
    tool_use,
)
from tests.pdb_agent.policies.fake_servers import (
    Answer,
    anthropic_answer,
    chat_answer,
    fake_server,
    responses_answer,
)

pytestmark = pytest.mark.anyio
FOLDER = Path(__file__).parent / "cassettes"
LATER = error(429, "Slow down.", headers={"retry-after": "2"})
ANSWERS: dict[str, Sequence[Answer]] = {
    "anthropic": (
        anthropic_answer(
            {"type": "thinking", "thinking": "“Where?”", "signature": "sig/+="},
            {"type": "text", "text": "Reading both."},
            tool_use("t1", {"path": "a.py"}),
            tool_use("t2", {"path": "b.py"}),
            stop="tool_use",
        ),
        LATER,
        anthropic_answer(
            {"type": "redacted_thinking", "data": "b64="}, tool_use("t3", {"path": "ç.py"}), stop="tool_use"
        ),
        ANTHROPIC.text("Done."),
    ),
    "responses": (
        responses_answer(
            {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "gAAA/+="},
            output_text("Reading both."),
            function_call("t1", '{"path": "a.py"}'),
            function_call("t2", '{"path":"b.py"}'),
        ),
        LATER,
        responses_answer(
            {"type": "reasoning", "id": "rs_2", "summary": [], "encrypted_content": "gBBB"},
            function_call("t3", '{"path":"ç.py"}'),
        ),
        RESPONSES.text("Done."),
    ),
    "chat": (
        CHAT.calls("t1", "t2"),
        LATER,
        chat_answer(
            {
                "content": '<tool_call>{"name": "read_file", "arguments": {"path": "ç.py"}}</tool_call>',
                "reasoning": "“Where?”",
            }
        ),
        CHAT.text("Done."),
    ),
}


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


def opened(dialect: str, address: str, transport: httpx2.AsyncBaseTransport) -> RetryingPolicy:
    base_url = address if dialect == "anthropic" else f"{address}/v1"
    model = {"anthropic": "claude-opus-4-6", "responses": "gpt-5.6-sol", "chat": "some-model"}[dialect]
    endpoint = Endpoint(title="The server", model=model, key=KEY, key_variable="THE_KEY", base_url=base_url)
    client = httpx2.AsyncClient(transport=transport)
    rules = Surroundings().rules(monotonic=lambda: 0.0)
    match dialect:
        case "anthropic":
            return RetryingPolicy(AnthropicMessages(endpoint, http_client=client), rules)
        case "responses":
            return RetryingPolicy(OpenAIResponses(endpoint, http_client=client), rules)
        case _:
            return RetryingPolicy(ChatCompletions(endpoint, ChatSettings(flavour="vllm"), client), rules)


async def conversation(policy: RetryingPolicy) -> list[Reply]:
    """Three replies, each asked for with all that was said before."""
    sampling = Sampling(max_output_tokens=2000, effort="low")
    messages: list[Message] = list(ASKED)
    replies: list[Reply] = []
    async with policy:
        for _ in range(3):
            reply = await policy.respond("Be brief.", messages, TOOLS, sampling)
            replies.append(reply)
            messages.append(reply.message)
            if reply.message.calls:
                messages.append(results(*(call.id for call in reply.message.calls)))
    return replies


@pytest.mark.parametrize("dialect", list(ANSWERS))
async def test_a_kept_conversation_plays_again_without_its_server(dialect: str):
    recorder = Recorder()
    async with fake_server(*ANSWERS[dialect]) as server:
        recorded = await conversation(opened(dialect, server.address, recorder))
    kept = FOLDER / f"{dialect}.jsonl"
    if os.environ.get("MCP_PDB_REGENERATE_GOLDEN"):
        kept.write_text(recorder.text, encoding="utf-8")
    assert recorder.text == kept.read_text(encoding="utf-8"), (
        "The requests changed: see the top of this file."
    )
    player = Player(kept)
    played = await conversation(opened(dialect, "http://nowhere.invalid", player))
    assert [asdict(reply) for reply in played] == [asdict(reply) for reply in recorded]
    assert player.left_over == 0
    assert [reply.stop for reply in played] == [Stop.CALLS, Stop.CALLS, Stop.END]
    assert [len(reply.attempts) for reply in played] == [0, 1, 0]
    assert [[call.arguments for call in reply.message.calls] for reply in played][1] == [{"path": "ç.py"}]


@pytest.mark.parametrize("dialect", list(ANSWERS))
def test_no_key_is_on_a_cassette(dialect: str):
    assert KEY not in (FOLDER / f"{dialect}.jsonl").read_text(encoding="utf-8")


async def test_one_request_made_twice_gets_both_of_its_answers(tmp_path: Path):
    recorder = Recorder()
    async with (
        fake_server(CHAT.text("one"), CHAT.text("two")) as server,
        opened("chat", server.address, recorder) as policy,
    ):
        for _ in range(2):
            await policy.respond("", ASKED, TOOLS, Sampling())
    (tmp_path / "twice.jsonl").write_text(recorder.text, encoding="utf-8")
    async with opened("chat", "http://nowhere.invalid", Player(tmp_path / "twice.jsonl")) as policy:
        texts = [(await policy.respond("", ASKED, TOOLS, Sampling())).message.text for _ in range(2)]
    assert texts == ["one", "two"]
