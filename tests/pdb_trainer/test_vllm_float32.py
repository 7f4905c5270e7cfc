"""A real vLLM in float32: what it draws is, to a thousandth, what the learner would have drawn."""

from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any

import anyio
import numpy as np
import peft
import pytest
import torch
from pdb_agent.serving.vllm_server import VllmServer
from pdb_trainer.adapter_carriers import MemoryCarrier
from pdb_trainer.adapter_transfer import AdapterPublisher, open_adapter_publisher
from pdb_trainer.errors import SamplerError, ServerModelError
from pdb_trainer.lora import LoraSettings
from pdb_trainer.model import PolicyModel
from pdb_trainer.policy_versions import PolicyVersions
from pdb_trainer.sampler import Sampled, SampleRequest
from pdb_trainer.vllm_sampler import VllmSampler, open_vllm_sampler
from transformers import AutoModelForCausalLM, AutoTokenizer

from tests.pdb_agent.serving.local_vllm import MODEL, needs_vllm
from tests.pdb_trainer.served_policy import (
    CONTEXT_TOKENS,
    LAG,
    LORA,
    QUESTIONS,
    STOP,
    all_at_once,
    asked,
    drawn_adapter,
    kl,
    learner,
    learner_logprobs,
    reference_logprobs,
    sampled_logprobs,
    served_policy,
    told,
)

pytestmark = [pytest.mark.anyio, pytest.mark.slow, pytest.mark.vllm, pytest.mark.timeout(600), needs_vllm]
CLOSE = 1e-3


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[VllmServer]:
    with served_policy(tmp_path_factory.mktemp("vllm"), "float32") as server:
        yield server


@pytest.fixture(scope="module")
def tokenizer() -> Any:
    return AutoTokenizer.from_pretrained(MODEL)


@pytest.fixture(scope="module")
def trainer() -> PolicyModel:
    return learner(torch.float32)


@pytest.fixture
def versions() -> PolicyVersions:
    return PolicyVersions()


@pytest.fixture
async def sampler(server: VllmServer, versions: PolicyVersions) -> AsyncIterator[VllmSampler]:
    async with open_vllm_sampler(server.base_url, versions=versions) as sampler:
        yield sampler


@pytest.fixture
async def publisher(server: VllmServer, versions: PolicyVersions) -> AsyncIterator[AdapterPublisher]:
    async with open_adapter_publisher(server.base_url, versions, LORA, lag=LAG) as publisher:
        yield publisher


@pytest.mark.parametrize("temperature", [1.0, 0.7])
async def test_without_adapter_transformers_says_the_same(
    sampler: VllmSampler, tokenizer: Any, temperature: float
):
    requests = [asked(tokenizer, question, temperature=temperature, seed=1) for question in QUESTIONS]
    drawn = await all_at_once(sampler, requests)
    network = AutoModelForCausalLM.from_pretrained(MODEL, dtype=torch.float32)
    ours, theirs = sampled_logprobs(drawn), reference_logprobs(network, drawn)
    told(f"base, temperature {temperature}", ours, theirs)
    assert {reply.version for _, reply in drawn} == {"base"}
    assert len(ours) > 100
    assert np.abs(ours - theirs).max() < CLOSE


async def test_an_adapter_goes_from_the_learner_to_the_server_and_back_as_log_probabilities(
    sampler: VllmSampler, publisher: AdapterPublisher, trainer: PolicyModel, tokenizer: Any
):
    await publisher.publish(1, trainer.adapter())
    drawn = await all_at_once(sampler, [asked(tokenizer, question, seed=2) for question in QUESTIONS])
    ours, theirs = sampled_logprobs(drawn), learner_logprobs(trainer, drawn)
    told("learner's adapter", ours, theirs)
    assert {reply.version for _, reply in drawn} == {"policy-v1"}
    assert np.abs(ours - theirs).max() < CLOSE
    assert kl(ours, learner_logprobs(trainer, drawn, adapter=None)) > 0.01  # the adapter does change much


async def test_a_folder_of_pefts_own_making_says_what_peft_says(
    sampler: VllmSampler, publisher: AdapterPublisher, tokenizer: Any, tmp_path: Path
):
    network = AutoModelForCausalLM.from_pretrained(MODEL, dtype=torch.float32)
    config = peft.LoraConfig(r=4, lora_alpha=24, target_modules="all-linear", init_lora_weights=False)
    torch.manual_seed(5)
    adapted = peft.get_peft_model(network, config)
    for name, value in adapted.named_parameters():
        if "lora_" in name:
            value.data *= 0.3
    adapted.save_pretrained(str(tmp_path))
    await publisher.publish(1, tmp_path)
    drawn = await all_at_once(sampler, [asked(tokenizer, question, seed=3) for question in QUESTIONS[:4]])
    ours, theirs = sampled_logprobs(drawn), reference_logprobs(adapted, drawn)
    told("peft's adapter", ours, theirs)
    assert np.abs(ours - theirs).max() < CLOSE
    with adapted.disable_adapter():
        assert kl(ours, reference_logprobs(adapted, drawn)) > 0.01


async def test_weights_that_change_between_two_replies_change_version_and_log_probabilities(
    sampler: VllmSampler, publisher: AdapterPublisher, trainer: PolicyModel, tokenizer: Any
):
    # The same prompt each time, some blocks long: what the cache keeps of it belongs to other weights.
    request = asked(tokenizer, QUESTIONS[2] * 40, max_tokens=16, seed=4)
    replies: list[Sampled] = []
    for number in (1, 2):
        adapter = drawn_adapter(trainer.adapter(), seed=10 + number)
        await publisher.publish(number, adapter)
        ((_, reply),) = drawn = await all_at_once(sampler, [request])
        trainer.load_adapter(adapter)
        assert np.abs(sampled_logprobs(drawn) - learner_logprobs(trainer, drawn)).max() < CLOSE
        replies.append(reply)
    assert [reply.version for reply in replies] == ["policy-v1", "policy-v2"]
    assert replies[0].logprobs != replies[1].logprobs
    again = await sampler.sample(request)
    assert again.cached_tokens > 100


async def test_a_reply_keeps_its_weights_while_newer_ones_come_and_its_own_would_have_gone(
    sampler: VllmSampler,
    publisher: AdapterPublisher,
    versions: PolicyVersions,
    trainer: PolicyModel,
    tokenizer: Any,
):
    own = drawn_adapter(trainer.adapter(), seed=20)
    await publisher.publish(0, own)
    request = asked(tokenizer, QUESTIONS[6], max_tokens=96, stop_ids=frozenset(), seed=5)
    replies: list[Sampled] = []
    short = asked(tokenizer, QUESTIONS[0], max_tokens=2, seed=6)

    async def draw() -> None:
        replies.append(await sampler.sample(request))

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(draw)
        while not versions.is_in_use("policy-v0"):  # noqa: ASYNC110 - nobody tells
            await anyio.sleep(0.01)
        for number in range(1, 6):
            await publisher.publish(number, drawn_adapter(own, seed=20 + number))
            await sampler.sample(short)
        assert not replies
        assert publisher.live == ("policy-v0", "policy-v3", "policy-v4", "policy-v5")
        assert not await publisher._carrier.forget(publisher._live["policy-v0"])  # its worker knows better
    (reply,) = replies
    trainer.load_adapter(own)
    drawn = [(request, reply)]
    assert (reply.version, len(reply.token_ids)) == ("policy-v0", 96)
    assert np.abs(sampled_logprobs(drawn) - learner_logprobs(trainer, drawn)).max() < CLOSE
    await publisher.publish(6, own)
    assert publisher.live == ("policy-v4", "policy-v5", "policy-v6")


@pytest.mark.parametrize("way", ["text", "folder"])
async def test_every_way_of_publishing_gives_the_same_reply(
    server: VllmServer, trainer: PolicyModel, tokenizer: Any, tmp_path: Path, way: str
):
    request = asked(tokenizer, QUESTIONS[3], max_tokens=12, seed=7)
    adapter = drawn_adapter(trainer.adapter(), seed=30)
    replies: list[Sampled] = []
    for spool in (None, tmp_path if way == "folder" else None):
        versions = PolicyVersions()
        async with (
            open_vllm_sampler(server.base_url, versions=versions) as sampler,
            open_adapter_publisher(server.base_url, versions, LORA, spool=spool) as publisher,
        ):
            if way == "text" and replies and isinstance(publisher._carrier, MemoryCarrier):
                publisher._carrier._is_near = False
            await publisher.publish(1, adapter)
            replies.append(await sampler.sample(request))
    first, second = replies
    assert (first.token_ids, first.logprobs) == (second.token_ids, second.logprobs)


@pytest.mark.parametrize(
    ("lora", "change", "message"),
    [
        (LoraSettings(rank=9, alpha=9.0), lambda name: name, r"LoRA rank 9 is greater than max_lora_rank 8"),
        (LORA, lambda name: name.replace("q_proj", "z_proj"), r"no adaptable modules \[.*z_proj"),
    ],
    ids=["rank", "modules"],
)
async def test_an_adapter_that_cannot_be_served_is_refused_and_the_others_are_served_on(
    sampler: VllmSampler,
    publisher: AdapterPublisher,
    tokenizer: Any,
    lora: LoraSettings,
    change: Callable[[str], str],
    message: str,
):
    module = "base_model.model.model.layers.0.self_attn.q_proj"
    good = {
        f"{module}.lora_A.weight": torch.ones(LORA.rank, 576),
        f"{module}.lora_B.weight": torch.ones(576, LORA.rank),
    }
    await publisher.publish(1, good)
    bad = {
        change(f"{module}.lora_A.weight"): torch.ones(lora.rank, 576),
        change(f"{module}.lora_B.weight"): torch.ones(576, lora.rank),
    }
    publisher._lora = lora
    with pytest.raises(ServerModelError, match=message):
        await publisher.publish(2, bad)
    reply = await sampler.sample(asked(tokenizer, QUESTIONS[0], max_tokens=2))
    assert reply.version == "policy-v1"


async def test_a_reply_ends_with_its_stop_token_or_at_its_limit(sampler: VllmSampler, tokenizer: Any):
    stopped = await sampler.sample(asked(tokenizer, QUESTIONS[0], temperature=0.0))
    assert (stopped.finish, stopped.token_ids[-1]) == ("stop", STOP)
    assert tokenizer.decode(stopped.token_ids) == "The capital of France is Paris.<|im_end|>"
    cut = await sampler.sample(asked(tokenizer, QUESTIONS[0], temperature=0.0, max_tokens=3))
    assert (cut.finish, cut.token_ids) == ("length", stopped.token_ids[:3])
    on = await sampler.sample(asked(tokenizer, QUESTIONS[0], temperature=0.0, stop_ids=frozenset({3})))
    assert STOP in on.token_ids  # nothing else ends a reply, the model's own end neither


async def test_a_seed_repeats_a_reply_also_after_a_long_prompt(sampler: VllmSampler, tokenizer: Any):
    long = asked(tokenizer, "word " * 3000, max_tokens=8, temperature=1.5, seed=8)
    assert len(long.prompt) > 3000
    first, second = await sampler.sample(long), await sampler.sample(long)
    assert first.token_ids == second.token_ids
    other = await sampler.sample(asked(tokenizer, "word " * 3000, max_tokens=8, temperature=1.5, seed=9))
    assert other.token_ids != first.token_ids


async def test_the_context_can_be_used_to_its_last_token(sampler: VllmSampler):
    assert sampler.context_tokens == CONTEXT_TOKENS
    full = asked_ids(CONTEXT_TOKENS - 2, 2)
    assert (await sampler.sample(full)).finish == "length"
    with pytest.raises(SamplerError, match="do not go into the 4096"):
        await sampler.sample(asked_ids(CONTEXT_TOKENS - 2, 3))


async def test_an_id_that_is_no_token_is_refused(sampler: VllmSampler):
    with pytest.raises(SamplerError, match=r"refuses .*out of vocabulary"):
        await sampler.sample(asked_ids(3, 1, token=60_000))


async def test_weights_that_the_server_does_not_have_are_named(
    sampler: VllmSampler, versions: PolicyVersions, tokenizer: Any
):
    versions.switch("policy-v99")
    with pytest.raises(ServerModelError, match="`policy-v99` does not exist"):
        await sampler.sample(asked(tokenizer, QUESTIONS[0]))


def asked_ids(prompt: int, most: int, token: int = 500) -> SampleRequest:
    return SampleRequest(prompt=(token,) * prompt, max_tokens=most, stop_ids=frozenset())
