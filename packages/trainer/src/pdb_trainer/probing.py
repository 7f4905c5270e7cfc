"""Runs the probe: the starting policy, a few times on each training task, in the real sandbox."""

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TextIO

import anyio
from pdb_agent.batch import PolicyFor, Progress
from pdb_agent.run_folder import RunFolder
from rich.console import Console
from rich.table import Table

from pdb_trainer.config import AlgorithmConfig, GrpoConfig
from pdb_trainer.corpus.collecting import collect
from pdb_trainer.corpus.display import Display, telling_of_episodes
from pdb_trainer.corpus.leakage import LeakageGuard, open_guard
from pdb_trainer.corpus.settings import CollectConfig
from pdb_trainer.errors import ProbeError
from pdb_trainer.probe import Demand, Forecast, Passes, chance_mixed, forecast, objections, refuse_hopeless

TRIES = 4
"""Of each task."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Probe:
    """What was tried and what it says."""

    passes: Mapping[str, Passes]
    demand: Demand
    found: Forecast


async def probe(
    config: CollectConfig,
    out: Path,
    guard: LeakageGuard,
    demand: Demand,
    *,
    jobs: int,
    policy_for: PolicyFor | None = None,
    tell: Callable[[Progress], None] = lambda progress: None,
) -> Probe:
    """Run what is missing of ``config.repetitions`` tries of each task in ``out``, and count.

    Raises ProbeError when tries have no valid end, which the same command runs again, and as ``collect``.
    """
    unfinished = await collect(config, out, guard, jobs=jobs, policy_for=policy_for, tell=tell)
    if unfinished:
        raise ProbeError(f"{unfinished} tries have no valid end: run the same command again.")
    passes = read_passes(out)
    return Probe(passes=passes, demand=demand, found=forecast(passes, demand))


def read_passes(out: Path) -> dict[str, Passes]:
    """How often each task of a run was solved."""
    tries, passed = Counter[str](), Counter[str]()
    for slot, episode in RunFolder(out).episodes():
        if episode.is_valid:
            tries[slot.task] += 1
            passed[slot.task] += episode.solved
    return {task: Passes(passed=passed[task], tries=count) for task, count in sorted(tries.items())}


def demand_of(algorithm: AlgorithmConfig) -> Demand:
    """What a run wants. Without resampling a batch is what its groups are, and one mixed group has to be."""
    resamples = algorithm.uniform == "resample"
    return Demand(
        group_size=algorithm.group_size,
        groups=algorithm.groups if resamples else 1,
        tries=algorithm.resample_tries if resamples else algorithm.groups,
    )


def write_report(made: Probe, stream: TextIO) -> None:
    """Passes by task, what they say of the run, and what speaks against it."""
    console = Console(file=stream, width=None if stream.isatty() else 120, highlight=False)
    table = Table("task", "passed", "of", f"P(mixed group of {made.demand.group_size})", box=None)
    for task, one in made.passes.items():
        chance = chance_mixed(one.rate, made.demand.group_size)
        table.add_row(task, str(one.passed), str(one.tries), f"{chance:.3f}")
    console.print(table)
    found, demand = made.found, made.demand
    console.print(
        f"tasks: {found.tasks}; {found.never} never passed, {found.mixed} mixed ({found.mixed_share:.0%}), "
        f"{found.always} always passed"
    )
    console.print(f"P(mixed group) at {demand.group_size} episodes a group: {found.mixed_chance:.3f}")
    console.print(
        f"mixed groups to expect in {demand.tries} tries: {found.kept_groups:.2f}; wanted: {demand.groups}"
    )
    for why in objections(found, demand):
        console.print(f"against it: {why}")


def probe_run(
    config: GrpoConfig, out: Path, *, tries: int, anyway: bool, stream: TextIO, progress: TextIO
) -> int:
    """Probe a recipe's tasks with the policy that it begins with, and print what that says of the run.

    Raises ProbeError when the run should not begin, unless ``anyway``.
    """
    from pdb_trainer.starting_policy import acting, open_starting_policy  # brings torch

    demand = demand_of(config.algorithm)
    guard = open_guard(config.tasks.root)

    async def run() -> Probe:
        async with open_starting_policy(config, out) as policy:
            with Display("tried", progress) as display:
                return await probe(
                    acting(config, repetitions=tries),
                    out,
                    guard,
                    demand,
                    jobs=config.sampler.concurrency,
                    policy_for=lambda policy_config, task: policy,
                    tell=telling_of_episodes(display),
                )

    made = anyio.run(run)
    write_report(made, stream)
    if not anyway:
        refuse_hopeless(made.found, demand)
    return 0
