"""GRPO: read this first.

Step by step, and nothing of a step overlaps the next: tasks are drawn, groups of episodes run through the
sandbox and are graded; rewards become advantages, advantages weights of tokens; the learner makes one update,
and the sampler goes over to the new weights. A run that was ended at any moment goes on from its last
checkpoint: everything random follows from (seed, step, group, episode, turn).
"""

from collections.abc import Iterator
from pathlib import Path
from typing import TextIO

from pdb_trainer.alarms import alarms
from pdb_trainer.batch_making import Batch, enough, make_batch
from pdb_trainer.config import GrpoConfig
from pdb_trainer.example_rows import replay_pack
from pdb_trainer.group_pool import Draw, Filled
from pdb_trainer.grpo_numbers import batch_numbers, report_numbers, rollout_numbers, truncated
from pdb_trainer.grpo_run import GrpoRun, open_run
from pdb_trainer.packing import pack
from pdb_trainer.parity import gate, some_of
from pdb_trainer.step_report import StepReport
from pdb_trainer.stopwatch import Stopwatch
from pdb_trainer.training_tasks import endless


async def train(config: GrpoConfig, folder: Path, stream: TextIO) -> int:
    """Run what is missing of a run in its folder; 0 at its end. Raises TrainerError, AgentError, OSError."""
    async with open_run(config, folder, stream) as run:
        for step in range(run.learned + 1, config.run.steps + 1):
            watch = Stopwatch()
            groups = await collect(run, step)
            watch.lap("rollouts")
            batch = make_batch(
                groups.sealed,
                version=step - 1,
                settings=run.advantage,
                max_tokens=config.batch.microbatch_tokens,
            )
            report = update(run, batch, step)
            watch.lap("update")
            await run.publish(step)
            watch.lap("publish")
            numbers = dict(numbers_of(run, step, groups, batch, report)) | watch.numbers()
            numbers |= await run.evaluate(step)
            run.log.write(step, numbers)
            run.save(step)
    return 0


async def collect(run: GrpoRun, step: int) -> Filled:
    """A step's groups; with resampling more, until enough of them are mixed or the tries are used up."""
    algorithm = run.config.algorithm
    draws = _draws(run, step)
    filled = await run.pool.fill([next(draws) for _ in range(algorithm.groups)], step)
    run.keep(step, filled.sealed)
    if algorithm.uniform == "skip":
        return filled
    tried, mixed = algorithm.groups, enough(filled.sealed, algorithm.groups)
    while len(mixed) < algorithm.groups and tried < algorithm.resample_tries:
        missing = min(algorithm.groups - len(mixed), algorithm.resample_tries - tried)
        more = await run.pool.fill([next(draws) for _ in range(missing)], step)
        run.keep(step, more.sealed)
        filled.sealed += more.sealed
        filled.left += more.left
        tried, mixed = tried + missing, enough(filled.sealed, algorithm.groups)
    if len(mixed) < algorithm.groups:
        run.log.say(f"Step {step}: {tried} groups were tried, and {len(mixed)} of them are mixed.")
    names = {group.group for group in mixed}
    filled.set_aside = [group for group in filled.sealed if group.group not in names]
    filled.sealed = mixed
    return filled


def update(run: GrpoRun, batch: Batch, step: int) -> StepReport:
    """One update of the weights; before the first one, sampler and learner have to agree about them."""
    config = run.config
    if not run.was_gated:
        sample = pack(some_of(batch.chains.rows), max_tokens=config.batch.microbatch_tokens)
        for microbatch in sample.microbatches:
            gate(run.learner, microbatch, version=step - 1, settings=run.alarms)
            run.was_gated = True
    anchor = None
    if run.examples:
        anchor = replay_pack(
            run.examples,
            batch.solved_rows,
            tokens=config.anchor.tokens,
            share=config.anchor.success_share,
            seed=f"{config.run.seed}/anchor/{step}",
        )
    return run.learner.update(
        batch.packing.microbatches,
        objective=run.objective(step),
        anchor=anchor,
        kl_tokens=batch.weighed.tokens,
    )


def numbers_of(
    run: GrpoRun, step: int, filled: Filled, batch: Batch, report: StepReport
) -> Iterator[tuple[str, float]]:
    """All to be logged of a step; what is alarming is said too."""
    run.reports.append(report)
    warnings = alarms(run.reports, truncated(filled.rollouts), run.alarms)
    for warning in warnings:
        run.log.say(f"Step {step}: {warning}")
    yield from rollout_numbers(filled.rollouts, filled.left)
    yield from batch_numbers(batch)
    yield from report_numbers(report)
    yield "groups/set_aside", len(filled.set_aside)
    yield "alarms", len(warnings)


def _draws(run: GrpoRun, step: int) -> Iterator[Draw]:
    """Tasks for groups, each pass over all of them in an order of its own."""
    order = endless(len(run.tasks), run.config.run.seed, run.drawn)
    for number, index in enumerate(order):
        run.drawn += 1
        yield Draw(group=f"s{step:05d}-g{number:02d}", task=run.tasks[index])
