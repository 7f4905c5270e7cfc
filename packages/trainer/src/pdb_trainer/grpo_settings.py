"""A recipe's sections as the records that the parts of a run take."""

from functools import partial
from pathlib import Path

from pdb_agent.episode import Episode
from pdb_agent.loop import EpisodeSettings
from pdb_agent.policy import Sampling
from pdb_agent.task import Task

from pdb_trainer import reward
from pdb_trainer.advantage import AdvantageSettings
from pdb_trainer.config import AlgorithmConfig, GrpoConfig, RewardConfig
from pdb_trainer.group_pool import PoolSettings
from pdb_trainer.groups import GroupSettings
from pdb_trainer.loss import LossSettings
from pdb_trainer.model_hashes import hashes_of
from pdb_trainer.rollout_worker import Reward, WorkerSettings
from pdb_trainer.run_files import EPISODES


def worker_settings(config: GrpoConfig, folder: Path) -> WorkerSettings:
    """Of all episodes of a run in ``folder``. Raises OSError where the model's files cannot be read."""
    return WorkerSettings(
        run=folder.name,
        seed=config.run.seed,
        attempts=config.sampler.attempts,
        transcripts=folder / EPISODES if config.run.keep_episodes else None,
        hashes=hashes_of(config.model.path),
        episode=EpisodeSettings(
            arm="train",
            toolset=config.toolset.record(),
            limits=config.limits.record(),
            sampling=Sampling(
                temperature=config.sampler.temperature, max_output_tokens=config.sampler.max_output_tokens
            ),
            backend=config.toolset.backend,
        ),
    )


def pool_settings(config: GrpoConfig, *, in_order: bool) -> PoolSettings:
    """How groups are filled."""
    algorithm = config.algorithm
    return PoolSettings(
        groups=GroupSettings(
            size=algorithm.group_size, least=algorithm.least_group, patience=algorithm.patience
        ),
        concurrency=config.sampler.concurrency,
        in_order=in_order,
    )


def reward_of(config: RewardConfig) -> Reward:
    """What an episode is worth."""
    match config.kind:
        case "itemised":
            return partial(reward.itemised, settings=config.record())
        case "outcome":
            return _outcome


def advantage_settings(algorithm: AlgorithmConfig) -> AdvantageSettings:
    """How rewards become weights."""
    return AdvantageSettings(
        divide_by_std=algorithm.divide_by_std,
        length_alpha=algorithm.length_alpha,
        aggregation=algorithm.aggregation,
        staleness=algorithm.staleness,
        stale_share=algorithm.stale_share,
        least_group=algorithm.least_group,
    )


def loss_settings(algorithm: AlgorithmConfig) -> LossSettings:
    """How weights become a loss."""
    return LossSettings(
        importance=algorithm.importance,
        clip_low=algorithm.clip_low if algorithm.clip else None,
        clip_high=algorithm.clip_high if algorithm.clip else None,
        dual_clip=algorithm.dual_clip or None,
        log_ratio_clamp=algorithm.log_ratio_clamp,
        response_scale=algorithm.response_scale,
        response_bounds=algorithm.response_bounds,
    )


def _outcome(episode: Episode, task: Task) -> dict[str, float]:
    return reward.outcome_only(episode)
