"""A random model acts in real episodes, several at once: what is recorded does not depend on time."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import anyio
import anyio.abc
import pytest
import torch
from pdb_agent.config import config_of
from pdb_agent.episode import EpisodeLog, assemble
from pdb_agent.limits import EpisodeLimits
from pdb_agent.loop import EpisodeSettings, run_episode
from pdb_agent.policy import Sampling
from pdb_agent.task_choice import choose_tasks
from pdb_agent.toolsets import Toolset, ToolsetName
from pdb_trainer.live_policy import LivePolicy
from pdb_trainer.local_sampler import LocalSampler, LocalSettings
from pdb_trainer.lora import LoraSettings
from pdb_trainer.model import load_policy
from pdb_trainer.renderers.opening import open_renderer
from pdb_trainer.rollout import Rollout
from pdb_trainer.rollout_recording import rollout_of
from pdb_trainer.sequences import chains
from pdb_trainer.tiny_model import TinyModel, make_tiny_model

pytestmark = [pytest.mark.anyio, pytest.mark.slow]


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


async def run(folder: Path, order: Sequence[int]) -> dict[int, Rollout]:
    """Three episodes, begun in some order."""
    model = load_policy(folder, lora=LoraSettings(rank=4), dtype=torch.float32)
    choice = choose_tasks(config_of({"tasks": {"gym": {"families": ["zero"]}}}))
    sampler = LocalSampler(model.network, LocalSettings(context_tokens=4096, lockstep=True))
    policy = LivePolicy(open_renderer(None, folder), sampler, name="local/tiny")
    limits = EpisodeLimits(turns=3, context_tokens=4096)
    all_registered = anyio.Event()
    rollouts: dict[int, Rollout] = {}

    async def episode(number: int, *, task_status: anyio.abc.TaskStatus[None]) -> None:
        task = choice.tasks[number % len(choice.tasks)]
        settings = EpisodeSettings(
            toolset=Toolset(name=ToolsetName.EDIT_MENU),
            menu=choice.menus[task.id],
            limits=replace(limits, repeats=9),
            sampling=Sampling(temperature=1.0, max_output_tokens=24, seed=number),
        )
        log = EpisodeLog(None)
        async with sampler.episode(f"e{number}"):
            task_status.started()
            await all_registered.wait()
            await run_episode(task, policy, settings, log)
        rollouts[number] = rollout_of(
            assemble(log.events, "memory"), run="r", group=f"g{number}", seed=number, rewards={}, hashes={}
        )

    with anyio.fail_after(100):
        async with anyio.create_task_group() as tasks:
            for number in order:
                await tasks.start(episode, number)
            all_registered.set()
    return rollouts


async def test_rollouts_of_concurrent_episodes_are_the_same_bit_for_bit(tmp_path: Path):
    make_tiny_model(tmp_path / "model", TinyModel(hidden=32, layers=2, vocabulary=600))
    first = await run(tmp_path / "model", (0, 1, 2))
    again = await run(tmp_path / "model", (2, 0, 1))
    assert len(chains(list(first.values())).rows) == 3
    for number, rollout in first.items():
        assert len(rollout.turns) >= 2
        for turn, same in zip(rollout.turns, again[number].turns, strict=True):
            assert turn.prompt_hash == same.prompt_hash
            assert turn.sampled_ids.tobytes() == same.sampled_ids.tobytes()
            assert turn.logprobs.tobytes() == same.logprobs.tobytes()
            assert (turn.request_id, turn.cached_tokens) == (same.request_id, same.cached_tokens)
