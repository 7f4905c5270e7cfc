"""Harvest: the policy in training solves training tasks, and what it does well joins the next corpus.

After STaR (arXiv 2203.14465). Episodes are verified by the task's own tests and pass the same gates as a
teacher's; every example keeps which policy generation and which adapter said it.
"""

from collections.abc import Callable
from pathlib import Path

from pdb_agent.batch import Progress
from pdb_agent.policy import Policy

from pdb_trainer.corpus.collecting import collect, refuse_changing_tools
from pdb_trainer.corpus.leakage import LeakageGuard
from pdb_trainer.corpus.origin import Origin
from pdb_trainer.corpus.settings import CollectConfig
from pdb_trainer.errors import CorpusError


async def harvest(
    policy: Policy,
    origin: Origin,
    config: CollectConfig,
    out: Path,
    guard: LeakageGuard,
    *,
    jobs: int,
    tell: Callable[[Progress], None] = lambda progress: None,
) -> int:
    """Collect episodes of a policy in training in ``out``, a run for ``build_corpus`` beside others.

    ``config.policy.name`` is set to the policy's. How many episodes are still without a valid end. Raises
    CorpusError for an origin that is a teacher's, ConfigError for tools that change, and as ``collect`` does.
    """
    if origin.generation == 0:
        raise CorpusError("Generation 0 is for teachers: number a policy in training from 1.")
    refuse_changing_tools(config)
    named = config.policy.model_copy(update={"name": policy.name})
    return await collect(
        config.model_copy(update={"policy": named}),
        out,
        guard,
        jobs=jobs,
        policy_for=lambda policy_config, task: policy,
        origin=origin,
        tell=tell,
    )
