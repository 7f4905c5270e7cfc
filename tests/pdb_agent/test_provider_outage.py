"""A provider that answers nobody ends a run early, and loses nothing."""

from collections.abc import Sequence
from decimal import Decimal
from pathlib import Path

import pytest
from pdb_agent.batch import PROVIDER_FAILURES, BatchError, Plan, Progress, run_batch
from pdb_agent.config import config_of
from pdb_agent.messages import Message, Reply, ToolSpec
from pdb_agent.policy import PolicyUnavailableError, Sampling
from pdb_agent.run_folder import RunFolder
from pdb_agent.task_files import load_task

pytestmark = [pytest.mark.anyio, pytest.mark.slow]
TASKS = Path(__file__).resolve().parents[2] / "tasks"


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


class DownPolicy:
    """Never answers."""

    name = "vllm/down"

    async def respond(
        self, system: str, messages: Sequence[Message], tools: Sequence[ToolSpec], sampling: Sampling
    ) -> Reply:
        raise PolicyUnavailableError("The server is down.")

    async def aclose(self) -> None:
        pass


async def test_a_run_stops_when_its_provider_answers_nobody_and_says_how_to_go_on(tmp_path: Path) -> None:
    told: list[Progress] = []
    plan = Plan(
        config=config_of({"repetitions": 9, "arms": {"plain": {"toolset": "no-debugger"}}}),
        tasks=[load_task(TASKS / "pagination_window")],
        tiers={},
        price=lambda policy, reply: Decimal(0),
    )
    with pytest.raises(
        BatchError, match=r"The server is down\. See to that, then run the same command again"
    ):
        await run_batch(plan, RunFolder(tmp_path), lambda config, task: DownPolicy(), told.append)
    assert len(told) == PROVIDER_FAILURES
    assert not any(episode.is_valid for _, episode in RunFolder(tmp_path).episodes())
