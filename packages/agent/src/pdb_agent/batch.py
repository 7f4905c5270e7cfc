"""Many episodes at bounded concurrency: what is missing of a run is run, what is there is left alone."""

import errno
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from pathlib import Path

import anyio

from pdb_agent.config import ArmConfig, PolicyConfig, RunConfig
from pdb_agent.episode import Ended, EpisodeLog, ExitReason
from pdb_agent.errors import AgentError
from pdb_agent.grading.verdict import Tier
from pdb_agent.loop import EpisodeSettings, run_episode
from pdb_agent.messages import Message, Reply, ToolSpec
from pdb_agent.policy import Policy, PolicyRequestError, Sampling
from pdb_agent.run_folder import RunFolder, Slot
from pdb_agent.task import Task
from pdb_agent.tools.mcp_servers import read_mcp_servers
from pdb_agent.tools.menu import Menu

PROVIDER_FAILURES = 5
"""Episodes in a row that may end by the provider; one key that is not accepted fails them all."""
PolicyFor = Callable[[PolicyConfig, Task], Policy]
"""Gives the policy of an arm for a task; one policy may be given again and again."""


ATTEMPTS = 3
"""Of an episode that ends by infrastructure, each time that the run is begun or continued."""
_NOT_WRITABLE = frozenset(
    {errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.EROFS, errno.EACCES, errno.ENOENT}
)


class BatchError(AgentError):
    """The run cannot go on; what is done is kept."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """Told after every episode."""

    slot: Slot
    ended: Ended
    done: int
    total: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What a run does."""

    config: RunConfig
    tasks: Sequence[Task]
    tiers: Mapping[str, Tier]
    """How each task is graded."""
    menus: Mapping[str, Menu] = field(default_factory=dict[str, Menu])
    """Edit menus of tasks that have one, by id."""
    price: Callable[[str, Reply], Decimal | None]
    """What a reply of a policy costs."""
    jobs: int = 1

    def slots(self) -> list[Slot]:
        """Every episode, repetition by repetition, so that a run that is cut off is balanced."""
        return [
            Slot(task=task.id, number=number, arm=arm)
            for number in range(self.config.repetitions)
            for task in self.tasks
            for arm in self.config.arms
        ]


async def run_batch(
    plan: Plan, folder: RunFolder, policy_for: PolicyFor, tell: Callable[[Progress], None]
) -> int:
    """Run what is missing; how many episodes are still without a valid end afterwards.

    Raises BatchError when episodes cannot be written down or their provider will not have them, and what
    policies raise at their opening.
    """
    slots = plan.slots()
    waiting = [slot for slot in slots if _prepare(folder, slot) is not None]
    batch = _Batch(plan, folder, policy_for, tell, done=len(slots) - len(waiting), total=len(slots))
    limiter = anyio.CapacityLimiter(plan.jobs)
    failure: Exception | None = None
    try:
        async with anyio.create_task_group() as tasks:
            for slot in waiting:
                await limiter.acquire_on_behalf_of(slot)
                tasks.start_soon(batch.run, slot, limiter)
    except* (AgentError, OSError) as group:
        failure = _first(group)
    if failure is not None:
        raise failure
    return sum(1 for slot in slots if slot in batch.unfinished)


class _Batch:
    def __init__(
        self,
        plan: Plan,
        folder: RunFolder,
        policy_for: PolicyFor,
        tell: Callable[[Progress], None],
        *,
        done: int,
        total: int,
    ) -> None:
        self._plan = plan
        self._folder = folder
        self._policy_for = policy_for
        self._tell = tell
        self._done = done
        self._total = total
        self._tasks = {task.id: task for task in plan.tasks}
        self._provider_failures = 0
        self.unfinished: set[Slot] = set()

    async def run(self, slot: Slot, limiter: anyio.CapacityLimiter) -> None:
        try:
            for _ in range(ATTEMPTS):
                ended = await self._attempt(slot)
                if ended is None or not ended.reason.is_infrastructure:
                    break
            else:
                ended = None
            if ended is None:
                self.unfinished.add(slot)
        finally:
            limiter.release_on_behalf_of(slot)

    async def _attempt(self, slot: Slot) -> Ended | None:
        task = self._tasks[slot.task]
        arm = self._plan.config.arms[slot.arm]
        policy = _FirstRequest(self._policy_for(arm.policy or self._plan.config.policy, task))
        path = _prepare(self._folder, slot)
        if path is None:
            return None
        try:
            with EpisodeLog(path) as log:
                ended = await run_episode(task, policy, self._settings(slot, arm, policy), log)
        except OSError as error:
            if error.errno not in _NOT_WRITABLE:
                raise
            raise _not_written(path, error) from error
        self._done += not ended.reason.is_infrastructure
        self._tell(Progress(slot=slot, ended=ended, done=self._done, total=self._total))
        self._watch_provider(ended, policy.refusal)
        return ended

    def _watch_provider(self, ended: Ended, refusal: PolicyRequestError | None) -> None:
        """Raise BatchError when the provider answers nobody any more: waiting is cheaper than failing."""
        if refusal is not None:
            raise BatchError(
                f"{refusal} Every other episode would be refused too: see to that, then run the same command "
                "again; what is done is kept."
            )
        if ended.reason is not ExitReason.PROVIDER_FATAL:
            self._provider_failures = 0
            return
        self._provider_failures += 1
        if self._provider_failures >= PROVIDER_FAILURES:
            raise BatchError(
                f"The last {self._provider_failures} episodes ended by their provider: {ended.detail} "
                "See to that, then run the same command again; what is done is kept."
            )

    def _settings(self, slot: Slot, arm: ArmConfig, policy: Policy) -> EpisodeSettings:
        config = self._plan.config
        sampling = config.sampling.record()
        if sampling.seed is not None:
            sampling = replace(sampling, seed=sampling.seed + slot.number)
        return EpisodeSettings(
            arm=slot.arm,
            toolset=arm.record(),
            servers=read_mcp_servers(arm.mcp_servers) if arm.mcp_servers else (),
            limits=config.limits.record(),
            sampling=sampling,
            number=slot.number,
            tier=self._plan.tiers.get(slot.task),
            backend=config.backend,
            menu=self._plan.menus.get(slot.task),
            price=lambda reply: self._plan.price(policy.name, reply),
        )


class _FirstRequest:
    """A policy that remembers whether an episode's first request was refused (meets ``Policy``).

    Whatever is the matter with that one, a key, a model's name or a setting, is so with every episode's.
    With a later one it may be the conversation.
    """

    def __init__(self, policy: Policy) -> None:
        self._policy = policy
        self._is_first = True
        self.refusal: PolicyRequestError | None = None

    @property
    def name(self) -> str:
        return self._policy.name

    async def respond(
        self, system: str, messages: Sequence[Message], tools: Sequence[ToolSpec], sampling: Sampling
    ) -> Reply:
        try:
            reply = await self._policy.respond(system, messages, tools, sampling)
        except PolicyRequestError as error:
            if self._is_first:
                self.refusal = error
            raise
        self._is_first = False
        return reply

    async def aclose(self) -> None:
        await self._policy.aclose()


def _prepare(folder: RunFolder, slot: Slot) -> Path | None:
    try:
        return folder.prepare(slot)
    except OSError as error:
        raise _not_written(folder.file(slot), error) from error


def _not_written(path: Path, error: OSError) -> BatchError:
    return BatchError(
        f"{path} cannot be written ({error.strerror}): make room and run the same command again; what is "
        "done is kept."
    )


def _first(group: BaseExceptionGroup[Exception]) -> Exception:
    """The first failure of a group, however deep it lies."""
    error = group.exceptions[0]
    return _first(error) if isinstance(error, BaseExceptionGroup) else error
