"""Replies over HTTP: what is asked, what is believed, and what becomes of a server that fails."""

import socket
import threading
from collections.abc import AsyncIterator, Iterator

import anyio
import pytest
from pdb_trainer.errors import SamplerError, SamplerUnavailableError, ServerModelError
from pdb_trainer.policy_versions import PolicyVersions
from pdb_trainer.sampler import SampleRequest
from pdb_trainer.vllm_http import HttpRules
from pdb_trainer.vllm_sampler import VllmSampler, open_vllm_sampler

from tests.pdb_trainer.loopback_vllm import GENERATE, Answer, Exchange, Loopback, loopback, reply

pytestmark = pytest.mark.anyio
REQUEST = SampleRequest(prompt=(1, 5, 7), max_tokens=8, stop_ids=frozenset({2, 0}), seed=3)


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
def server() -> Iterator[Loopback]:
    with loopback() as server:
        yield server


@pytest.fixture
def pauses() -> list[float]:
    return []


@pytest.fixture
def rules(pauses: list[float]) -> HttpRules:
    async def sleep(seconds: float) -> None:
        pauses.append(seconds)

    return HttpRules(tries=3, answer_seconds=5, first_wait_seconds=1, sleep=sleep, chance=lambda: 1.0)


@pytest.fixture
async def sampler(server: Loopback, rules: HttpRules) -> AsyncIterator[VllmSampler]:
    async with open_vllm_sampler(server.url, rules=rules) as sampler:
        yield sampler


def says(token_ids: list[int], logprobs: list[float], finish: str, **changes: object) -> Answer:
    return lambda exchange: exchange.say(200, reply(exchange.body, token_ids, logprobs, finish, **changes))


async def test_a_reply_is_the_servers_tokens_and_log_probabilities(sampler: VllmSampler, server: Loopback):
    with anyio.fail_after(5):
        drawn = await sampler.sample(REQUEST)
    assert drawn.token_ids == (10, 11, 2)
    assert drawn.logprobs == (-0.5, -1.5, -0.25)
    assert (drawn.finish, drawn.version, drawn.cached_tokens) == ("stop", "base", 16)
    assert sampler.context_tokens == 64
    (body,) = server.bodies(GENERATE)
    assert drawn.request_id == body["request_id"]


async def test_the_whole_distribution_is_asked_for_and_only_stop_tokens_end_a_reply(
    sampler: VllmSampler, server: Loopback
):
    await sampler.sample(REQUEST)
    (body,) = server.bodies(GENERATE)
    assert body["token_ids"] == [1, 5, 7]
    assert body["sampling_params"] == {
        "max_tokens": 8,
        "temperature": 1.0,
        "seed": 3,
        "top_p": 1.0,
        "top_k": 0,
        "min_p": 0.0,
        "stop_token_ids": [0, 2],
        "ignore_eos": True,
        "logprobs": 0,
        "detokenize": False,
    }


async def test_a_version_is_asked_for_by_its_name_and_kept_by_the_reply(
    sampler: VllmSampler, server: Loopback
):
    server.models += ["policy-v1", "policy-v2"]
    sampler.versions.switch("policy-v1")

    def switch_then_answer(exchange: Exchange) -> None:
        assert sampler.versions.is_in_use("policy-v1")
        sampler.versions.switch("policy-v2")
        server.generate(exchange)

    server.at(GENERATE, switch_then_answer)
    drawn = await sampler.sample(REQUEST)
    assert (drawn.version, sampler.version) == ("policy-v1", "policy-v2")
    assert not sampler.versions.is_in_use("policy-v1")


async def test_a_base_of_another_name_is_still_called_base(server: Loopback, rules: HttpRules):
    server.models[0] = "local"
    async with open_vllm_sampler(f"{server.url}/v1", model="local", rules=rules) as sampler:
        drawn = await sampler.sample(REQUEST)
    assert drawn.version == "base"
    assert server.bodies(GENERATE)[0]["model"] == "local"


async def test_many_replies_are_drawn_at_once(sampler: VllmSampler, server: Loopback):
    together = threading.Barrier(20, timeout=5)  # passes when all of them have asked

    def answer(exchange: Exchange) -> None:
        together.wait()
        server.generate(exchange)

    server.at(GENERATE, answer)
    with anyio.fail_after(5):
        async with anyio.create_task_group() as tasks:
            for _ in range(20):
                tasks.start_soon(sampler.sample, REQUEST)
    assert len({body["request_id"] for body in server.bodies(GENERATE)}) == 20


async def test_no_server_names_the_command_that_starts_one(rules: HttpRules, pauses: list[float]):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with pytest.raises(
        SamplerUnavailableError, match=r"No vLLM server answers .*`start it so`.*after 3 tries"
    ):
        async with open_vllm_sampler(f"http://127.0.0.1:{port}", rules=rules, start_command="start it so"):
            pass
    assert pauses == [1, 2]


async def test_a_server_of_another_model_is_refused_by_name(server: Loopback, rules: HttpRules):
    server.models[0] = "llama"
    with pytest.raises(ServerModelError, match=r"serves llama, not base"):
        async with open_vllm_sampler(server.url, rules=rules):
            pass


async def test_a_server_that_is_not_vllm_is_told(server: Loopback, rules: HttpRules):
    server.at("/v1/models", lambda exchange: exchange.say(200, {"hello": "there"}))
    with pytest.raises(SamplerError, match=r"does not answer like vLLM 0\.32 \(data: Field required\)"):
        async with open_vllm_sampler(server.url, rules=rules):
            pass


async def test_a_connection_that_breaks_in_the_middle_gives_one_reply_in_the_end(
    sampler: VllmSampler, server: Loopback
):
    server.at(GENERATE, Exchange.break_off, Exchange.break_off, server.generate)
    drawn = await sampler.sample(REQUEST)
    assert drawn.token_ids == (10, 11, 2)
    first, second, third = server.bodies(GENERATE)
    assert first == second == third  # the same id and the same seed: no other reply was asked for


async def test_a_server_that_dies_is_infrastructure_after_bounded_tries(
    sampler: VllmSampler, server: Loopback
):
    server.at(GENERATE, Exchange.break_off)
    with pytest.raises(SamplerUnavailableError, match=r"broke off .*generate .*look into its log"):
        await sampler.sample(REQUEST)
    assert len(server.bodies(GENERATE)) == 3
    assert not sampler.versions.is_in_use("base")


async def test_a_busy_server_is_asked_again(sampler: VllmSampler, server: Loopback, pauses: list[float]):
    server.at(GENERATE, lambda exchange: exchange.fail(503, "Too busy."), server.generate)
    assert (await sampler.sample(REQUEST)).finish == "stop"
    assert pauses == [1]


async def test_a_failed_engine_is_infrastructure(sampler: VllmSampler, server: Loopback):
    server.at(GENERATE, lambda exchange: exchange.fail(500, "EngineCore encountered an issue."))
    with pytest.raises(SamplerUnavailableError, match=r"failed at .*500, EngineCore encountered an issue"):
        await sampler.sample(REQUEST)


async def test_a_reply_that_was_aborted_is_infrastructure(sampler: VllmSampler, server: Loopback):
    server.at(GENERATE, says([10], [-0.5], "abort"))
    with pytest.raises(SamplerUnavailableError, match=r"before it was whole \(abort\)"):
        await sampler.sample(REQUEST)


async def test_a_server_that_does_not_answer_is_given_up_and_not_asked_again(server: Loopback):
    over = threading.Event()
    server.at(GENERATE, lambda exchange: over.wait(5))
    rules = HttpRules(answer_seconds=0.2)
    async with open_vllm_sampler(server.url, rules=rules) as sampler:
        with pytest.raises(
            SamplerUnavailableError, match=r"within 0\.2 s: give it longer \(answer_seconds\)"
        ):
            await sampler.sample(REQUEST)
    over.set()
    assert len(server.bodies(GENERATE)) == 1


async def test_a_server_without_the_weights_says_which(sampler: VllmSampler):
    sampler.versions.switch("policy-v9")
    with pytest.raises(ServerModelError, match=r"`policy-v9` does not exist.*publish the weights again"):
        await sampler.sample(REQUEST)


async def test_a_server_without_token_requests_is_told_how_to_start(sampler: VllmSampler, server: Loopback):
    server.at(GENERATE, lambda exchange: exchange.say(403, {"detail": "Forbidden"}))
    with pytest.raises(ServerModelError, match=r"has no /inference/v1/generate .*--enable-scale-out"):
        await sampler.sample(REQUEST)


async def test_what_the_server_refuses_is_not_asked_again(sampler: VllmSampler, server: Loopback):
    server.at(GENERATE, lambda exchange: exchange.fail(400, "Token id 99999999 is out of vocabulary"))
    with pytest.raises(SamplerError, match=r"refuses .*400, Token id 99999999") as failure:
        await sampler.sample(REQUEST)
    assert not isinstance(failure.value, SamplerUnavailableError)
    assert len(server.bodies(GENERATE)) == 1


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (says([10, 11, 2], [-0.5, -1.5], "stop"), "2 log-probabilities for 3 tokens"),
        (says([], [], "length"), "0 tokens, where 1 to 8"),
        (says(list(range(10, 19)), [-1.0] * 9, "length"), "9 tokens, where 1 to 8"),
        (says([10, 2, 11], [-1.0] * 3, "length"), "tokens after a stop token"),
        (says([10, 11], [-1.0] * 2, "stop"), "the end 'stop' after token 11"),
        (says([10, 2], [-1.0] * 2, "length"), "the end 'length' after token 2"),
        (says([10, 2], [-1.0, -9999.0], "stop"), "is not finite"),
        (says([10, 2], [-1.0] * 2, "stop", choices=[]), "gave 0 replies"),
        (says([10, 2], [-1.0] * 2, "stop", model="policy-v4"), "answered for policy-v4"),
        (says([10, 2], [-1.0] * 2, "stop", request_id="other"), r"answered for base \(other\)"),
        (says([10, 2], [-1.0] * 2, "stop", usage={"prompt_tokens": 2}), "a prompt of 2 tokens, where 3"),
        (lambda exchange: exchange.say(200, b'{"choices": ['), "does not answer like vLLM"),
        (lambda exchange: exchange.say(200, {"choices": []}), r"\(request_id: Field required\)"),
    ],
)
async def test_a_reply_that_is_not_whole_is_refused(
    sampler: VllmSampler, server: Loopback, answer: Answer, message: str
):
    server.at(GENERATE, answer)
    with pytest.raises(SamplerError, match=message) as failure:
        await sampler.sample(REQUEST)
    assert not isinstance(failure.value, SamplerUnavailableError)
    assert len(server.bodies(GENERATE)) == 1


async def test_log_probabilities_of_other_tokens_are_refused(sampler: VllmSampler, server: Loopback):
    def answer(exchange: Exchange) -> None:
        body = reply(exchange.body, [10, 2], [-1.0, -1.0], "stop")
        body["choices"][0]["token_ids"] = [11, 2]
        exchange.say(200, body)

    server.at(GENERATE, answer)
    with pytest.raises(SamplerError, match="log-probabilities of other tokens"):
        await sampler.sample(REQUEST)


async def test_base_weights_that_change_in_a_reply_are_refused(sampler: VllmSampler, server: Loopback):
    def answer(exchange: Exchange) -> None:
        body = reply(exchange.body, [10, 2], [-1.0, -1.0], "stop")
        spans = [{"version": "1", "start": 0, "end": 1}, {"version": "2", "start": 1, "end": 2}]
        body["choices"][0]["weight_versions"] = spans
        exchange.say(200, body)

    server.at(GENERATE, answer)
    with pytest.raises(SamplerError, match="replaced while it drew a reply"):
        await sampler.sample(REQUEST)


@pytest.mark.parametrize(("prompt", "most", "fits"), [(56, 8, True), (57, 8, False), (1, 64, False)])
async def test_what_does_not_go_into_the_context_is_refused_before_it_is_asked(
    sampler: VllmSampler, server: Loopback, prompt: int, most: int, fits: bool
):
    request = SampleRequest(prompt=(5,) * prompt, max_tokens=most, stop_ids=frozenset({2}))
    if fits:
        await sampler.sample(request)
    else:
        with pytest.raises(SamplerError, match=r"do not go into the 64 .*--max-model-len"):
            await sampler.sample(request)
    assert len(server.bodies(GENERATE)) == fits


async def test_an_empty_prompt_is_refused(sampler: VllmSampler):
    with pytest.raises(SamplerError, match="at least one token"):
        await sampler.sample(SampleRequest(prompt=(), max_tokens=8, stop_ids=frozenset()))


async def test_a_cancelled_reply_is_no_longer_in_use(sampler: VllmSampler, server: Loopback):
    over = threading.Event()
    server.at(GENERATE, lambda exchange: over.wait(5))
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(sampler.sample, REQUEST)
        with anyio.fail_after(5):
            while not server.bodies(GENERATE):  # noqa: ASYNC110 - it is another thread that is asked
                await anyio.sleep(0.01)
        assert sampler.versions.is_in_use("base")
        tasks.cancel_scope.cancel()
    over.set()
    assert not sampler.versions.is_in_use("base")


async def test_closing_twice_is_no_error(sampler: VllmSampler):
    await sampler.aclose()
    await sampler.aclose()


def test_a_version_is_in_use_until_its_last_reply_has_come():
    versions = PolicyVersions()
    with versions.use() as first, versions.use():
        versions.switch("policy-v1")
        with versions.use() as second:
            assert (first, second) == ("base", "policy-v1")
        assert versions.is_in_use("base")
        assert not versions.is_in_use("policy-v1")
    assert not versions.is_in_use("base")
