"""Fills groups with episodes at a bounded concurrency, until every group is sealed or dropped."""

import time
from collections import deque
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field, replace

import anyio
import anyio.abc
from pdb_agent.errors import AgentError

from pdb_trainer.errors import TrainerError
from pdb_trainer.groups import Changes, Groups, GroupSettings, Left, SealedGroup
from pdb_trainer.rollout import Rollout
from pdb_trainer.rollout_worker import Job

_TICK_SECONDS = 1.0
Seat = Callable[[str], AbstractAsyncContextManager[None]]
"""Registers someone who asks for replies for as long as the block lasts."""


@asynccontextmanager
async def no_seat(key: str) -> AsyncGenerator[None]:
    """Of a sampler that needs to know nobody."""
    yield


@dataclass(frozen=True, slots=True, kw_only=True)
class Draw:
    """A task that was drawn for a group."""

    group: str
    task: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PoolSettings:
    """How groups are filled."""

    groups: GroupSettings
    concurrency: int
    """Episodes at once."""
    in_order: bool = False
    """Deal the episodes out to workers beforehand and wait for each, so that nothing depends on time: what
    each worker runs, and which of them ask for replies together."""


@dataclass(slots=True)
class Filled:
    """What came of a step's draws."""

    sealed: list[SealedGroup] = field(default_factory=list[SealedGroup])
    """In the order in which they were drawn."""
    left: list[Left] = field(default_factory=list[Left])
    set_aside: list[SealedGroup] = field(default_factory=list[SealedGroup])
    """Groups that nothing is to be learned from."""

    @property
    def rollouts(self) -> list[Rollout]:
        """Of all groups."""
        return [rollout for group in (*self.sealed, *self.set_aside) for rollout in group.rollouts]


class GroupPool:
    """Workers that take one episode after the other, for one step."""

    def __init__(
        self,
        run: Callable[[Job], Awaitable[Rollout]],
        settings: PoolSettings,
        *,
        seat: Seat = no_seat,
        tell: Callable[[int, int], None] = lambda done, total: None,
    ) -> None:
        """``tell`` is told how many episodes are done, and of how many."""
        self._run = run
        self._settings = settings
        self._seat = seat
        self._tell = tell

    async def fill(self, draws: Sequence[Draw], step: int) -> Filled:
        """Run whole groups of each draw. Raises what an episode raises, the others being ended."""
        return await _Step(self._run, self._settings, self._seat, self._tell, draws, step).fill()


class _Step:
    def __init__(
        self,
        run: Callable[[Job], Awaitable[Rollout]],
        settings: PoolSettings,
        seat: Seat,
        tell: Callable[[int, int], None],
        draws: Sequence[Draw],
        step: int,
    ) -> None:
        self._run, self._settings, self._seat, self._tell = run, settings, seat, tell
        self._step = step
        patience = float("inf") if settings.in_order else settings.groups.patience
        self._groups = Groups(replace(settings.groups, patience=patience))
        self._tasks = {draw.group: draw.task for draw in draws}
        self._numbers = dict.fromkeys(self._tasks, 0)
        """Jobs made, by group."""
        self._dispatched = dict.fromkeys(self._tasks, 0)
        self._jobs: deque[Job] = deque()
        self._scopes: dict[str, anyio.CancelScope] = {}
        self._filled = Filled()
        self._done = 0
        self._changed = anyio.Event()
        self._all_seated = anyio.Event()
        for draw in draws:
            self._groups.open(draw.group)
        self._enqueue()

    async def fill(self) -> Filled:
        workers = min(self._settings.concurrency, len(self._jobs))
        lots = [deque[Job]() for _ in range(workers)]
        if self._settings.in_order:
            for index, job in enumerate(self._jobs):
                lots[index % workers].append(job)
            self._jobs.clear()
        failure: Exception | None = None
        try:
            await self._run_all(lots)
        except* (TrainerError, AgentError, OSError) as several:
            failure = _first(several)
        if failure is not None:
            raise failure
        order = {group: place for place, group in enumerate(self._tasks)}
        self._filled.sealed.sort(key=lambda one: order[one.group])
        return self._filled

    async def _run_all(self, lots: Sequence[deque[Job]]) -> None:
        async with anyio.create_task_group() as clock:
            if not self._settings.in_order:
                clock.start_soon(self._tick)
            async with anyio.create_task_group() as tasks:
                for number, lot in enumerate(lots):
                    await tasks.start(self._work, f"worker-{number:03d}", lot)
                self._all_seated.set()
            clock.cancel_scope.cancel()

    async def _work(self, key: str, lot: deque[Job], *, task_status: anyio.abc.TaskStatus[None]) -> None:
        async with self._seat(key):
            task_status.started()
            await self._all_seated.wait()  # nobody asks for a reply while others are still to sit down
            while (job := lot.popleft() if lot else await self._next()) is not None:
                await self._episode(job)

    async def _next(self) -> Job | None:
        """A job that anybody may take; None when there will be none."""
        while not self._jobs and self._groups.running and not self._settings.in_order:
            await self._changed.wait()
        return self._jobs.popleft() if self._jobs else None

    async def _episode(self, job: Job) -> None:
        self._groups.dispatch(job.group, job.episode, time.monotonic())
        self._dispatched[job.group] += 1
        with anyio.CancelScope() as scope:
            self._scopes[job.episode] = scope
            rollout = await self._run(job)
            self._done += 1
            self._take(self._groups.finish(job.episode, rollout, time.monotonic()))
        del self._scopes[job.episode]
        self._tell(self._done, self._done + self._groups.running + len(self._jobs))

    async def _tick(self) -> None:
        while True:
            await anyio.sleep(_TICK_SECONDS)
            self._take(self._groups.tick(time.monotonic()))

    def _take(self, changes: Changes) -> None:
        self._filled.sealed += changes.sealed
        self._filled.left += changes.left
        for left in changes.left:
            if left.was_running:
                self._scopes[left.episode].cancel()
        self._enqueue()
        self._changed.set()
        self._changed = anyio.Event()

    def _enqueue(self) -> None:
        """A job for every episode that a group lacks."""
        for wanted in self._groups.wanted():
            group = wanted.group
            for _ in range(wanted.missing - (self._numbers[group] - self._dispatched[group])):
                job = Job(step=self._step, group=group, task=self._tasks[group], number=self._numbers[group])
                self._numbers[group] += 1
                self._jobs.append(job)


def _first(group: BaseExceptionGroup[Exception]) -> Exception:
    """The first failure of a group, however deep it lies."""
    error = group.exceptions[0]
    return _first(error) if isinstance(error, BaseExceptionGroup) else error
