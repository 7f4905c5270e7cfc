"""What ``pdb-trainer corpus harvest`` does: episodes of the policy that a recipe begins with, to imitate."""

from dataclasses import dataclass
from pathlib import Path
from typing import TextIO

import anyio

from pdb_trainer.config import GrpoConfig, SftConfig
from pdb_trainer.corpus.commands import collected
from pdb_trainer.corpus.display import Display, telling_of_episodes
from pdb_trainer.corpus.harvest import harvest
from pdb_trainer.corpus.leakage import open_guard
from pdb_trainer.corpus.origin import Origin
from pdb_trainer.starting_policy import acting, adapter_hash, open_starting_policy


@dataclass(frozen=True, slots=True, kw_only=True)
class Harvested:
    """What to harvest of a policy."""

    generation: int
    """Rounds of training that have made it, from 1."""
    repetitions: int = 1
    """Episodes of each task."""


def harvest_run(
    config: SftConfig | GrpoConfig, out: Path, harvested: Harvested, stream: TextIO, progress: TextIO
) -> int:
    """Collect episodes of the policy that a recipe begins with; 0 when every one has a valid end."""
    guard = open_guard(config.tasks.root)
    acts = acting(config, repetitions=harvested.repetitions)
    origin = Origin(generation=harvested.generation, adapter_hash=adapter_hash(config.adapter.start))

    async def run() -> int:
        async with open_starting_policy(config, out) as policy:
            with Display("harvested", progress) as display:
                return await harvest(
                    policy,
                    origin,
                    acts,
                    out,
                    guard,
                    jobs=config.sampler.concurrency,
                    tell=telling_of_episodes(display),
                )

    return collected(out, anyio.run(run), stream)
