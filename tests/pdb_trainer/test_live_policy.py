"""The agent's policy over a sampler: one draw for a turn, its ids exactly, its failures by kind."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from pdb_agent.messages import AssistantMessage, Attempt, Message, Stop, ToolMessage, Usage, UserMessage
from pdb_agent.policies.retrying import RetryRules
from pdb_agent.policy import (
    ContextOverflowError,
    PolicyRequestError,
    PolicyUnavailableError,
    Sampling,
)
from pdb_trainer.errors import SamplerError, SamplerUnavailableError, ServerModelError
from pdb_trainer.live_policy import LivePolicy, turn_seed
from pdb_trainer.renderers.opening import open_renderer
from pdb_trainer.renderers.template_renderer import TemplateRenderer
from pdb_trainer.sampler import Sampled, SampleRequest

from tests.pdb_trainer.renderers.model_folders import family_folder
from tests.pdb_trainer.renderers.speaking import SYSTEM, TOOLS, results
from tests.pdb_trainer.scripted_sampler import ScriptedSampler

pytestmark = pytest.mark.anyio
END = "<|im_end|>"
READ = f'I look.\n<tool_call>\n{{"name": "read_file", "arguments": {{"path": "a.py"}}}}\n</tool_call>{END}'
TASK = (UserMessage(text="Repair it."),)


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(scope="module")
def renderer(tmp_path_factory: pytest.TempPathFactory) -> TemplateRenderer:
    return open_renderer(None, family_folder(tmp_path_factory.mktemp("model"), "hermes"))


def scripted(renderer: TemplateRenderer, *replies: str, **more: object) -> ScriptedSampler:
    return ScriptedSampler(renderer=renderer, replies=replies, **more)  # type: ignore[arg-type]


def policy_of(sampler: ScriptedSampler, rules: RetryRules | None = None) -> LivePolicy:
    return LivePolicy(sampler.renderer, sampler, name="live/test", rules=rules)


async def test_a_reply_carries_what_was_seen_and_drawn(renderer: TemplateRenderer):
    sampler = scripted(renderer, READ)
    reply = await policy_of(sampler).respond(SYSTEM, TASK, TOOLS, Sampling(temperature=1.0, seed=4))
    prompt = renderer.prompt(SYSTEM, TOOLS, TASK)
    ids = renderer.tokenizer.encode_template(READ)
    assert reply.tokens is not None
    assert reply.tokens.prompt == tuple(prompt)
    assert reply.tokens.sampled == tuple(ids)
    assert reply.tokens.logprobs == tuple(-0.01 * (place % 9) for place in range(len(ids)))
    assert (reply.tokens.version, reply.model, reply.request_id) == ("policy-v3", "policy-v3", "r1")
    assert reply.message.native == ({"sampled_ids": ids},)
    assert reply.message.native_of == "live/test"
    assert (reply.message.text, reply.stop) == ("I look.", Stop.CALLS)
    assert [(each.name, each.arguments) for each in reply.message.calls] == [("read_file", {"path": "a.py"})]
    assert reply.usage == Usage(input=len(prompt) - 5, cache_read=5, output=len(ids))
    assert reply.usage.context == len(prompt) + len(ids)


async def test_the_next_prompt_goes_on_from_the_ids_of_the_reply(renderer: TemplateRenderer):
    sampler = scripted(renderer, READ, f"Done.{END}")
    policy = policy_of(sampler)
    first = await policy.respond(SYSTEM, TASK, TOOLS, Sampling())
    said: list[Message] = [*TASK, first.message, results(first.message, "x = 1")]
    second = await policy.respond(SYSTEM, said, TOOLS, Sampling())
    before, now = sampler.asked
    ids = renderer.tokenizer.encode_template(READ)
    assert now.prompt[: len(before.prompt) + len(ids)] == (*before.prompt, *ids)
    assert second.stop is Stop.END
    assert {each.id for each in first.message.calls} == {"call_1_0"}


async def test_seeds_follow_from_the_episodes_seed_and_the_turn(renderer: TemplateRenderer):
    sampler = scripted(renderer, READ, READ)
    policy = policy_of(sampler)
    messages = [*TASK, AssistantMessage(text="No."), UserMessage(text="Yes.")]
    for seed, said in ((1, TASK), (1, messages), (2, TASK), (1, TASK)):
        await policy.respond(SYSTEM, said, TOOLS, Sampling(seed=seed))
    seeds = [request.seed for request in sampler.asked]
    assert seeds == [turn_seed(1, 0), turn_seed(1, 1), turn_seed(2, 0), turn_seed(1, 0)]
    assert len(set(seeds)) == 3
    await policy.respond(SYSTEM, TASK, TOOLS, Sampling(seed=None))
    assert sampler.asked[-1].seed is None


def test_seeds_fit_into_what_every_server_reads():
    assert all(0 <= turn_seed(episode, turn) < 2**48 for episode in range(20) for turn in range(20))


async def test_a_reply_has_the_room_that_is_asked_for_or_left(renderer: TemplateRenderer):
    prompt = len(renderer.prompt(SYSTEM, TOOLS, TASK))
    sampler = scripted(renderer, READ)
    await policy_of(sampler).respond(SYSTEM, TASK, TOOLS, Sampling(max_output_tokens=50))
    sampler.context_tokens = prompt + 7
    await policy_of(sampler).respond(SYSTEM, TASK, TOOLS, Sampling(max_output_tokens=50))
    assert [request.max_tokens for request in sampler.asked] == [50, 7]


async def test_a_conversation_that_fills_the_context_is_an_overflow_and_is_not_asked(
    renderer: TemplateRenderer,
):
    sampler = scripted(renderer, READ, context_tokens=len(renderer.prompt(SYSTEM, TOOLS, TASK)))
    with pytest.raises(ContextOverflowError, match="takes no more than"):
        await policy_of(sampler).respond(SYSTEM, TASK, TOOLS, Sampling())
    assert sampler.asked == []


@pytest.mark.parametrize(("room", "stop"), [(100, Stop.MAX_TOKENS), (9, Stop.CONTEXT)])
async def test_a_cut_reply_says_whose_limit_it_was(room: int, stop: Stop, renderer: TemplateRenderer):
    prompt = len(renderer.prompt(SYSTEM, TOOLS, TASK))
    sampler = scripted(renderer, READ, context_tokens=prompt + room)
    reply = await policy_of(sampler).respond(SYSTEM, TASK, TOOLS, Sampling(max_output_tokens=9))
    assert reply.stop is stop
    assert reply.tokens is not None
    assert reply.tokens.sampled == tuple(renderer.tokenizer.encode_template(READ)[:9])


async def test_a_call_inside_which_the_reply_was_cut_is_malformed_and_keeps_its_tokens(
    renderer: TemplateRenderer,
):
    cut = READ[: READ.index("a.py")]
    sampler = scripted(renderer, cut, f"Done.{END}")
    policy = policy_of(sampler)
    reply = await policy.respond(SYSTEM, TASK, TOOLS, Sampling())
    assert reply.stop is Stop.MAX_TOKENS
    assert "token limit" in str(reply.message.calls[0].error)
    await policy.respond(
        SYSTEM, [*TASK, reply.message, results(reply.message, "Not run.")], TOOLS, Sampling()
    )
    ids = renderer.tokenizer.encode_template(cut)
    prompt = sampler.asked[1].prompt
    begin = len(sampler.asked[0].prompt)
    assert prompt[begin : begin + len(ids)] == tuple(ids)
    assert renderer.decode(prompt[begin + len(ids) :]).startswith(f"{END}\n<|im_start|>user\n<tool_response>")


async def test_a_sampler_out_of_reach_is_asked_again_for_the_same_reply(renderer: TemplateRenderer):
    waits: list[float] = []
    told: list[Attempt] = []

    async def sleep(seconds: float) -> None:
        waits.append(seconds)

    rules = RetryRules(
        tries=3,
        first_wait_seconds=1.0,
        sleep=sleep,
        chance=lambda: 0.5,
        on_attempt=lambda _, attempt: told.append(attempt),
    )
    failures: list[SamplerError] = [SamplerUnavailableError("gone."), SamplerUnavailableError("gone.")]
    sampler = scripted(renderer, READ, failures=failures)
    reply = await policy_of(sampler, rules).respond(SYSTEM, TASK, TOOLS, Sampling(seed=4))
    assert len(set(sampler.asked)) == 1
    assert len(sampler.asked) == 3
    assert waits == [0.5, 1.0]
    assert [attempt.waited_seconds for attempt in reply.attempts] == waits
    assert told == list(reply.attempts)


async def test_a_sampler_that_stays_away_is_infrastructure(renderer: TemplateRenderer):
    async def sleep(seconds: float) -> None:
        pass

    sampler = scripted(renderer, READ, failures=[SamplerUnavailableError("gone.") for _ in range(5)])
    with pytest.raises(PolicyUnavailableError, match=r"gone\. Given up after 2 tries"):
        await policy_of(sampler, RetryRules(tries=2, sleep=sleep)).respond(SYSTEM, TASK, TOOLS, Sampling())
    assert len(sampler.asked) == 2


@pytest.mark.parametrize("error", [SamplerError("no such model."), ServerModelError("rank too large.")])
async def test_what_a_sampler_refuses_is_not_asked_again(error: SamplerError, renderer: TemplateRenderer):
    sampler = scripted(renderer, READ, failures=[error])
    with pytest.raises(PolicyRequestError, match=str(error)):
        await policy_of(sampler).respond(SYSTEM, TASK, TOOLS, Sampling())
    assert len(sampler.asked) == 1


@pytest.mark.parametrize("logprobs", [(), (-0.1,), (-0.1, -0.2, -0.3)])
async def test_tokens_without_a_log_probability_each_are_refused(
    logprobs: Sequence[float], renderer: TemplateRenderer
):
    class Careless(ScriptedSampler):
        async def sample(self, request: SampleRequest) -> Sampled:
            return replace(await super().sample(request), token_ids=(1, 2), logprobs=tuple(logprobs))

    sampler = Careless(renderer=renderer, replies=[READ])
    with pytest.raises(PolicyRequestError, match="each needs its own"):
        await policy_of(sampler).respond(SYSTEM, TASK, TOOLS, Sampling())


async def test_closing_a_policy_leaves_its_sampler_to_whoever_made_it(renderer: TemplateRenderer):
    sampler = scripted(renderer, READ)
    async with policy_of(sampler) as policy:
        pass
    reply = await policy.respond(SYSTEM, [*TASK, ToolMessage(results=())], TOOLS, Sampling(temperature=None))
    assert reply.sent["temperature"] == 1.0


def test_a_models_folder_is_all_that_a_policy_needs(tmp_path: Path):
    assert open_renderer("hermes", family_folder(tmp_path, "hermes")).stop_ids
