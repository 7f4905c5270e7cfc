"""Groups filled by workers at a bounded concurrency."""

from collections import Counter
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager

import anyio
import pytest
from pdb_trainer.errors import TrainerError
from pdb_trainer.group_pool import Draw, GroupPool, PoolSettings
from pdb_trainer.groups import Fate, GroupSettings
from pdb_trainer.rollout import Rollout
from pdb_trainer.rollout_worker import Job

pytestmark = pytest.mark.anyio
DRAWS = [Draw(group=f"g{number}", task=f"t{number}") for number in range(3)]


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


def rollout_of(job: Job) -> Rollout:
    return Rollout(
        run="run",
        group=job.group,
        episode=job.episode,
        task=job.task,
        task_hash="",
        seed=0,
        turns=(),
        solved=False,
        exit_reason="done",
        infra_error=False,
        rewards={"outcome": float(job.number)},
        tests={},
        hashes={},
    )


def settings(*, size: int = 4, concurrency: int = 3, in_order: bool = False, least: int = 2) -> PoolSettings:
    return PoolSettings(
        groups=GroupSettings(size=size, least=least, patience=0.5), concurrency=concurrency, in_order=in_order
    )


class Bench:
    """Runs jobs that end at once, and sees how many there are at a time."""

    def __init__(self, before: Callable[[Job], Awaitable[None]] | None = None) -> None:
        self.ran: list[str] = []
        self.most = self.now = 0
        self._before = before

    async def run(self, job: Job) -> Rollout:
        self.now += 1
        self.most = max(self.most, self.now)
        try:
            await anyio.lowlevel.checkpoint()
            if self._before is not None:
                await self._before(job)
        finally:
            self.now -= 1
        self.ran.append(job.episode)
        return rollout_of(job)


@pytest.mark.parametrize("in_order", [True, False])
async def test_every_group_is_filled_once_in_the_order_of_its_draw(in_order: bool) -> None:
    bench, told = Bench(), []
    pool = GroupPool(bench.run, settings(in_order=in_order), tell=lambda *counts: told.append(counts))
    with anyio.fail_after(5):
        filled = await pool.fill(DRAWS, 7)
    assert [one.group for one in filled.sealed] == ["g0", "g1", "g2"]
    assert [len(one.rollouts) for one in filled.sealed] == [4, 4, 4]
    assert sorted(bench.ran) == sorted(f"g{group}-e{number:02d}" for group in range(3) for number in range(4))
    assert Counter(left.fate for left in filled.left) == {Fate.TRAINED: 12}
    assert bench.most == 3
    assert told[-1] == (12, 12)


async def test_in_order_each_worker_has_its_lot_whoever_is_quicker() -> None:
    seats: dict[str, list[str]] = {}
    seated: list[str] = []
    current: dict[int, str] = {}

    @asynccontextmanager
    async def seat(key: str) -> AsyncGenerator[None]:
        seats[key] = []
        seated.append(key)
        current[anyio.get_current_task().id] = key
        yield

    async def before(job: Job) -> None:
        assert len(seated) == 3  # all sat down before the first one asked
        seats[current[anyio.get_current_task().id]].append(job.episode)
        for _ in range(7 * (job.number == 0)):
            await anyio.lowlevel.checkpoint()

    pool = GroupPool(Bench(before).run, settings(in_order=True), seat=seat)
    with anyio.fail_after(5):
        await pool.fill(DRAWS, 0)
    jobs = [f"g{group}-e{number:02d}" for group in range(3) for number in range(4)]
    assert list(seats.values()) == [jobs[0::3], jobs[1::3], jobs[2::3]]


async def test_a_group_is_sealed_without_those_that_take_too_long() -> None:
    async def before(job: Job) -> None:
        if job.episode == "g1-e03":
            await anyio.sleep_forever()

    pool = GroupPool(Bench(before).run, settings(concurrency=12))
    with anyio.fail_after(10):
        filled = await pool.fill(DRAWS, 0)
    assert [(one.group, len(one.rollouts), one.is_partial) for one in filled.sealed] == [
        ("g0", 4, False),
        ("g1", 3, True),
        ("g2", 4, False),
    ]
    assert [left.episode for left in filled.left if left.fate is Fate.DROPPED] == ["g1-e03"]


async def test_too_few_are_made_up_for_by_others_in_their_place() -> None:
    async def before(job: Job) -> None:
        if job.group == "g0" and job.number in (1, 2, 3):
            await anyio.sleep_forever()

    bench = Bench(before)
    pool = GroupPool(bench.run, settings(concurrency=4))
    with anyio.fail_after(10):
        filled = await pool.fill(DRAWS[:1], 0)
    (sealed,) = filled.sealed
    assert [one.episode for one in sealed.rollouts] == ["g0-e00", "g0-e04", "g0-e05", "g0-e06"]


async def test_what_an_episode_raises_ends_the_others() -> None:
    async def before(job: Job) -> None:
        if job.episode == "g0-e01":
            raise TrainerError("no more")
        await anyio.sleep_forever()

    bench = Bench(before)
    with anyio.fail_after(5), pytest.raises(TrainerError, match="no more"):
        await GroupPool(bench.run, settings()).fill(DRAWS, 0)
    assert bench.now == 0
