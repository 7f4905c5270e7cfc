"""From rewards to what each token's loss is multiplied by, with denominators of the whole batch.

Everything here is numpy: weights belong to responses and trajectories, whatever rows and microbatches become
of them later.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from pdb_trainer.errors import RolloutError
from pdb_trainer.sequences import Row

STD_EPSILON = 1e-6
"""Added to a group's deviation before dividing by it (GRPO, arXiv 2402.03300)."""

Aggregation = Literal["response", "token", "trajectory"]


class Scored(Protocol):
    """What is asked of an episode; a Rollout is one."""

    @property
    def episode(self) -> str:
        """Its name, which its rows carry."""
        ...

    @property
    def group(self) -> str:
        """Of episodes that are compared with each other."""
        ...

    @property
    def reward(self) -> float:
        """All terms together."""
        ...

    @property
    def sampled_tokens(self) -> int:
        """Over all turns."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class AdvantageSettings:
    """How rewards become weights."""

    divide_by_std: bool = False
    """A = R - mean(R); True divides it by the group's deviation (Dr. GRPO, arXiv 2503.20783, does not)."""
    length_alpha: float = 0.25
    """Longer trajectories weigh less, in this power of their length; 0 is off."""
    aggregation: Aggregation = "response"
    """Mean over a response's tokens, then the group's responses, then groups; or over the batch's tokens; or
    over a trajectory's tokens, then the group's trajectories, then groups."""
    staleness: int = 4
    """Tokens of weights that are more updates old are masked."""
    stale_share: float = 0.5
    """A trajectory with more than this share of its tokens masked is dropped."""
    least_group: int = 8
    """A group that lost trajectories to staleness needs so many left."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Weighed:
    """Rows to train on, and what was left out. Every count is of the whole batch."""

    rows: tuple[Row, ...]
    """Those with a weight that is not 0; the others change no gradient."""
    advantages: Mapping[str, float]
    """By episode, of those that were compared."""
    groups: int
    """That were compared, uniform ones included."""
    uniform_groups: int
    """Whose rewards are all the same: no advantage, but part of every denominator."""
    tokens: int
    """Unmasked tokens of the groups that were compared: the denominator of means over the batch."""
    stale_tokens: int
    """Masked for their age."""
    stale_episodes: tuple[str, ...]
    """Dropped because most of their tokens were masked."""
    rejected_groups: tuple[str, ...]
    """Left with too few trajectories."""


def weigh(
    rows: Sequence[Row], episodes: Sequence[Scored], *, version: int, settings: AdvantageSettings
) -> Weighed:
    """Fill the weight of every token, for an update of the weights numbered ``version``.

    ``rows`` may have any weight before. Raises RolloutError for a row without its episode.
    """
    scored = {each.episode: each for each in episodes}
    if missing := next((row for row in rows if row.episode not in scored), None):
        raise RolloutError(
            f"A row belongs to the episode {missing.episode}, which has no reward: pass it too."
        )
    before = _tokens_by_episode(rows)
    fresh = [_without_stale(row, version - settings.staleness) for row in rows]
    after = _tokens_by_episode(fresh)
    stale = tuple(name for name in scored if before[name] - after[name] > settings.stale_share * before[name])
    groups, rejected = _groups_left(episodes, frozenset(stale), settings.least_group)
    advantages = {
        name: value for members in groups.values() for name, value in _advantages(members, settings).items()
    }
    kept = [row for row in fresh if row.episode in advantages]
    scales = {
        name: advantages[name] * weight
        for members in groups.values()
        for name, weight in length_weights(members, settings.length_alpha).items()
    }
    weighed = _with_weights(kept, scales, len(groups), settings.aggregation)
    return Weighed(
        rows=tuple(row for row in weighed if row.weight.any()),
        advantages=advantages,
        groups=len(groups),
        uniform_groups=sum(not any(advantages[each.episode] for each in group) for group in groups.values()),
        tokens=sum(int(row.loss_mask.sum()) for row in kept),
        stale_tokens=sum(before.values()) - sum(after.values()),
        stale_episodes=stale,
        rejected_groups=rejected,
    )


def weigh_equally(rows: Sequence[Row]) -> tuple[Row, ...]:
    """Every unmasked token of the batch weighs the same, all together 1: the mean over tokens."""
    tokens = sum(int(row.loss_mask.sum()) for row in rows)
    each = np.float32(1 / tokens) if tokens else np.float32(0)
    return tuple(replace(row, weight=np.where(row.loss_mask, each, np.float32(0))) for row in rows)


def length_weights(group: Sequence[Scored], alpha: float) -> dict[str, float]:
    """w_i = (L̄ / L_i) ** alpha over its own mean, so that their mean is one; L_i is at least 1."""
    if not group:
        return {}
    lengths = np.array([max(1, each.sampled_tokens) for each in group], np.float64)
    raw = (lengths.mean() / lengths) ** alpha
    return {each.episode: float(value) for each, value in zip(group, raw / raw.mean(), strict=True)}


def _advantages(group: Sequence[Scored], settings: AdvantageSettings) -> dict[str, float]:
    rewards = np.array([each.reward for each in group], np.float64)
    if (rewards == rewards[0]).all():  # exactly 0, where a mean may round
        return dict.fromkeys((each.episode for each in group), 0.0)
    values = rewards - rewards.mean()
    if settings.divide_by_std:
        values = values / (rewards.std() + STD_EPSILON)
    return {each.episode: float(value) for each, value in zip(group, values, strict=True)}


def _tokens_by_episode(rows: Sequence[Row]) -> defaultdict[str, int]:
    counts: defaultdict[str, int] = defaultdict(int)
    for row in rows:
        counts[row.episode] += int(row.loss_mask.sum())
    return counts


def _without_stale(row: Row, oldest: int) -> Row:
    """A response has one version, so it is masked whole or not at all."""
    mask = row.loss_mask & (row.version >= oldest)
    if mask.sum() == row.loss_mask.sum():
        return row
    return replace(
        row,
        loss_mask=mask,
        old_logprobs=np.where(mask, row.old_logprobs, np.float32(0)),
        version=np.where(mask, row.version, np.int32(-1)),
        response_id=np.where(mask, row.response_id, np.int32(-1)),
    )


def _groups_left(
    episodes: Sequence[Scored], stale: frozenset[str], least: int
) -> tuple[dict[str, list[Scored]], tuple[str, ...]]:
    groups: defaultdict[str, list[Scored]] = defaultdict(list)
    whole: defaultdict[str, int] = defaultdict(int)
    for each in episodes:
        whole[each.group] += 1
        if each.episode not in stale:
            groups[each.group].append(each)
    rejected = tuple(name for name, size in whole.items() if len(groups[name]) < min(size, least))
    return {name: group for name, group in groups.items() if name not in rejected}, rejected


def _with_weights(
    rows: Sequence[Row], scales: Mapping[str, float], groups: int, aggregation: Aggregation
) -> list[Row]:
    """A token's weight is its trajectory's scale over the denominators of its place in the batch."""
    if aggregation == "token":
        tokens = sum(int(row.loss_mask.sum()) for row in rows)
        return [
            _weighted(row, np.full(len(row.token_ids), scales[row.episode] / max(1, tokens))) for row in rows
        ]
    units = [_units(row, aggregation) for row in rows]
    sizes: defaultdict[tuple[str, int], int] = defaultdict(int)
    members: defaultdict[str, set[tuple[str, int]]] = defaultdict(set)
    for row, unit in zip(rows, units, strict=True):
        for number, count in zip(*np.unique(unit[row.loss_mask], return_counts=True), strict=True):
            sizes[row.episode, int(number)] += int(count)
            members[row.group].add((row.episode, int(number)))
    result: list[Row] = []
    for row, unit in zip(rows, units, strict=True):
        denominator = np.array([sizes.get((row.episode, int(number)), 1) for number in unit], np.float64)
        outer = max(1, len(members[row.group])) * groups
        result.append(_weighted(row, scales[row.episode] / (denominator * outer)))
    return result


def _units(row: Row, aggregation: Aggregation) -> NDArray[np.int32]:
    """What a mean is first taken over: the token's response, or 0 for the whole trajectory."""
    return row.response_id if aggregation == "response" else np.zeros_like(row.response_id)


def _weighted(row: Row, weight: NDArray[np.float64]) -> Row:
    return replace(row, weight=np.where(row.loss_mask, weight, 0).astype(np.float32))
