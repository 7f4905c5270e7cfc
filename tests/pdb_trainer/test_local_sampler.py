"""Replies drawn in this process: the model's own distribution, and nothing that depends on time."""

import random
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

import anyio
import anyio.abc
import anyio.lowlevel
import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from pdb_trainer.errors import SamplerError
from pdb_trainer.local_cache import PrefixStore
from pdb_trainer.local_sampler import LocalSampler, LocalSettings
from pdb_trainer.model import prepared
from pdb_trainer.sampler import Sampled, SampleRequest
from torch import nn
from transformers import MistralConfig, MistralForCausalLM, PreTrainedModel

from tests.pdb_trainer.tiny_models import VOCABULARY, Family, tiny_network, tiny_policy

pytestmark = pytest.mark.anyio
CONTEXT = 512
PROMPT = tuple(range(3, 40))
STOP = 7


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(scope="module", autouse=True)
def one_thread() -> None:
    torch.set_num_threads(1)


def sampler_of(model: nn.Module, *, lockstep: bool = False, rows: int = 32, prefix_bytes: int = 1 << 24):
    return LocalSampler(
        model,
        LocalSettings(context_tokens=CONTEXT, lockstep=lockstep, rows=rows, prefix_bytes=prefix_bytes),
    )


def request(seed: int | None = 1, prompt: Sequence[int] = PROMPT, most: int = 20, **more: float):
    return SampleRequest(prompt=tuple(prompt), max_tokens=most, stop_ids=frozenset({STOP}), seed=seed, **more)  # type: ignore[arg-type]


def plain_logprobs(model: nn.Module, prompt: Sequence[int], reply: Sequence[int], temperature: float = 1.0):
    """Of the reply's tokens, by one forward pass without a cache."""
    ids = torch.tensor([[*prompt, *reply]])
    with torch.no_grad():
        logits = model(input_ids=ids, use_cache=False).logits[0].double()
    every = torch.log_softmax(logits / temperature, dim=-1)[len(prompt) - 1 : -1]
    return every.gather(1, torch.tensor(reply)[:, None])[:, 0].tolist()


async def draw(sampler: LocalSampler, requests: Sequence[SampleRequest]) -> list[Sampled]:
    """All at once."""
    replies: dict[int, Sampled] = {}

    async def one(index: int, each: SampleRequest) -> None:
        replies[index] = await sampler.sample(each)

    with anyio.fail_after(60):
        async with anyio.create_task_group() as tasks:
            for index, each in enumerate(requests):
                tasks.start_soon(one, index, each)
    return [replies[index] for index in range(len(requests))]


@pytest.mark.parametrize("family", ["qwen3", "llama"])
@pytest.mark.parametrize(("dtype", "close"), [(torch.float32, 1e-5), (torch.float64, 1e-12)])
async def test_log_probabilities_are_those_of_a_plain_forward_pass(
    family: Family, dtype: torch.dtype, close: float
):
    model = tiny_network(family, dtype).eval()
    lengths = [1, 5, 8, 37, 63, 64, 65, 130]
    requests = [
        request(seed, prompt=[(seed * 5 + place) % VOCABULARY for place in range(length)], most=30 + seed)
        for seed, length in enumerate(lengths)
    ]
    for each, reply in zip(requests, await draw(sampler_of(model), requests), strict=True):
        assert reply.logprobs == pytest.approx(plain_logprobs(model, each.prompt, reply.token_ids), abs=close)
        assert (
            reply.token_ids[-1] == STOP if reply.finish == "stop" else len(reply.token_ids) == each.max_tokens
        )
        assert STOP not in reply.token_ids[:-1]
        assert reply.version == "base"


async def test_what_was_computed_before_is_used_again_and_changes_nothing():
    model = tiny_network(dtype=torch.float64).eval()
    sampler, fresh = sampler_of(model), sampler_of(model, prefix_bytes=0)
    prompt: tuple[int, ...] = PROMPT
    for turn in range(4):
        each = request(turn, prompt=prompt)
        reply = await sampler.sample(each)
        anew = await fresh.sample(each)
        assert reply.token_ids == anew.token_ids
        assert reply.logprobs == pytest.approx(anew.logprobs, abs=1e-12)
        assert anew.cached_tokens == 0
        assert reply.cached_tokens == (0 if turn == 0 else len(prompt) - 6 - 1)
        prompt = (*prompt, *reply.token_ids, *range(20, 26))


async def test_a_prompt_that_begins_like_another_is_computed_from_where_they_part():
    sampler = sampler_of(tiny_network(dtype=torch.float64).eval())
    first, second = request(1), request(1, prompt=(*PROMPT[:-4], 50, 51))
    again, other, same = await draw(sampler, [first, second, first])
    assert (again.cached_tokens, other.cached_tokens) == (0, len(PROMPT) - 4)
    assert same.cached_tokens == len(PROMPT) - 1
    assert same.token_ids == again.token_ids


async def test_tokens_are_drawn_as_often_as_the_model_says():
    model = tiny_network(dtype=torch.float64).eval()
    requests = [
        replace(request(seed, most=160, temperature=1.5), stop_ids=frozenset[int]()) for seed in range(32)
    ]
    chance = np.random.default_rng(0)
    places: list[float] = []
    for reply in await draw(sampler_of(model), requests):
        with torch.no_grad():
            logits = model(input_ids=torch.tensor([[*PROMPT, *reply.token_ids]])).logits[
                0, len(PROMPT) - 1 : -1
            ]
        shares = torch.softmax(logits / 1.5, dim=-1).numpy()
        upto = np.cumsum(shares, axis=-1)
        rows = np.arange(len(reply.token_ids))
        ids = np.array(reply.token_ids)
        # Where in its distribution each token lies, anywhere within its own share: uniform, if drawn from it.
        places += (upto[rows, ids] - shares[rows, ids] * chance.random(len(ids))).tolist()
    count = len(places)
    distance = np.abs(np.sort(places) - (np.arange(count) + 0.5) / count).max()
    assert distance < 1.95 / np.sqrt(count)  # Kolmogorov and Smirnov: one in a thousand


async def test_temperature_shapes_what_is_drawn_and_zero_takes_the_likeliest():
    model = tiny_network(dtype=torch.float64).eval()
    warm, cold = await draw(sampler_of(model), [request(3, temperature=2.0), request(3, temperature=0.0)])
    assert warm.logprobs == pytest.approx(plain_logprobs(model, PROMPT, warm.token_ids, 2.0), abs=1e-12)
    ids = list(PROMPT)
    for token in cold.token_ids:
        with torch.no_grad():
            assert model(input_ids=torch.tensor([ids])).logits[0, -1].argmax() == token
        ids.append(token)
    assert cold.logprobs == pytest.approx(plain_logprobs(model, PROMPT, cold.token_ids), abs=1e-12)


async def test_a_seed_means_one_reply_and_none_means_any():
    sampler = sampler_of(tiny_network(dtype=torch.float64).eval())
    one, same, other, free, freer = await draw(
        sampler, [request(5), request(5), request(6), request(None), request(None)]
    )
    assert one.token_ids == same.token_ids
    assert len({one.token_ids, other.token_ids, free.token_ids, freer.token_ids}) == 4


async def test_a_reply_does_not_depend_on_what_is_drawn_beside_it():
    model = tiny_network(dtype=torch.float64).eval()
    requests = [
        request(seed, prompt=PROMPT[: 5 + 3 * (seed % 9)], most=5 + seed, temperature=0.5 + seed % 3)
        for seed in range(14)
    ]
    together = await draw(sampler_of(model), requests)
    few_rows = await draw(sampler_of(model, rows=3), list(reversed(requests)))
    for each, reply, other in zip(requests, together, reversed(few_rows), strict=True):
        alone = await sampler_of(model).sample(each)
        assert reply.token_ids == other.token_ids == alone.token_ids
        assert reply.logprobs == pytest.approx(alone.logprobs, abs=1e-12)


Waits = Callable[[int, int], int]


async def play(model: nn.Module, waits: Waits, order: Sequence[int]) -> dict[int, list[Sampled]]:
    """Episodes of several turns in lockstep, each busy for a while between two replies."""
    sampler = sampler_of(model, lockstep=True, rows=4)
    told: dict[int, list[Sampled]] = {}

    all_registered = anyio.Event()

    async def episode(number: int, *, task_status: anyio.abc.TaskStatus[None]) -> None:
        prompt = [(number + place) % VOCABULARY for place in range(20 + number)]
        async with sampler.episode(f"e{number:02d}"):
            task_status.started()
            await all_registered.wait()
            for turn in range(2 + number % 3):
                for _ in range(waits(number, turn)):
                    await anyio.lowlevel.checkpoint()
                reply = await sampler.sample(request(100 * number + turn, prompt=prompt, most=12))
                told.setdefault(number, []).append(replace(reply, seconds=0.0))
                prompt += [*reply.token_ids, 9, 10]

    with anyio.fail_after(60):
        async with anyio.create_task_group() as tasks:
            for number in order:
                await tasks.start(episode, number)
            all_registered.set()
    return told


async def test_in_lockstep_everything_is_the_same_bit_for_bit_whoever_is_late():
    model = tiny_network(dtype=torch.float32).eval()
    numbers = list(range(7))
    first = await play(model, lambda number, turn: 0, numbers)
    chance = random.Random(5)
    for _ in range(3):
        chance.shuffle(numbers)
        assert await play(model, lambda number, turn: chance.randrange(60), numbers) == first


async def test_in_lockstep_nothing_is_drawn_while_an_episode_is_busy():
    sampler = sampler_of(tiny_network().eval(), lockstep=True)
    replies: list[Sampled] = []

    async def ask() -> None:
        async with sampler.episode("quick"):
            replies.append(await sampler.sample(request()))

    with anyio.fail_after(10):
        async with anyio.create_task_group() as tasks, sampler.episode("busy"):
            tasks.start_soon(ask)
            await anyio.wait_all_tasks_blocked()
            assert replies == []
    assert len(replies) == 1


async def test_in_lockstep_every_request_belongs_to_an_episode_and_every_episode_has_its_key():
    sampler = sampler_of(tiny_network().eval(), lockstep=True)
    with pytest.raises(SamplerError, match="inside `async with"):
        await sampler.sample(request())
    async with sampler.episode("one"):
        with pytest.raises(SamplerError, match="already"):
            async with sampler.episode("one"):
                pass
        assert (await sampler.sample(request())).token_ids


@pytest.mark.parametrize("lockstep", [True, False])
@pytest.mark.parametrize("cancelled", [0, 3])
async def test_an_episode_that_is_cancelled_takes_nothing_from_the_others(lockstep: bool, cancelled: int):
    model = tiny_network(dtype=torch.float64).eval()
    sampler = sampler_of(model, lockstep=lockstep)
    long = [replace(request(seed, most=100), stop_ids=frozenset[int]()) for seed in range(5)]
    replies: dict[int, Sampled] = {}
    scopes = [anyio.CancelScope() for _ in long]

    async def one(index: int) -> None:
        with scopes[index]:
            async with sampler.episode(str(index)):
                replies[index] = await sampler.sample(long[index])

    with anyio.fail_after(60):
        async with anyio.create_task_group() as tasks:
            for index in range(len(long)):
                tasks.start_soon(one, index)
            for _ in range(20):
                await anyio.lowlevel.checkpoint()
            scopes[cancelled].cancel()
    assert sorted(replies) == [index for index in range(5) if index != cancelled]
    undisturbed = await draw(sampler_of(model), long)
    assert all(reply.token_ids == undisturbed[index].token_ids for index, reply in replies.items())
    async with sampler.episode("later"):
        assert (await sampler.sample(request())).token_ids


def change(model: PreTrainedModel, factor: float) -> None:
    with torch.no_grad():
        for weights in model.parameters():
            weights.mul_(factor)


async def test_new_weights_come_between_replies_and_leave_nothing_of_the_old_ones():
    model = tiny_network(dtype=torch.float64).eval()
    sampler = sampler_of(model)
    replies: list[Sampled] = []

    async def ask(seed: int) -> None:
        replies.append(await sampler.sample(replace(request(seed, most=120), stop_ids=frozenset[int]())))

    with anyio.fail_after(60):
        async with anyio.create_task_group() as tasks:
            for seed in range(4):
                tasks.start_soon(ask, seed)
            for _ in range(12):
                await anyio.lowlevel.checkpoint()
            tasks.start_soon(sampler.renew, "policy-v1", partial(change, model, 0.9))
            await anyio.lowlevel.checkpoint()
            for seed in range(4):
                tasks.start_soon(ask, seed)
    assert [reply.version for reply in replies] == ["base"] * 4 + ["policy-v1"] * 4
    assert sampler.version == "policy-v1"
    old = tiny_network(dtype=torch.float64).eval()
    for reply in replies:
        weights = old if reply.version == "base" else model
        assert reply.logprobs == pytest.approx(plain_logprobs(weights, PROMPT, reply.token_ids), abs=1e-12)
    assert sum(reply.cached_tokens for reply in replies[4:]) == 3 * (len(PROMPT) - 1)


async def test_a_renewal_after_a_cancelled_request_does_not_wait_for_it():
    sampler = sampler_of(tiny_network().eval())
    with anyio.move_on_after(60) as scope:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(sampler.sample, replace(request(most=400), stop_ids=frozenset[int]()))
            for _ in range(5):
                await anyio.lowlevel.checkpoint()
            tasks.cancel_scope.cancel()
    assert not scope.cancelled_caught
    with anyio.fail_after(10):
        await sampler.renew("policy-v1")
        assert (await sampler.sample(request())).version == "policy-v1"


async def test_the_learners_own_model_is_drawn_from_and_left_in_training():
    policy = tiny_policy()
    network = prepared(policy.network, checkpointing=True)
    reply = await sampler_of(network).sample(request())
    assert network.training
    network.eval()
    assert reply.logprobs == pytest.approx(plain_logprobs(network, PROMPT, reply.token_ids), abs=1e-9)
    assert not any(weights.is_inference() for weights in network.state_dict().values())


async def test_a_model_whose_attention_has_a_window_is_refused_and_so_is_more_context_than_it_knows():
    config = MistralConfig(
        vocab_size=9, hidden_size=8, num_hidden_layers=1, num_attention_heads=1, sliding_window=4
    )
    with pytest.raises(SamplerError, match="full attention"):
        sampler_of(MistralForCausalLM(config))
    with pytest.raises(SamplerError, match="at most 512"):
        LocalSampler(tiny_network(), LocalSettings(context_tokens=513))


@pytest.mark.parametrize(
    "bad",
    [
        request(prompt=()),
        request(most=0),
        request(temperature=-1.0),
        request(most=CONTEXT - len(PROMPT) + 1),
    ],
)
async def test_what_cannot_be_drawn_is_refused(bad: SampleRequest):
    with pytest.raises(SamplerError, match=r"Nothing can be drawn|more than"):
        await sampler_of(tiny_network().eval()).sample(bad)


async def test_a_model_that_fails_fails_those_who_asked_and_serves_the_next():
    sampler = sampler_of(tiny_network().eval())
    with pytest.raises(SamplerError, match="could not compute"):
        await sampler.sample(request(prompt=(VOCABULARY + 5,)))
    assert (await sampler.sample(request())).token_ids
    await sampler.aclose()
    await sampler.aclose()


async def test_a_reply_fills_the_context_to_its_last_token():
    model = tiny_network(dtype=torch.float64).eval()
    each = replace(request(most=CONTEXT - len(PROMPT)), stop_ids=frozenset[int]())
    reply = await sampler_of(model).sample(each)
    assert (len(reply.token_ids), reply.finish) == (CONTEXT - len(PROMPT), "length")
    assert reply.logprobs == pytest.approx(plain_logprobs(model, PROMPT, reply.token_ids), abs=1e-12)


conversations = st.lists(st.lists(st.integers(0, 2), min_size=1, max_size=6), min_size=1, max_size=8)


@settings(deadline=None)
@given(kept=conversations, asked=st.lists(st.integers(0, 2), min_size=1, max_size=8), most=st.integers(0, 40))
def test_the_store_gives_the_longest_beginning_it_has_and_stays_in_its_bounds(
    kept: list[list[int]], asked: list[int], most: int
):
    store = PrefixStore(most * 16)
    for ids in kept:
        states = torch.tensor(ids, dtype=torch.float64)[None, :, None]
        store.keep(np.array(ids), [(states, states)])
        assert store.bytes <= most * 16
    common = [
        next(
            (at for at, (one, other) in enumerate(zip(ids, asked, strict=False)) if one != other),
            min(len(ids), len(asked)),
        )
        for ids in kept
    ]
    length, states = store.longest(np.array(asked))
    assert length <= max(common)
    if sum(map(len, kept)) <= most:
        assert length == max(common)
    if length:
        assert states[0][0][0, :, 0].tolist() == asked[:length]
