"""What goes wrong on the way, through the official SDKs against a server that does it."""

import logging
import re
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import anyio
import pytest
from pdb_agent.messages import Stop, Usage
from pdb_agent.policy import ContextOverflowError, PolicyError, PolicyRequestError, PolicyUnavailableError

from tests.pdb_agent.policies.dialects import (
    ALL,
    ANTHROPIC,
    ASKED,
    KEY,
    SAMPLING,
    TOOLS,
    DialectCase,
    Surroundings,
    error,
)
from tests.pdb_agent.policies.fake_servers import Answer, fake_server

pytestmark = [pytest.mark.anyio, pytest.mark.parametrize("case", ALL, ids=lambda case: case.policy)]
NOW = datetime(2026, 11, 29, 12, 0, 0, tzinfo=UTC)


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


async def asked(case: DialectCase, *answers: Answer, around: Surroundings | None = None, **more):
    around = around or Surroundings()
    rules = around.rules(now=lambda: NOW, **more.pop("rules", {}))
    async with fake_server(*answers) as server, case.open(server, rules, **more) as policy:
        with anyio.fail_after(20):
            return await policy.respond("Be brief.", ASKED, TOOLS, SAMPLING), server


@pytest.mark.parametrize("status", [408, 409, 429, 500, 502, 503, 504, 529])
async def test_a_failure_that_may_pass_is_asked_again_and_kept_in_the_one_reply(
    case: DialectCase, status: int
):
    around = Surroundings()
    reply, server = await asked(case, error(status, "Try later."), case.text("done"), around=around)
    assert reply.message.text == "done"
    assert len(server.requests) == 2
    assert server.requests[0].body == server.requests[1].body
    (attempt,) = reply.attempts
    assert f"{status}: Try later" in attempt.error
    assert around.waits == [attempt.waited_seconds] == [0.5]
    assert around.told == [(case.policy, attempt)]


async def test_retry_after_in_seconds_is_the_least_wait(case: DialectCase):
    around = Surroundings()
    await asked(
        case, error(429, "Slow down.", headers={"retry-after": "7"}), case.text("done"), around=around
    )
    assert around.waits == [7.5]


async def test_retry_after_as_a_date_is_the_least_wait(case: DialectCase):
    around = Surroundings()
    date = format_datetime(NOW + timedelta(seconds=30), usegmt=True)
    await asked(case, error(503, "Busy.", headers={"retry-after": date}), case.text("done"), around=around)
    assert around.waits == [30.5]


async def test_retry_after_in_milliseconds_is_the_least_wait(case: DialectCase):
    around = Surroundings()
    headers = {"retry-after-ms": "1500", "retry-after": "99"}
    await asked(case, error(429, "Slow.", headers=headers), case.text("done"), around=around)
    assert around.waits == [2.0]


async def test_an_unreadable_retry_after_changes_nothing(case: DialectCase):
    around = Surroundings()
    headers = {"retry-after-ms": "soon", "retry-after": "whenever"}
    await asked(case, error(429, "Slow.", headers=headers), case.text("done"), around=around)
    assert around.waits == [0.5]


async def test_a_server_that_wants_a_long_pause_is_given_up_at_once(case: DialectCase):
    around = Surroundings()
    with pytest.raises(PolicyUnavailableError, match="asks for a pause of 9999 seconds"):
        await asked(case, error(429, "No.", headers={"retry-after": "9999"}), around=around)
    assert around.waits == []


@pytest.mark.parametrize(
    ("fault", "says"),
    [
        ("reset", "The connection to .* failed"),
        ("silence", r"did not answer within 0.3 seconds"),
        ("truncated", "or is cut off"),
        ("no body", "or is cut off"),
        ("not JSON", "or is cut off"),
        ("other JSON", "or is cut off"),
    ],
)
async def test_an_answer_that_breaks_off_is_asked_for_again(case: DialectCase, fault: str, says: str):
    whole = case.text("lost").body
    answer = {
        "reset": Answer(body=whole, fault="reset"),
        "silence": Answer(fault="silence"),
        "truncated": Answer(body=whole[: len(whole) // 2]),
        "no body": Answer(),
        "not JSON": Answer(body=b"<html>busy</html>", headers={"content-type": "text/html"}),
        "other JSON": Answer(body=b"[1]"),
    }[fault]
    timeout_seconds = 0.3 if fault == "silence" else 30
    reply, server = await asked(case, answer, case.text("done"), timeout_seconds=timeout_seconds)
    assert reply.message.text == "done"
    # A slow machine may time out once more; no reply is counted twice for that.
    assert len(server.requests) == len(reply.attempts) + 1
    assert re.search(says, reply.attempts[0].error)


async def test_tries_are_bounded_and_waits_double(case: DialectCase):
    around = Surroundings()
    with pytest.raises(
        PolicyUnavailableError, match=r"500: Down\. Given up after 4 tries: run again later\."
    ):
        await asked(case, error(500, "Down."), around=around)
    assert around.waits == [0.5, 1.0, 2.0]
    assert len(around.told) == 3


async def test_nobody_there_is_said_so(case: DialectCase):
    around = Surroundings()
    async with fake_server(case.text("gone")) as server:
        pass
    async with case.open(server, around.rules(tries=2)) as policy:
        with pytest.raises(PolicyUnavailableError, match=r"The connection to .* failed"):
            await policy.respond("", ASKED, (), SAMPLING)


async def test_an_empty_reply_is_asked_for_again_and_its_tokens_are_not_forgotten(case: DialectCase):
    reply, server = await asked(case, case.nothing(), case.text("done"))
    assert reply.message.text == "done"
    assert len(server.requests) == 2
    assert [attempt.error for attempt in reply.attempts] == ["The reply was empty."]
    (discarded,) = reply.raw_usage["discarded"]
    assert Usage(**discarded["usage"]) == reply.usage
    assert discarded["raw_usage"]


async def test_a_model_that_stays_silent_is_believed(case: DialectCase):
    reply, server = await asked(case, case.nothing())
    assert len(server.requests) == 3
    assert (reply.stop, reply.message.text, reply.message.calls) == (Stop.END, "", ())


@pytest.mark.parametrize(
    ("status", "says"),
    [
        (400, "Change what it names"),
        (401, "Set THE_KEY"),
        (403, "Set THE_KEY"),
        (404, "Check the model's name"),
        (402, "Add credit"),
        (422, "Change what it names"),
    ],
)
async def test_a_request_that_is_refused_for_good_is_not_repeated(case: DialectCase, status: int, says: str):
    around = Surroundings()
    with pytest.raises(PolicyRequestError, match=says) as caught:
        await asked(case, error(status, "Not so."), around=around)
    assert f"{status}: Not so)" in str(caught.value)
    assert around.waits == []


async def test_an_account_without_credit_is_no_rate_limit(case: DialectCase):
    with pytest.raises(PolicyRequestError, match="Add credit"):
        await asked(
            case, error(429, "You exceeded your quota.", code="insufficient_quota", type="insufficient_quota")
        )


async def test_a_conversation_that_does_not_fit_is_told_apart(case: DialectCase):
    around = Surroundings()
    with pytest.raises(ContextOverflowError, match="Lower the context limit"):
        await asked(case, case.overflow, around=around)
    assert around.waits == []
    with pytest.raises(ContextOverflowError):
        await asked(case, error(413, "Request too large."))


@pytest.mark.parametrize("status", [401, 500])
async def test_no_key_is_in_an_error_though_the_provider_repeats_it(case: DialectCase, status: int):
    with pytest.raises(PolicyError) as caught:
        await asked(case, error(status, f"Bad key {KEY}, or sk-other-99999999."), rules={"tries": 1})
    assert "0123456789" not in str(caught.value)
    assert "99999999" not in str(caught.value)
    assert caught.value.__cause__ is None
    assert caught.value.__suppress_context__


async def test_the_key_goes_to_the_server_and_nowhere_into_the_reply(case: DialectCase):
    reply, server = await asked(case, case.text("done"))
    headers = server.requests[0].headers
    assert KEY in (headers.get("x-api-key") or headers["authorization"])
    assert KEY not in repr(reply)
    assert server.requests[0].path == case.path


async def test_no_key_is_logged_by_anything_on_the_way(case: DialectCase, caplog: pytest.LogCaptureFixture):
    caplog.set_level(logging.DEBUG)
    await asked(case, error(500, "Down."), case.text("done"))
    assert caplog.records
    assert KEY not in caplog.text


async def test_a_server_that_drips_meets_the_limit_of_the_whole_request(case: DialectCase):
    dripping = Answer(body=b" " * 1000 + case.text("late").body, fault="drip")
    reply, _ = await asked(case, dripping, case.text("done"), timeout_seconds=0.3)
    assert reply.message.text == "done"
    assert "did not answer within 0.3 seconds" in reply.attempts[0].error


async def test_fields_nobody_documented_change_nothing(case: DialectCase):
    plain, _ = await asked(case, case.text("done"))
    body = case.text("done").body.replace(b'"id":', b'"surprise":{"a":[1,null]},"id":', 1)
    assert body != case.text("done").body
    reply, _ = await asked(case, Answer(body=body, headers=case.text("").headers))
    assert (reply.message.text, reply.usage, reply.stop) == ("done", plain.usage, plain.stop)


async def test_a_reply_cancelled_in_flight_leaves_the_policy_usable(case: DialectCase):
    around = Surroundings()
    async with (
        fake_server(Answer(fault="silence"), case.text("done")) as server,
        case.open(server, around.rules()) as policy,
    ):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(policy.respond, "", ASKED, (), SAMPLING)
            await server.first_request.wait()
            tasks.cancel_scope.cancel()
        assert (await policy.respond("", ASKED, (), SAMPLING)).message.text == "done"
    assert around.waits == []


async def test_usage_classes_are_disjoint_and_add_up(case: DialectCase):
    reply, _ = await asked(case, case.text("done"))
    usage = reply.usage
    assert (usage.input, usage.cache_read, usage.cache_write, usage.output, usage.reasoning) == (
        10,
        300,
        20,
        40,
        15,
    )
    assert usage.context == 370


async def test_ten_parallel_calls_arrive_in_order(case: DialectCase):
    names = [f"c{index}" for index in range(10)]
    reply, _ = await asked(case, case.calls(*names))
    assert reply.stop is Stop.CALLS
    assert [call.id for call in reply.message.calls] == names
    assert [call.arguments for call in reply.message.calls] == [{"path": name} for name in names]


async def test_a_call_cut_by_the_token_limit_is_malformed_and_the_one_before_it_is_not(case: DialectCase):
    reply, _ = await asked(case, case.cut_call())
    whole, torn = reply.message.calls
    assert reply.stop is Stop.MAX_TOKENS
    assert (whole.arguments, whole.error) == ({"path": "a"}, None)
    assert torn.arguments is None
    assert "token limit inside this call, so it was not run" in (torn.error or "")


async def test_arguments_that_do_not_parse_make_a_malformed_call(case: DialectCase):
    reply, _ = await asked(case, case.malformed_call())
    (call,) = reply.message.calls
    assert (call.arguments, call.raw) == (None, '{"path": ')
    assert "not valid JSON" in (call.error or "")
    assert "send one JSON object" in (call.error or "")


async def test_a_refusal_is_final_and_not_asked_again(case: DialectCase):
    reply, server = await asked(case, case.refusal())
    assert reply.stop is Stop.REFUSAL
    assert len(server.requests) == 1


async def test_a_reply_says_what_was_served_and_sent(case: DialectCase):
    reply, _ = await asked(case, case.text("done"), rules={"monotonic": iter((10.0, 12.5)).__next__})
    assert "served" in reply.model
    assert reply.request_id
    assert reply.seconds == 2.5
    assert 1000 in reply.sent.values()
    assert ANTHROPIC.policy != case.policy or reply.sent["temperature"] == 0.1
