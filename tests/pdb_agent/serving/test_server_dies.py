"""A server that is killed while a model is in the middle of its episodes."""

from collections.abc import Sequence
from pathlib import Path
from uuid import uuid4

import anyio
import psutil
import pytest
from pdb_agent.episode import Ended, EpisodeLog, ExitReason, Replied
from pdb_agent.limits import EpisodeLimits
from pdb_agent.loop import EpisodeSettings, run_episode
from pdb_agent.messages import Attempt, Message, Reply, ToolSpec
from pdb_agent.policies.opening import open_policy
from pdb_agent.policies.retrying import RetryingPolicy, RetryRules
from pdb_agent.policy import Sampling
from pdb_agent.serving.vllm_server import start_vllm
from pdb_agent.task_files import load_task
from pdb_agent.toolsets import Toolset, ToolsetName

from tests.pdb_agent.serving.local_vllm import (
    MODEL,
    PYTHON,
    ROOT,
    is_alive,
    marked,
    needs_vllm,
    processes,
    shared_memory,
)

pytestmark = [
    pytest.mark.anyio,
    pytest.mark.slow,
    pytest.mark.vllm,
    pytest.mark.timeout(900),
    needs_vllm,
]
TASK = ROOT / "tasks" / "pagination_window"
SETTINGS = EpisodeSettings(
    toolset=Toolset(name=ToolsetName.DEBUG),
    limits=EpisodeLimits(turns=6, context_tokens=8000),
    sampling=Sampling(temperature=0.7, max_output_tokens=128),
)


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


class Killing:
    """A policy that kills its server's engine once there is a reply while others are being drawn."""

    def __init__(self, inner: RetryingPolicy, engine: psutil.Process) -> None:
        self._inner = inner
        self._engine = engine
        self._being_drawn = 0
        self.interrupted = 0

    @property
    def name(self) -> str:
        return self._inner.name

    async def respond(
        self, system: str, messages: Sequence[Message], tools: Sequence[ToolSpec], sampling: Sampling
    ) -> Reply:
        self._being_drawn += 1
        try:
            reply = await self._inner.respond(system, messages, tools, sampling)
        finally:
            self._being_drawn -= 1
        if self._being_drawn and not self.interrupted:
            self.interrupted = self._being_drawn
            self._engine.kill()
        return reply

    async def aclose(self) -> None:
        await self._inner.aclose()


async def test_episodes_whose_server_dies_are_to_be_run_again_and_nothing_is_left(tmp_path: Path):
    name = uuid4().hex
    attempts: list[Attempt] = []
    rules = RetryRules(tries=3, on_attempt=lambda policy, attempt: attempts.append(attempt))
    logs = [EpisodeLog(None) for _ in range(3)]
    async with start_vllm(MODEL, PYTHON, log=tmp_path / "vllm.log", settings=marked(name)) as server:
        began = processes(name)
        memory = shared_memory(began)
        engine = next(process for process in began if "EngineCore" in "".join(process.cmdline()))
        url = server.base_url
        async with open_policy(
            f"vllm/{server.model}", base_url=url, timeout_seconds=120, retry=rules
        ) as policy:
            killing = Killing(policy, engine)
            async with anyio.create_task_group() as tasks:
                for log in logs:
                    tasks.start_soon(run_episode, load_task(TASK), killing, SETTINGS, log)
    ends = [log.events[-1] for log in logs]
    assert [end.reason for end in ends if isinstance(end, Ended)] == [ExitReason.PROVIDER_FATAL] * 3, ends
    assert all(isinstance(end, Ended) and end.graded is None for end in ends)
    assert killing.interrupted >= 1
    assert any(isinstance(event, Replied) for log in logs for event in log.events)
    assert len(attempts) == 3 * (rules.tries - 1)
    assert not [process for process in began if is_alive(process)]
    assert processes(name) == []
    assert memory
    assert not [file for file in memory if file.exists()]
