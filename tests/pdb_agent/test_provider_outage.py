"""A provider that answers nobody, or refuses, ends a run early, and loses nothing."""

from collections.abc import Sequence
from decimal import Decimal
from pathlib import Path

import pytest
from pdb_agent.batch import PROVIDER_FAILURES, BatchError, Plan, Progress, run_batch
from pdb_agent.config import config_of
from pdb_agent.episode import ExitReason
from pdb_agent.messages import Message, Reply, ToolSpec
from pdb_agent.policies.oracle import OraclePolicy
from pdb_agent.policy import Policy, PolicyRequestError, PolicyUnavailableError, Sampling
from pdb_agent.run_folder import RunFolder
from pdb_agent.task_choice import choose_tasks
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


class Withdrawn:
    """The oracle, until its key is withdrawn after so many requests (meets ``Policy``)."""

    name = "vendor/model"

    def __init__(self, oracle: Policy, account: list[int]) -> None:
        self._oracle = oracle
        self._account = account

    async def respond(
        self, system: str, messages: Sequence[Message], tools: Sequence[ToolSpec], sampling: Sampling
    ) -> Reply:
        self._account[0] -= 1
        if self._account[0] < 0:
            raise PolicyRequestError("The key was withdrawn.")
        return await self._oracle.respond(system, messages, tools, sampling)

    async def aclose(self) -> None:
        await self._oracle.aclose()


def small_plan(repetitions: int = 4) -> Plan:
    """Episodes of one small task, whose oracle asks equally often in each."""
    table = {"tasks": {"gym": {"families": ["zero"], "count": 1}}, "repetitions": repetitions}
    config = config_of({**table, "arms": {"plain": {"toolset": "no-debugger"}}})
    tasks = choose_tasks(config).tasks
    return Plan(config=config, tasks=tasks, tiers={}, price=lambda policy, reply: Decimal(0))


async def requests_of_one_episode(folder: Path) -> int:
    told: list[Progress] = []
    await run_batch(small_plan(1), RunFolder(folder), lambda config, task: OraclePolicy(task), told.append)
    return told[0].ended.turns


@pytest.mark.parametrize(
    ("refused_at", "told_until_then"), [("first", 3), ("second", 4)], ids=["first", "later"]
)
async def test_a_request_that_is_refused_every_time_ends_the_run_at_once_and_it_is_continued(
    tmp_path: Path, refused_at: str, told_until_then: int
) -> None:
    """Two episodes are done when the key goes: at the third's first request, or in its middle."""
    asked = await requests_of_one_episode(tmp_path / "one")
    account = [2 * asked + (refused_at != "first")]
    plan = small_plan()
    folder = RunFolder(tmp_path / "run")
    told: list[Progress] = []
    with pytest.raises(
        BatchError, match=r"^The key was withdrawn\. .*see to that, then run the same command"
    ):
        await run_batch(
            plan, folder, lambda config, task: Withdrawn(OraclePolicy(task), account), told.append
        )
    assert account == [-(told_until_then - 2)]
    assert [progress.ended.reason for progress in told] == [
        *[ExitReason.DONE] * 2,
        *[ExitReason.PROVIDER_FATAL] * (told_until_then - 2),
    ]
    done = {slot: episode for slot, episode in folder.episodes() if episode.is_valid}
    assert len(done) == 2

    told.clear()
    assert await run_batch(plan, folder, lambda config, task: OraclePolicy(task), told.append) == 0
    assert [progress.ended.reason for progress in told] == [ExitReason.DONE] * 2
    after = dict(folder.episodes())
    assert len(after) == 4
    assert {slot: after[slot] for slot in done} == done
