"""A real vLLM in bfloat16, as it trains: parity on average, whole episodes, and the server's death."""

from collections.abc import AsyncIterator, Iterator
from typing import Any

import anyio
import numpy as np
import psutil
import pytest
import torch
from pdb_agent.episode import Ended, EpisodeLog, assemble
from pdb_agent.limits import EpisodeLimits
from pdb_agent.loop import EpisodeSettings, run_episode
from pdb_agent.policy import Sampling
from pdb_agent.procedural.gym import LabFamily
from pdb_agent.serving.vllm_server import VllmServer
from pdb_agent.toolsets import Toolset, ToolsetName
from pdb_trainer.adapter_transfer import AdapterPublisher, open_adapter_publisher
from pdb_trainer.config import GymTasksConfig, TasksConfig, ToolsetConfig
from pdb_trainer.errors import SamplerUnavailableError
from pdb_trainer.live_policy import LivePolicy
from pdb_trainer.model import PackedTensors, PolicyModel
from pdb_trainer.packing import pack
from pdb_trainer.policy_versions import PolicyVersions
from pdb_trainer.renderers.opening import open_renderer
from pdb_trainer.rollout import Rollout
from pdb_trainer.rollout_recording import rollout_of
from pdb_trainer.sequences import Row, chains
from pdb_trainer.training_tasks import training_tasks
from pdb_trainer.vllm_http import HttpRules
from pdb_trainer.vllm_sampler import VllmSampler, open_vllm_sampler
from transformers import AutoModelForCausalLM, AutoTokenizer

from tests.pdb_agent.serving.local_vllm import MODEL, needs_vllm
from tests.pdb_trainer.served_policy import (
    LAG,
    LORA,
    QUESTIONS,
    Logprobs,
    all_at_once,
    asked,
    kl,
    learner,
    learner_logprobs,
    reference_logprobs,
    sampled_logprobs,
    served_policy,
    told,
)

pytestmark = [pytest.mark.anyio, pytest.mark.slow, pytest.mark.vllm, pytest.mark.timeout(600), needs_vllm]
MOST_KL = 0.015
RULES = HttpRules(tries=2, chance=lambda: 0.0)


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[VllmServer]:
    with served_policy(tmp_path_factory.mktemp("vllm"), "bfloat16") as server:
        yield server


@pytest.fixture(scope="module")
def tokenizer() -> Any:
    return AutoTokenizer.from_pretrained(MODEL)


@pytest.fixture(scope="module")
def trainer() -> PolicyModel:
    return learner(torch.bfloat16)


@pytest.fixture
def versions() -> PolicyVersions:
    return PolicyVersions()


@pytest.fixture
async def sampler(server: VllmServer, versions: PolicyVersions) -> AsyncIterator[VllmSampler]:
    async with open_vllm_sampler(server.base_url, versions=versions, rules=RULES) as sampler:
        yield sampler


@pytest.fixture
async def publisher(server: VllmServer, versions: PolicyVersions) -> AsyncIterator[AdapterPublisher]:
    opened = open_adapter_publisher(server.base_url, versions, LORA, lag=LAG, rules=RULES)
    async with opened as publisher:
        yield publisher


async def test_without_adapter_transformers_says_the_same_on_average(sampler: VllmSampler, tokenizer: Any):
    drawn = await all_at_once(sampler, [asked(tokenizer, question, seed=1) for question in QUESTIONS])
    network = AutoModelForCausalLM.from_pretrained(MODEL, dtype=torch.bfloat16)
    ours, theirs = sampled_logprobs(drawn), reference_logprobs(network, drawn)
    told("base", ours, theirs)
    assert len(ours) > 100
    assert kl(ours, theirs) < MOST_KL


async def test_with_an_adapter_the_learner_says_the_same_on_average(
    sampler: VllmSampler, publisher: AdapterPublisher, trainer: PolicyModel, tokenizer: Any
):
    await publisher.publish(1, trainer.adapter())
    drawn = await all_at_once(sampler, [asked(tokenizer, question, seed=2) for question in QUESTIONS])
    ours, theirs = sampled_logprobs(drawn), learner_logprobs(trainer, drawn)
    told("learner's adapter", ours, theirs)
    assert kl(ours, theirs) < MOST_KL
    assert kl(ours, learner_logprobs(trainer, drawn, adapter=None)) > 2 * MOST_KL


@torch.inference_mode()
def recomputed(trainer: PolicyModel, rows: tuple[Row, ...]) -> tuple[Logprobs, Logprobs]:
    """What the sampler said and what the learner says of every token that was drawn."""
    ours: list[Logprobs] = []
    theirs: list[Logprobs] = []
    for microbatch in pack(rows, max_tokens=4096).microbatches:
        ours.append(microbatch.old_logprobs[microbatch.loss_mask].astype(np.float64))
        theirs.append(trainer.logprobs(PackedTensors.of(microbatch, trainer.device))[0].double().numpy())
    return np.concatenate(ours), np.concatenate(theirs)


async def test_episodes_in_the_sandbox_are_recorded_token_for_token(
    sampler: VllmSampler, publisher: AdapterPublisher, trainer: PolicyModel
):
    await publisher.publish(1, trainer.adapter())
    gym = GymTasksConfig(families=(LabFamily.MINMAX, LabFamily.RANGE), count=4)
    chosen = training_tasks(TasksConfig(gym=gym), ToolsetConfig(name=ToolsetName.EDIT_MENU))
    policy = LivePolicy(open_renderer(None, MODEL), sampler, name="vllm/smollm2")
    rollouts: list[Rollout] = []
    ends: list[Ended] = []

    async def play(number: int) -> None:
        task, log = chosen.tasks[number], EpisodeLog(None)
        settings = EpisodeSettings(
            toolset=Toolset(name=ToolsetName.EDIT_MENU),
            limits=EpisodeLimits(turns=4, context_tokens=4000, wall_seconds=300),
            sampling=Sampling(temperature=1.0, max_output_tokens=64, seed=number),
            menu=chosen.menus[task.id],
            number=number,
        )
        ends.append(await run_episode(task, policy, settings, log))
        episode = assemble(log.events, task.id)
        rollouts.append(rollout_of(episode, run="r", group="g", seed=number, rewards={}, hashes={}))

    async with anyio.create_task_group() as tasks:
        for number in range(4):
            tasks.start_soon(play, number)
    reasons = [(end.reason, end.detail) for end in ends]
    assert not any(reason.is_infrastructure for reason, _ in reasons), reasons
    assert all(end.graded is not None for end in ends)
    merged = chains(rollouts)
    turns = [turn for rollout in rollouts for turn in rollout.turns]
    print(f"{len(turns)} turns in {len(merged.rows)} chains; {reasons}")
    assert len(turns) > len(rollouts)
    assert len(merged.rows) == 4  # one chain each: no turn was rendered anew
    assert {turn.version for turn in turns} == {"policy-v1"}
    ours, theirs = recomputed(trainer, merged.rows)
    told("episodes", ours, theirs)
    assert len(ours) == sum(len(turn.sampled_ids) for turn in turns)
    assert kl(ours, theirs) < MOST_KL
    assert abs(float(np.mean(np.exp(theirs - ours))) - 1) < 0.05


async def test_a_server_that_dies_under_replies_is_infrastructure_for_all_that_ask(
    server: VllmServer,
    sampler: VllmSampler,
    publisher: AdapterPublisher,
    trainer: PolicyModel,
    tokenizer: Any,
):
    """The last one: there is no server after it."""
    request = asked(tokenizer, QUESTIONS[6], max_tokens=2000, stop_ids=frozenset(), seed=3)
    failures: list[SamplerUnavailableError] = []

    async def draw() -> None:
        try:
            await sampler.sample(request)
        except SamplerUnavailableError as error:
            failures.append(error)

    parent = psutil.Process(server.pid)
    # Python's own watch over shared memory, hundreds of megabytes of it, puts that away.
    every = [*parent.children(recursive=True), parent]
    doomed = [one for one in every if "multiprocessing.resource_tracker" not in " ".join(one.cmdline())]
    with anyio.fail_after(120):
        async with anyio.create_task_group() as tasks:
            for _ in range(3):
                tasks.start_soon(draw)
            while not sampler.versions.is_in_use("base"):  # noqa: ASYNC110 - nobody tells
                await anyio.sleep(0.01)
            await sampler.sample(asked(tokenizer, QUESTIONS[0], max_tokens=2))  # by now it draws
            for process in doomed:
                process.kill()
    assert len(failures) == 3
    with pytest.raises(SamplerUnavailableError, match="No vLLM server answers"):
        await publisher.publish(2, trainer.adapter())
    assert sampler.version == "base"
