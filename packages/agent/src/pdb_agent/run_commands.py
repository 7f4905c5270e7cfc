"""What ``pdb-agent eval`` and ``pdb-agent run`` do."""

import time
from collections.abc import Mapping
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path
from types import MappingProxyType
from typing import TextIO

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, TextColumn
from rich.progress import Progress as Bar

from pdb_agent.batch import Plan, Progress, run_batch
from pdb_agent.config import ArmConfig, PolicyConfig, RunConfig
from pdb_agent.episode import Answered, Edited, Ended, EpisodeLog, Event, Replied, Said, Unlocked
from pdb_agent.loop import EpisodeSettings, run_episode
from pdb_agent.manifest import describe_tasks, make_manifest, tools_hash
from pdb_agent.messages import Reply
from pdb_agent.policies.opening import open_policy
from pdb_agent.policies.oracle import OraclePolicy
from pdb_agent.policies.prices import cost
from pdb_agent.policy import Policy
from pdb_agent.run_folder import RunFolder
from pdb_agent.sandbox import SandboxSpec
from pdb_agent.sandboxes.interpreters import task_interpreter
from pdb_agent.sandboxes.opening import open_sandbox, strongest
from pdb_agent.sandboxes.probe import choose
from pdb_agent.task import Task
from pdb_agent.task_choice import TaskChoice, choose_tasks
from pdb_agent.toolbox import open_toolbox
from pdb_agent.tools.mcp_servers import read_mcp_servers
from pdb_agent.validation.stamp import tier_of

ORACLE = "oracle"
_SHOWN_CHARS = 600


class Policies:
    """The policies of a run: one per provider and model, an oracle per task; closed together."""

    def __init__(
        self, stack: AsyncExitStack, right_operations: Mapping[str, str] = MappingProxyType({})
    ) -> None:
        self._stack = stack
        self._right_operations = right_operations
        self._open: dict[str, Policy] = {}

    def __call__(self, config: PolicyConfig, task: Task) -> Policy:
        """The policy for a task. Raises PolicyRequestError for a name, key or SDK that is missing."""
        if config.name == ORACLE:
            return OraclePolicy(task, right_operation=self._right_operations.get(task.id))
        return self.open(config)

    def open(self, config: PolicyConfig) -> Policy:
        """A provider's policy, opened once. Raises PolicyRequestError."""
        key = config.model_dump_json()
        if key not in self._open:
            policy = open_policy(
                config.name,
                base_url=config.base_url,
                key_variable=config.key_variable,
                extra_body=config.extra_body or None,
                timeout_seconds=config.timeout_seconds,
            )
            self._stack.push_async_callback(policy.aclose)
            self._open[key] = policy
        return self._open[key]


async def evaluate(config: RunConfig, out: Path, *, jobs: int, stream: TextIO, progress: TextIO) -> int:
    """Run what is missing of an evaluation in ``out``; 0 when every episode has a valid end.

    Raises ConfigError, RunFolderError, PolicyError, BatchError, NoSandboxError.
    """
    choice = choose_tasks(config)
    tasks = choice.tasks
    tiers = {task.id: tier_of(task) for task in tasks}
    folder = RunFolder(out)
    with folder.locked():
        chosen = await (
            strongest() if config.backend is None else choose(open_sandbox, wanted=config.backend)
        )
        tools = {name: await _tool_schema_hash(arm, choice) for name, arm in config.arms.items()}
        manifest = make_manifest(config, tasks, sandbox=chosen.as_dict(), tiers=tiers, tools=tools)
        continues = folder.claim(manifest, describe_tasks(tasks))
        plan = Plan(config=config, tasks=tasks, tiers=tiers, menus=choice.menus, price=price_of, jobs=jobs)
        if continues:
            progress.write(f"{out} is continued: what is there stays as it is.\n")
        async with AsyncExitStack() as stack:
            policies = Policies(stack, choice.right_operations)
            for arm in config.arms.values():  # a missing key is said before anything runs
                policies(arm.policy or config.policy, tasks[0])
            with _Display(progress) as display:
                unfinished = await run_batch(plan, folder, policies, display.tell)
        _write_totals(folder, config, stream)
    if unfinished:
        stream.write(f"{unfinished} episodes have no valid end: run the same command again.\n")
    return 1 if unfinished else 0


async def _tool_schema_hash(arm: ArmConfig, choice: TaskChoice) -> str:
    """Tells versions of an arm's tools apart, those of its servers included."""
    task = choice.tasks[0]
    spec = SandboxSpec(python=task_interpreter(), files=task.workspace)
    servers = read_mcp_servers(arm.mcp_servers) if arm.mcp_servers else ()
    menu = choice.menus.get(task.id)
    async with open_toolbox(task, arm.record(), spec=spec, menu=menu, servers=servers) as toolbox:
        return tools_hash(toolbox.all_specs)


async def run_one(task: Task, config: RunConfig, *, log_path: Path | None, stream: TextIO) -> int:
    """Run one episode with the first arm, writing what happens as it happens; 0 when it is solved."""
    name, arm = next(iter(config.arms.items()))
    choice = choose_tasks(config)
    settings = EpisodeSettings(
        arm=name,
        toolset=arm.record(),
        servers=read_mcp_servers(arm.mcp_servers) if arm.mcp_servers else (),
        limits=config.limits.record(),
        sampling=config.sampling.record(),
        tier=tier_of(task),
        backend=config.backend,
        menu=choice.menus.get(task.id),
        price=lambda reply: price_of(policy.name, reply),
    )
    async with AsyncExitStack() as stack:
        policy = Policies(stack, choice.right_operations)(arm.policy or config.policy, task)
        with LiveLog(log_path, stream) as log:
            ended = await run_episode(task, policy, settings, log)
    return 0 if ended.graded is not None and ended.graded.solved else 1


def select_tasks(config: RunConfig) -> tuple[Task, ...]:
    """The tasks of a run. Raises ConfigError when there are none, TaskError."""
    return choose_tasks(config).tasks


class LiveLog(EpisodeLog):
    """A log that also tells a person."""

    def __init__(self, path: Path | None, stream: TextIO) -> None:
        super().__init__(path)
        self._stream = stream

    def append(self, event: Event) -> None:
        """Append one event, and write it in words."""
        super().append(event)
        self._stream.write(in_words(event))
        self._stream.flush()


def in_words(event: Event) -> str:
    """An event for a person who watches; empty for those that say nothing new."""
    match event:
        case Said(why="task"):
            return f"{event.text}\n"
        case Said():
            return f"── {event.text}\n"
        case Replied():
            words = event.reply.message.text.strip()
            return f"\n{event.turn}. {words}\n" if words else f"\n{event.turn}.\n"
        case Answered():
            given = ", ".join(f"{name}={value!r}" for name, value in (event.arguments or {}).items())
            text = event.result.text
            shown = text if len(text) <= _SHOWN_CHARS else f"{text[:_SHOWN_CHARS]} […]"
            return f"> {event.result.name}({given[:_SHOWN_CHARS]})\n{shown}\n"
        case Edited():
            return event.diff
        case Unlocked():
            return f"── New tools: {', '.join(event.tools)}\n"
        case Ended():
            verdict = event.graded.reason if event.graded else event.detail
            solved = "solved" if event.graded and event.graded.solved else f"not solved ({event.failure})"
            return f"\n{event.reason}: {solved}. {verdict} {event.turns} turns, {event.at:.1f} s.\n"
        case _:
            return ""


@dataclass(slots=True)
class _Counts:
    done: int = 0
    solved: int = 0
    seconds: float = 0.0
    tasks: set[str] = field(default_factory=set[str])


class _Display:
    """How far a run is: a bar on a terminal, a line per episode elsewhere."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._began = time.monotonic()
        self._arms: dict[str, _Counts] = {}
        self._bar: Bar | None = None
        if stream.isatty():
            self._bar = Bar(
                MofNCompleteColumn(),
                BarColumn(),
                TextColumn("{task.description}"),
                console=Console(file=stream),
            )
        self._bar_task = self._bar.add_task("starting", total=None) if self._bar else None

    def __enter__(self) -> "_Display":
        if self._bar:
            self._bar.start()
        return self

    def __exit__(self, *exception: object) -> None:
        if self._bar:
            self._bar.stop()

    def tell(self, progress: Progress) -> None:
        ended, slot = progress.ended, progress.slot
        counts = self._arms.setdefault(slot.arm, _Counts())
        solved = ended.graded is not None and ended.graded.solved
        if not ended.reason.is_infrastructure:
            counts.done += 1
            counts.solved += solved
        rates = ", ".join(f"{arm} {one.solved}/{one.done}" for arm, one in self._arms.items())
        run = sum(one.done for one in self._arms.values())
        left = (progress.total - progress.done) * (time.monotonic() - self._began) / run if run else 0.0
        words = f"solved: {rates}; about {left / 60:.0f} min left"
        if self._bar and self._bar_task is not None:
            self._bar.update(self._bar_task, completed=progress.done, total=progress.total, description=words)
        else:
            state = "solved" if solved else str(ended.failure or ended.reason)
            self._stream.write(
                f"{progress.done}/{progress.total} {slot.arm} {slot.task} #{slot.number}: {state}, "
                f"{ended.turns} turns, {ended.at:.1f} s; {words}\n"
            )
            self._stream.flush()


def _write_totals(folder: RunFolder, config: RunConfig, stream: TextIO) -> None:
    totals: dict[str, _Counts] = {arm: _Counts() for arm in config.arms}
    for slot, episode in folder.episodes():
        if episode.is_valid and slot.arm in totals:
            totals[slot.arm].done += 1
            totals[slot.arm].solved += episode.solved
            totals[slot.arm].tasks.add(slot.task)
    for arm, one in totals.items():
        rate = f"{one.solved / one.done:.1%}" if one.done else "–"
        stream.write(f"{arm}: {one.solved} of {one.done} episodes solved ({rate}), {len(one.tasks)} tasks\n")


def price_of(policy: str, reply: Reply) -> Decimal | None:
    """What a reply costs in US dollars, None when nobody knows."""
    return Decimal(0) if policy.startswith(ORACLE) else cost(policy, reply.usage, reply.raw_usage)
