from typing import Any

import pytest
from pdb_agent.messages import AssistantMessage, Call, Message, Stop
from pdb_agent.policy import PolicyRequestError, PolicyUnavailableError, Sampling

from tests.pdb_agent.policies.dialects import (
    ASKED,
    RESPONSES,
    SAMPLING,
    TOOLS,
    Surroundings,
    function_call,
    output_text,
    results,
)
from tests.pdb_agent.policies.fake_servers import Answer, as_body, fake_server, responses_answer

pytestmark = pytest.mark.anyio
REASONING = {
    "id": "rs_1",
    "type": "reasoning",
    "summary": [{"type": "summary_text", "text": 'Considering "é" \\ 😀'}],
    "content": None,
    "encrypted_content": "gAAAAAB/+==",
    "later_field": {"z": 1.0, "a": [None]},
}


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


async def talked(
    *answers: Answer, then: tuple[Message, ...] = (), sampling: Sampling = SAMPLING, model: str = ""
):
    case = RESPONSES.of(model) if model else RESPONSES
    async with fake_server(*answers) as server, case.open(server, Surroundings().rules()) as policy:
        reply = await policy.respond("Be brief.", ASKED, TOOLS, sampling)
        await policy.respond("Be brief.", (*ASKED, reply.message, *then), TOOLS, sampling)
        return reply, server.requests


async def test_output_items_go_back_byte_for_byte_and_in_order():
    items = [
        REASONING,
        output_text("Reading."),
        function_call("c1", '{"path": "a"}'),
        {**REASONING, "id": "rs_2"},
        function_call("c2", '{"path":"b"}'),
    ]
    reply, requests = await talked(
        responses_answer(*items), RESPONSES.text("ok"), then=(results("c1", "c2"),)
    )
    assert as_body(items)[1:-1] in requests[1].body
    assert [item.get("type", item.get("role")) for item in requests[1].json["input"]] == [
        "user",
        "reasoning",
        "message",
        "function_call",
        "reasoning",
        "function_call",
        "function_call_output",
        "function_call_output",
    ]
    assert reply.message.reasoning.splitlines()[0] == 'Considering "é" \\ 😀'
    assert reply.message.text == "Reading."


async def test_every_call_is_answered_by_its_own_output():
    names = tuple(f"c{index}" for index in range(10))
    _, requests = await talked(RESPONSES.calls(*names), RESPONSES.text("ok"), then=(results(*names),))
    outputs = [item for item in requests[1].json["input"] if item.get("type") == "function_call_output"]
    assert [(item["call_id"], item["output"]) for item in outputs] == [
        (name, f"result of {name}") for name in names
    ]


async def test_nothing_is_stored_or_dropped_and_schemas_are_not_strict():
    _, requests = await talked(RESPONSES.text("ok"))
    body = requests[0].json
    assert (body["store"], body["truncation"], body["include"]) == (
        False,
        "disabled",
        ["reasoning.encrypted_content"],
    )
    assert body["instructions"] == "Be brief."
    assert body["tools"] == [
        {
            "type": "function",
            "name": "read_file",
            "description": "Read a file.",
            "parameters": TOOLS[0].schema,
            "strict": False,
        }
    ]


async def test_reasoning_that_nothing_follows_is_not_sent_back():
    cut = responses_answer(REASONING, status="incomplete", incomplete_details={"reason": "max_output_tokens"})
    reply, requests = await talked(cut, RESPONSES.text("ok"))
    assert reply.stop is Stop.MAX_TOKENS
    assert requests[1].json["input"] == [{"role": "user", "content": "Find it."}]


@pytest.mark.parametrize(
    ("model", "effort", "expected"),
    [
        ("gpt-4.1-mini", "high", {"temperature": 0.1, "top_p": 0.9}),
        ("gpt-5.6-sol", None, {}),
        ("gpt-5.6-sol", "none", {"reasoning": {"effort": "none"}, "temperature": 0.1, "top_p": 0.9}),
        ("gpt-5.6-sol", "max", {"reasoning": {"effort": "max"}}),
        ("gpt-5.4", "max", {"reasoning": {"effort": "xhigh"}}),
        ("gpt-5-mini", "none", {"reasoning": {"effort": "minimal"}}),
        ("gpt-6.1-sol", "none", {"reasoning": {"effort": "low"}}),
        ("o3", "max", {"reasoning": {"effort": "high"}}),
    ],
)
async def test_a_model_is_sent_only_what_it_takes_and_the_reply_says_what(
    model: str, effort, expected: dict[str, Any]
):
    sampling = Sampling(temperature=0.1, top_p=0.9, max_output_tokens=4000, effort=effort)
    reply, requests = await talked(RESPONSES.text("ok"), sampling=sampling, model=model)
    sent = {
        key: requests[0].json[key] for key in ("temperature", "top_p", "reasoning") if key in requests[0].json
    }
    assert sent == expected
    assert reply.sent == {"max_output_tokens": 4000, **expected}
    assert ("include" in requests[0].json) is not model.startswith("gpt-4")


async def test_a_response_that_failed_with_status_200_is_classified_by_its_error():
    failed = responses_answer(status="failed", error={"code": "server_error", "message": "Sorry."})
    reply, requests = await talked(failed, RESPONSES.text("ok"))
    assert len(reply.attempts) == 1
    assert len(requests) == 3
    for code, kind in (
        ("invalid_prompt", PolicyRequestError),
        ("rate_limit_exceeded", PolicyUnavailableError),
    ):
        with pytest.raises(kind):
            await talked(responses_answer(status="failed", error={"code": code, "message": "No."}))


async def test_content_that_was_filtered_is_a_refusal():
    answer = responses_answer(
        output_text("Well"), status="incomplete", incomplete_details={"reason": "content_filter"}
    )
    reply, _ = await talked(answer, RESPONSES.text("ok"))
    assert reply.stop is Stop.REFUSAL


async def test_another_models_reply_is_told_as_text_and_calls():
    foreign = AssistantMessage(
        text="Reading.",
        calls=(Call(id="c1", name="read_file", arguments=None, raw="{path", error="no"),),
        native=(REASONING,),
        native_of="openai/another",
    )
    async with (
        fake_server(RESPONSES.text("ok")) as server,
        RESPONSES.open(server, Surroundings().rules()) as policy,
    ):
        await policy.respond("", (*ASKED, foreign, results("c1")), TOOLS, SAMPLING)
    assert server.requests[0].json["input"][1:3] == [
        {"role": "assistant", "content": "Reading."},
        {
            "type": "function_call",
            "call_id": "c1",
            "name": "read_file",
            "arguments": '{"INVALID_JSON":"{path"}',
        },
    ]


async def test_an_unfinished_call_is_malformed_wherever_it_stands():
    items = (function_call("torn", '{"path":"b"}', "incomplete"), REASONING)
    answer = responses_answer(*items, status="incomplete", incomplete_details={"reason": "max_output_tokens"})
    reply, _ = await talked(answer, RESPONSES.text("ok"), then=(results("torn"),))
    (call,) = reply.message.calls
    assert call.arguments is None
    assert "token limit" in (call.error or "")
