from typing import Any

import pytest
from pdb_agent.messages import AssistantMessage, Call, CallStatus, Message, Stop, ToolMessage, UserMessage
from pdb_agent.policy import Sampling

from tests.pdb_agent.policies.dialects import (
    ANTHROPIC,
    ASKED,
    SAMPLING,
    TOOLS,
    Surroundings,
    results,
    tool_use,
)
from tests.pdb_agent.policies.fake_servers import Answer, anthropic_answer, as_body, fake_server

pytestmark = pytest.mark.anyio
THINKING = {
    "type": "thinking",
    "thinking": 'It says "naïve" → \\u0000?\n\tTwo  spaces, </tag>, 日本語 😀',
    "signature": "EqQBCkgIChAB/+==",
}
REDACTED = {"data": "b64/+=", "type": "redacted_thinking", "later_field": {"z": 1.0, "a": [None, True]}}


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


async def talked(
    *answers: Answer, then: tuple[Message, ...] = (), sampling: Sampling = SAMPLING, model: str = ""
):
    """One reply, then another request that holds it; gives the first reply and both requests."""
    case = ANTHROPIC if not model else ANTHROPIC.of(model)
    async with fake_server(*answers) as server, case.open(server, Surroundings().rules()) as policy:
        reply = await policy.respond("Be brief.", ASKED, TOOLS, sampling)
        await policy.respond("Be brief.", (*ASKED, reply.message, *then), TOOLS, sampling)
        return reply, server.requests


async def test_thinking_goes_back_byte_for_byte_and_in_order():
    blocks = [
        THINKING,
        {"type": "text", "text": "Look:", "citations": None},
        REDACTED,
        tool_use("t1", {"path": "a"}),
    ]
    first = anthropic_answer(*blocks, stop="tool_use")
    reply, requests = await talked(first, ANTHROPIC.text("ok"), then=(results("t1"),))
    assert b'"content":' + as_body(blocks) in first.body
    assert b'"content":' + as_body(blocks) in requests[1].body
    assert reply.message.reasoning == THINKING["thinking"]
    assert reply.message.text == "Look:"


async def test_all_results_stand_in_one_user_message_before_any_text():
    then = (results("a", "b"), UserMessage(text="Three turns are left."), results("c"))
    _, requests = await talked(ANTHROPIC.calls("a", "b", "c"), ANTHROPIC.text("ok"), then=then)
    roles = [message["role"] for message in requests[1].json["messages"]]
    last = requests[1].json["messages"][-1]["content"]
    assert roles == ["user", "assistant", "user"]
    assert [block["type"] for block in last] == ["tool_result", "tool_result", "tool_result", "text"]
    assert [block.get("tool_use_id") for block in last[:3]] == ["a", "b", "c"]
    assert [block["content"] for block in last[:3]] == ["result of a", "result of b", "result of c"]


async def test_a_failed_call_is_marked_as_an_error_and_its_result_is_never_empty():
    failed = results("a", status=CallStatus.FAILED).results[0]
    empty = type(failed)(call_id="b", name="read_file", status=CallStatus.MALFORMED, text="")
    _, requests = await talked(
        ANTHROPIC.calls("a", "b"), ANTHROPIC.text("ok"), then=(ToolMessage(results=(failed, empty)),)
    )
    blocks = requests[1].json["messages"][-1]["content"]
    assert [(block["is_error"], block["content"]) for block in blocks] == [
        (True, "result of a"),
        (True, "(no output)"),
    ]


async def test_the_request_is_cached_as_a_whole_and_carries_system_and_tools():
    _, requests = await talked(ANTHROPIC.text("ok"))
    first = requests[0].json
    assert first["cache_control"] == {"type": "ephemeral"}
    assert first["system"] == "Be brief."
    assert first["max_tokens"] == 1000
    assert first["tools"] == [
        {"name": "read_file", "description": "Read a file.", "input_schema": TOOLS[0].schema}
    ]


async def test_each_request_begins_with_the_whole_of_the_one_before():
    _, requests = await talked(ANTHROPIC.calls("a"), ANTHROPIC.text("ok"), then=(results("a"),))
    first, second = (request.json["messages"] for request in requests)
    assert second[: len(first)] == first


@pytest.mark.parametrize(
    ("stop", "expected"),
    [
        ("end_turn", Stop.END),
        ("stop_sequence", Stop.END),
        ("max_tokens", Stop.MAX_TOKENS),
        ("pause_turn", Stop.PAUSE),
        ("refusal", Stop.REFUSAL),
        ("model_context_window_exceeded", Stop.CONTEXT),
        ("something_new", Stop.END),
    ],
)
async def test_every_documented_stop_reason_has_its_own_stop(stop: str, expected: Stop):
    reply, _ = await talked(
        anthropic_answer({"type": "text", "text": "Well"}, stop=stop), ANTHROPIC.text("ok")
    )
    assert reply.stop is expected


async def test_a_paused_reply_is_sent_back_as_it_is():
    server_block = {"type": "server_tool_use", "id": "srv_1", "name": "web_search", "input": {"query": "x"}}
    first = anthropic_answer({"type": "text", "text": "Searching"}, server_block, stop="pause_turn")
    reply, requests = await talked(first, ANTHROPIC.text("ok"))
    assert reply.message.calls == ()
    assert requests[1].json["messages"][-1]["content"][1] == server_block


@pytest.mark.parametrize(
    ("model", "effort", "expected"),
    [
        ("claude-haiku-4-5", None, {"temperature": 0.1}),
        ("claude-sonnet-4-20250514", None, {"temperature": 0.1}),
        ("claude-sonnet-4-6", "none", {"temperature": 0.1}),
        ("claude-haiku-4-5", "medium", {"thinking": {"type": "enabled", "budget_tokens": 2000}}),
        (
            "claude-opus-4-5",
            "max",
            {"thinking": {"type": "enabled", "budget_tokens": 3600}, "output_config": {"effort": "high"}},
        ),
        (
            "claude-opus-4-6",
            "high",
            {"thinking": {"type": "adaptive", "display": "summarized"}, "output_config": {"effort": "high"}},
        ),
        ("claude-opus-4-7", None, {}),
        ("claude-opus-5", "none", {"thinking": {"type": "disabled"}}),
        ("claude-sonnet-5-5", "none", {"thinking": {"type": "between_tools"}}),
        ("claude-opus-5-5", "none", {"output_config": {"effort": "low"}}),
        ("claude-fable-5-2", None, {"thinking": {"type": "adaptive", "display": "summarized"}}),
        ("claude-of-tomorrow", None, {"thinking": {"type": "adaptive", "display": "summarized"}}),
    ],
)
@pytest.mark.filterwarnings("ignore:The model .* is deprecated:DeprecationWarning")  # one of the SDK's
async def test_a_model_is_sent_only_what_it_takes_and_the_reply_says_what(
    model: str, effort, expected: dict[str, Any]
):
    sampling = Sampling(temperature=0.1, top_p=0.9, max_output_tokens=4000, effort=effort)
    reply, requests = await talked(ANTHROPIC.text("ok"), sampling=sampling, model=model)
    sent = {
        key: requests[0].json[key]
        for key in ("temperature", "top_p", "thinking", "output_config")
        if key in requests[0].json
    }
    assert sent == expected
    assert reply.sent == {"max_tokens": 4000, **expected}


async def test_another_models_reply_is_told_as_text_and_calls():
    foreign = AssistantMessage(
        text="Reading.",
        calls=(
            Call(id="functions.read:0", name="read_file", arguments={"path": "a"}, raw="{}"),
            Call(id="c1", name="read_file", arguments=None, raw="{path", error="no"),
        ),
        native=(THINKING,),
        native_of="anthropic/another",
    )
    messages = (*ASKED, foreign, results("functions.read:0", "c1"))
    async with (
        fake_server(ANTHROPIC.text("ok")) as server,
        ANTHROPIC.open(server, Surroundings().rules()) as policy,
    ):
        await policy.respond("", messages, TOOLS, SAMPLING)
    _, told, answered = server.requests[0].json["messages"]
    assert [block["type"] for block in told["content"]] == ["text", "tool_use", "tool_use"]
    assert told["content"][2]["input"] == {"INVALID_JSON": "{path"}
    # Its ids allow fewer characters, so both sides are changed alike.
    assert told["content"][1]["id"] == answered["content"][0]["tool_use_id"] == "functions_read_0"


async def test_a_call_whose_input_is_no_object_goes_back_wrapped():
    _, requests = await talked(ANTHROPIC.malformed_call(), ANTHROPIC.text("ok"), then=(results("bad"),))
    (block,) = requests[1].json["messages"][1]["content"]
    assert block["input"] == {"INVALID_JSON": '"{\\"path\\": "'}


async def test_an_empty_reply_leaves_no_empty_message_behind():
    async with (
        fake_server(ANTHROPIC.text("ok")) as server,
        ANTHROPIC.open(server, Surroundings().rules()) as policy,
    ):
        silent = AssistantMessage(text="", native_of=policy.name)
        await policy.respond("", (*ASKED, silent, UserMessage(text="And?")), TOOLS, SAMPLING)
    (message,) = server.requests[0].json["messages"]
    assert [block["text"] for block in message["content"]] == ["Find it.", "And?"]
