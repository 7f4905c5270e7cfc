"""Supervised fine-tuning: imitate a corpus, on the tokens that its policy said.

Examples come in passes, each in an order of its own; a step is one update from ``examples_per_step`` of them,
every trained token with equal weight. A run that was ended at any moment goes on from its last checkpoint.
"""

from collections.abc import AsyncGenerator, Iterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import TextIO

import anyio.lowlevel

from pdb_trainer import learner_opening
from pdb_trainer.advantage import weigh_equally
from pdb_trainer.config import SftConfig
from pdb_trainer.corpus.example import Part
from pdb_trainer.errors import CorpusError
from pdb_trainer.example_rows import examples_for, row_of
from pdb_trainer.learner import Learner
from pdb_trainer.measuring import Measuring, open_measuring
from pdb_trainer.microbatch_loss import LikelihoodObjective
from pdb_trainer.packing import Microbatch, Packing, pack
from pdb_trainer.run_files import forget_after
from pdb_trainer.run_log import RunLog
from pdb_trainer.sequences import Row
from pdb_trainer.step_report import StepReport
from pdb_trainer.stopwatch import Stopwatch
from pdb_trainer.training_tasks import endless

SHOWN = ("loss", "held_out/loss", "evaluation/solved", "grad_norm", "seconds/update")
"""Of one line to a person."""


@dataclass(slots=True, kw_only=True)
class SftRun:
    """A run at work."""

    config: SftConfig
    folder: Path
    learner: Learner
    rows: Sequence[Row]
    """To imitate."""
    held_out: tuple[Microbatch, ...]
    """To measure on, never to learn from."""
    measuring: Measuring | None
    log: RunLog
    learned: int = 0
    """Steps that are done."""
    drawn: int = 0
    """Rows that were taken so far."""


async def train(config: SftConfig, folder: Path, stream: TextIO) -> int:
    """Run what is missing of a run in its folder; 0 at its end. Raises TrainerError, AgentError, OSError."""
    async with open_run(config, folder, stream) as run:
        for step in range(run.learned + 1, config.run.steps + 1):
            watch = Stopwatch()
            packing = next_batch(run)
            report = run.learner.update(packing.microbatches, objective=LikelihoodObjective())
            watch.lap("update")
            numbers = dict(numbers_of(run, packing, report)) | watch.numbers()
            if is_due(step, config.measure_every, config.run.steps):
                numbers |= held_out_numbers(run)
            if run.measuring is not None:
                numbers |= await run.measuring.measure(step, run.learner)
            run.log.write(step, numbers)
            save(run, step)
            await anyio.lowlevel.checkpoint()  # where a Ctrl-C takes effect
    return 0


def next_batch(run: SftRun) -> Packing:
    """The next rows, packed; every trained token of them weighs the same."""
    config = run.config
    order = endless(len(run.rows), config.run.seed, run.drawn)
    rows = [run.rows[index] for index in islice(order, config.examples_per_step)]
    run.drawn += len(rows)
    return pack(weigh_equally(rows), max_tokens=config.batch.microbatch_tokens)


def held_out_numbers(run: SftRun) -> dict[str, float]:
    """The mean negative log-probability of what is held out, in nats per trained token."""
    if not run.held_out:
        return {}
    total = sum(-float(run.learner.logprobs(one).sum()) for one in run.held_out)
    tokens = sum(int(one.loss_mask.sum()) for one in run.held_out)
    return {"held_out/loss": total / tokens, "held_out/tokens": tokens}


def numbers_of(run: SftRun, packing: Packing, report: StepReport) -> Iterator[tuple[str, float]]:
    """Of one update."""
    yield "loss", report.loss
    yield "grad_norm", report.grad_norm
    yield "learning_rate", report.learning_rate
    yield "entropy", report.entropy
    yield "tokens/learned", report.tokens
    yield "tokens/computed", report.computed_tokens
    yield "skipped/total", report.skipped_total
    yield "passes", run.drawn / len(run.rows)
    yield "microbatches/count", len(packing.microbatches)
    yield "microbatches/fill", packing.fill


def save(run: SftRun, step: int) -> None:
    """The step is done; write a checkpoint where one is due. Raises CheckpointError."""
    run.learned = step
    if is_due(step, run.config.run.checkpoint_every, run.config.run.steps):
        base = run.config.model.path
        learner_opening.keep(run.folder, run.learner, step, {"drawn": run.drawn}, base)


def is_due(step: int, every: int, steps: int) -> bool:
    """Whether something that is done every so many steps, and at the end, is done after this one."""
    return step == steps or (every > 0 and step % every == 0)


@asynccontextmanager
async def open_run(config: SftConfig, folder: Path, stream: TextIO) -> AsyncGenerator[SftRun]:
    """A run in its folder, at its beginning or after its last checkpoint.

    Raises CorpusError for a corpus without a fitting example, and what opening a model raises.
    """
    rows, dropped = read_rows(config, "train")
    held_out, _ = read_rows(config, "held_out")
    learner = learner_opening.open_learner(config, temperature=1.0)
    checkpoint = learner_opening.resume(folder, learner)
    done = checkpoint.step if checkpoint else 0
    forget_after(folder, done)
    with RunLog(folder, done=done, total=config.run.steps, shown=SHOWN, stream=stream) as log:
        for note in learner_opening.words_on(checkpoint, folder):
            log.say(note)
        if dropped:
            log.say(f"{dropped} examples are longer than a microbatch and are left out.")
        async with open_measuring(config, folder, learner.model, log) as measuring:
            yield SftRun(
                config=config,
                folder=folder,
                learner=learner,
                rows=rows,
                held_out=pack(held_out, max_tokens=config.batch.microbatch_tokens).microbatches,
                measuring=measuring,
                log=log,
                learned=done,
                drawn=checkpoint.counters["drawn"] if checkpoint else 0,
            )


def read_rows(config: SftConfig, part: Part) -> tuple[list[Row], int]:
    """Rows of a part of the corpus, and how many are too long. Raises CorpusError, LeakageError."""
    wanted, most = config.corpus.kinds, config.batch.microbatch_tokens
    examples = [
        example
        for example in examples_for(config.model.path, config.corpus.path, part)
        if not wanted or example.kind in wanted
    ]
    rows = [row_of(example) for example in examples if example.trained[1:].any()]
    fitting = [row for row in rows if len(row.token_ids) <= most]
    if part == "train" and not fitting:
        raise CorpusError(
            f"{config.corpus.path} has no example to train on of {', '.join(wanted) or 'any kind'} "
            f"with at most {most} tokens: see pdb-trainer corpus stats, or raise batch.microbatch_tokens."
        )
    return fitting, len(rows) - len(fitting)
