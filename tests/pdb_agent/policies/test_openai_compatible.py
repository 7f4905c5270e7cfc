import pytest
from pdb_agent.messages import AssistantMessage, Call, Message, Stop
from pdb_agent.policy import ContextOverflowError, PolicyRequestError, Sampling

from tests.pdb_agent.policies.dialects import ASKED, CHAT, SAMPLING, TOOLS, Surroundings, results
from tests.pdb_agent.policies.fake_servers import Answer, as_body, chat_answer, chat_call, fake_server

pytestmark = pytest.mark.anyio
DETAILS = [
    {
        "type": "reasoning.text",
        "text": 'So "é" 😀',
        "signature": "sig/+=",
        "format": "anthropic-claude-v1",
        "index": 0,
    },
    {"type": "reasoning.encrypted", "data": "gAAA", "id": "r1", "later_field": [1.0, None]},
]
HERMES = '<tool_call>\n{"name": "read_file", "arguments": {"path": "a.py"}}\n</tool_call>'


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


async def talked(
    *answers: Answer,
    then: tuple[Message, ...] = (),
    sampling: Sampling = SAMPLING,
    policy: str = CHAT.policy,
    **more,
):
    async with (
        fake_server(*answers) as server,
        CHAT.of(policy).open(server, Surroundings().rules(), **more) as opened,
    ):
        reply = await opened.respond("Be brief.", ASKED, TOOLS, sampling)
        await opened.respond("Be brief.", (*ASKED, reply.message, *then), TOOLS, sampling)
        return reply, server.requests


async def test_every_call_is_answered_by_its_own_tool_message():
    names = tuple(f"c{index}" for index in range(10))
    _, requests = await talked(CHAT.calls(*names), CHAT.text("ok"), then=(results(*names),))
    messages = requests[1].json["messages"]
    assert [message["role"] for message in messages] == ["system", "user", "assistant", *["tool"] * 10]
    assert [message["tool_call_id"] for message in messages[3:]] == list(names)
    assert messages[2]["content"] is None
    assert [call["function"]["arguments"] for call in messages[2]["tool_calls"]] == [
        f'{{"path":"{n}"}}' for n in names
    ]


@pytest.mark.parametrize("key", ["reasoning", "reasoning_content"])
async def test_reasoning_goes_back_under_the_name_it_came_by(key: str):
    reply, requests = await talked(chat_answer({"content": "a", key: "So “é” \\ 😀"}), CHAT.text("ok"))
    assert reply.message.reasoning == "So “é” \\ 😀"
    assert requests[1].json["messages"][2] == {"role": "assistant", "content": "a", key: "So “é” \\ 😀"}


async def test_signed_reasoning_goes_back_byte_for_byte_in_place_of_the_plain_text():
    message = {"content": "a", "reasoning": "So", "reasoning_details": DETAILS}
    reply, requests = await talked(chat_answer(message), CHAT.text("ok"), policy="openrouter/x/y")
    assert b'"reasoning_details":' + as_body(DETAILS) in requests[1].body
    assert "reasoning" not in requests[1].json["messages"][2]
    assert reply.message.native_of == "openrouter/x/y"


async def test_another_models_reasoning_stays_at_home():
    foreign = AssistantMessage(text="a", native=({"reasoning": "So"},), native_of="vllm/another")
    async with fake_server(CHAT.text("ok")) as server, CHAT.open(server, Surroundings().rules()) as policy:
        await policy.respond("", (*ASKED, foreign), TOOLS, SAMPLING)
    assert server.requests[0].json["messages"] == [
        {"role": "user", "content": "Find it."},
        {"role": "assistant", "content": "a"},
    ]


async def test_a_call_left_in_the_text_is_found_and_counted_and_sent_back_as_a_call():
    answer = chat_answer({"content": f"I will read it.\n{HERMES}"})
    reply, requests = await talked(answer, CHAT.text("ok"), then=(results("call_1_0"),))
    (call,) = reply.message.calls
    assert (call.id, call.name, call.arguments) == ("call_1_0", "read_file", {"path": "a.py"})
    assert (reply.parser_fallback, reply.stop, reply.message.text) == (True, Stop.CALLS, "I will read it.")
    assert reply.message.native[0]["content"].endswith("</tool_call>")
    sent = requests[1].json["messages"][2]
    assert sent["content"] == "I will read it."
    assert sent["tool_calls"][0]["function"] == {"name": "read_file", "arguments": '{"path": "a.py"}'}


async def test_a_call_lost_in_the_reasoning_of_a_silent_reply_is_found():
    reply, _ = await talked(chat_answer({"content": "", "reasoning": f"Now.\n{HERMES}"}), CHAT.text("ok"))
    assert [call.name for call in reply.message.calls] == ["read_file"]
    assert reply.parser_fallback


async def test_a_call_that_is_only_thought_about_is_not_made():
    reply, _ = await talked(chat_answer({"content": "Done.", "reasoning": HERMES}), CHAT.text("ok"))
    assert (reply.message.calls, reply.parser_fallback, reply.stop) == ((), False, Stop.END)


async def test_thinking_left_in_the_text_is_taken_for_reasoning():
    reply, _ = await talked(
        chat_answer({"content": f"<think>Maybe {HERMES}</think>\n\nNo."}), CHAT.text("ok")
    )
    assert (reply.message.text.strip(), reply.message.calls) == ("No.", ())
    assert reply.message.reasoning.startswith("Maybe")


async def test_calls_of_the_server_are_no_fallback():
    reply, _ = await talked(CHAT.calls("c1"), CHAT.text("ok"), then=(results("c1"),))
    assert not reply.parser_fallback


async def test_missing_and_repeated_call_ids_become_distinct():
    calls = [chat_call(call_id, "read_file", "{}") for call_id in ("", "x", "x")]
    reply, _ = await talked(
        chat_answer({"content": None, "tool_calls": calls}, "tool_calls"), CHAT.text("ok")
    )
    assert [call.id for call in reply.message.calls] == ["call_1_0", "x", "call_1_2"]


async def test_arguments_sent_as_an_object_or_as_nothing_are_read():
    calls = [
        chat_call("a", "read_file", ""),
        {"id": "b", "function": {"name": "read_file", "arguments": {"path": "é"}}},
    ]
    reply, _ = await talked(
        chat_answer({"content": None, "tool_calls": calls}, "tool_calls"), CHAT.text("ok")
    )
    assert [call.arguments for call in reply.message.calls] == [{}, {"path": "é"}]


async def test_a_malformed_call_goes_back_as_json_that_a_server_can_read():
    _, requests = await talked(CHAT.malformed_call(), CHAT.text("ok"), then=(results("bad"),))
    (call,) = requests[1].json["messages"][2]["tool_calls"]
    assert call["function"]["arguments"] == '{"INVALID_JSON":"{\\"path\\": "}'


async def test_sampling_and_extra_fields_are_sent_and_recorded():
    sampling = Sampling(temperature=0.1, top_p=0.9, max_output_tokens=50, seed=7, effort="max")
    extra = {"top_k": 20, "chat_template_kwargs": {"enable_thinking": False}}
    reply, requests = await talked(CHAT.text("ok"), sampling=sampling, extra_body=extra)
    expected = {"max_tokens": 50, "temperature": 0.1, "top_p": 0.9, "seed": 7, "reasoning_effort": "max"}
    body = requests[0].json
    assert {key: body[key] for key in expected} == expected
    assert {key: body[key] for key in extra} == extra
    assert reply.sent == {**expected, **extra}


async def test_openrouter_is_asked_for_effort_in_its_own_field():
    sampling = Sampling(effort="max")
    reply, requests = await talked(CHAT.text("ok"), sampling=sampling, policy="openrouter/x/y")
    assert requests[0].json["reasoning"] == reply.sent["reasoning"] == {"effort": "xhigh"}
    assert "reasoning_effort" not in requests[0].json
    assert requests[0].json["model"] == "x/y"


async def test_what_the_provider_charged_is_kept():
    usage = {
        "prompt_tokens": 5,
        "completion_tokens": 2,
        "cost": 0.00078,
        "cost_details": {"upstream_inference_cost": None},
    }
    reply, _ = await talked(chat_answer({"content": "ok"}, usage=usage))
    assert reply.raw_usage == usage


async def test_a_server_without_usage_counts_nothing():
    reply, _ = await talked(chat_answer({"content": "ok"}, usage=None))
    assert (reply.usage.context, reply.raw_usage) == (0, {})


@pytest.mark.parametrize(
    "answer",
    [
        Answer(
            body=as_body(
                {"error": {"code": 502, "message": "Provider returned error", "metadata": {"raw": "busy"}}}
            )
        ),
        Answer(
            body=as_body(
                {
                    "choices": [
                        {
                            "message": {"content": "half"},
                            "finish_reason": "error",
                            "error": {"code": 502, "message": "gone"},
                        }
                    ]
                }
            )
        ),
        chat_answer({"content": "half"}, "abort"),
        chat_answer({"content": ""}, choices=[]),
    ],
    ids=["instead", "beside", "abort", "no choice"],
)
async def test_an_error_inside_a_good_status_is_asked_again(answer: Answer):
    reply, _ = await talked(answer, CHAT.text("done"))
    assert reply.message.text == "done"
    assert len(reply.attempts) == 1


async def test_an_error_inside_a_good_status_keeps_its_class():
    for code, message, kind in (
        (401, "No auth.", PolicyRequestError),
        (400, "This endpoint's maximum context length is 4096 tokens.", ContextOverflowError),
    ):
        with pytest.raises(kind):
            await talked(Answer(body=as_body({"error": {"code": code, "message": message}})))


@pytest.mark.parametrize(
    "message",
    [
        "This model's maximum context length is 2048 tokens. However, your request has 3000 input tokens.",
        "The decoder prompt (length 5000) is longer than the maximum model length of 2048.",
        "max_tokens must be at most 100 because max_model_len is 2048",
        "The request exceeds the available context size, try increasing it",
        "The input token count (70000) exceeds the maximum number of tokens allowed (65536).",
    ],
)
async def test_the_ways_of_servers_to_say_too_long_are_known(message: str):
    with pytest.raises(ContextOverflowError):
        await talked(
            Answer(
                status=400,
                body=as_body({"error": {"message": message, "type": "BadRequestError", "code": 400}}),
            )
        )


async def test_another_maximum_is_no_overflow():
    message = "tools.0.function.description: String exceeds the maximum length of 1024"
    with pytest.raises(PolicyRequestError, match="maximum length of 1024"):
        await talked(Answer(status=400, body=as_body({"error": {"message": message, "code": 400}})))


async def test_a_server_started_without_tools_says_what_to_start_it_with():
    message = '"auto" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set'
    with pytest.raises(PolicyRequestError, match="--tool-call-parser"):
        await talked(Answer(status=400, body=as_body({"error": {"message": message, "code": 400}})))


async def test_what_is_meant_for_openai_does_not_reach_another_server(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("OPENAI_ORG_ID", "org-secret")
    monkeypatch.setenv("OPENAI_PROJECT_ID", "proj-secret")
    monkeypatch.setenv("OPENAI_API_KEY", "sk-openai-secret")
    monkeypatch.setenv(
        "OPENAI_CUSTOM_HEADERS", "X-Tenant: tenant-secret\nAuthorization: Bearer header-secret"
    )
    _, requests = await talked(CHAT.text("ok"))
    assert "secret" not in repr(requests[0].headers)


async def test_a_malformed_call_of_another_model_keeps_its_words():
    call = Call(id="c1", name="read_file", arguments=None, raw="{path", error="no")
    async with fake_server(CHAT.text("ok")) as server, CHAT.open(server, Surroundings().rules()) as policy:
        await policy.respond(
            "", (*ASKED, AssistantMessage(text="", calls=(call,)), results("c1")), TOOLS, SAMPLING
        )
    assert "{path" in server.requests[0].json["messages"][1]["tool_calls"][0]["function"]["arguments"]
