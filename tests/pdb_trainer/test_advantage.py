"""Weights of tokens, by hand: advantages, lengths, denominators, staleness."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pdb_trainer.advantage import AdvantageSettings, Weighed, length_weights, weigh, weigh_equally
from pdb_trainer.errors import RolloutError
from pdb_trainer.sequences import Row

from tests.pdb_trainer.tiny_models import Episode, a_row

PLAIN = AdvantageSettings(length_alpha=0.0)


def weights(weighed: Weighed) -> dict[int, float]:
    """Of one token, by response; all tokens of a response have the same."""
    found: dict[int, float] = {}
    for row in weighed.rows:
        for response in np.unique(row.response_id[row.loss_mask]):
            (value,) = np.unique(row.weight[row.response_id == response])
            found[int(response)] = float(value)
    return found


def two_episodes() -> tuple[list[Row], list[Episode]]:
    """One of 2 + 4 tokens in two responses and reward 1, one of 3 tokens and reward 0."""
    rows = [
        a_row(12, episode="a", responses=((1, 3), (6, 10))),
        a_row(9, episode="b", responses=((2, 5),), first_response=2),
    ]
    return rows, [
        Episode(episode="a", reward=1.0, sampled_tokens=6),
        Episode(episode="b", reward=0.0, sampled_tokens=3),
    ]


def test_a_response_counts_by_its_mean_over_tokens_then_over_the_groups_responses():
    rows, episodes = two_episodes()
    weighed = weigh(rows, episodes, version=0, settings=PLAIN)
    # A = +-1/2; over 2, 4 and 3 tokens; over 3 responses of the one group
    assert weights(weighed) == pytest.approx({0: 0.5 / 6, 1: 0.5 / 12, 2: -0.5 / 9})


def test_every_token_of_the_batch_counts_the_same_where_that_is_asked_for():
    rows, episodes = two_episodes()
    weighed = weigh(rows, episodes, version=0, settings=replace(PLAIN, aggregation="token"))
    assert weights(weighed) == pytest.approx({0: 0.5 / 9, 1: 0.5 / 9, 2: -0.5 / 9})


def test_a_trajectory_counts_by_its_mean_over_tokens_where_that_is_asked_for():
    rows, episodes = two_episodes()
    weighed = weigh(rows, episodes, version=0, settings=replace(PLAIN, aggregation="trajectory"))
    assert weights(weighed) == pytest.approx({0: 0.5 / 12, 1: 0.5 / 12, 2: -0.5 / 6})


def test_a_trajectory_in_two_rows_is_one_trajectory():
    rows = [
        a_row(9, episode="a", responses=((2, 6),)),
        a_row(5, episode="a", responses=((2, 4),), first_response=1),
        a_row(9, episode="b", responses=((2, 5),), first_response=2),
    ]
    _, episodes = two_episodes()
    weighed = weigh(rows, episodes, version=0, settings=replace(PLAIN, aggregation="trajectory"))
    assert weights(weighed) == pytest.approx({0: 0.5 / 12, 1: 0.5 / 12, 2: -0.5 / 6})


def test_groups_are_a_mean_of_groups_and_a_uniform_one_is_skipped_but_counted():
    rows, episodes = two_episodes()
    rows += [
        a_row(7, episode=name, group="g1", first_response=3 + i, responses=((3, 5),))
        for i, name in enumerate("cd")
    ]
    episodes += [Episode(episode=name, group="g1", reward=0.3) for name in "cd"]
    weighed = weigh(rows, episodes, version=0, settings=PLAIN)
    assert weights(weighed) == pytest.approx({0: 0.5 / 12, 1: 0.5 / 24, 2: -0.5 / 18})  # half of before
    assert [row.episode for row in weighed.rows] == ["a", "b"]
    assert (weighed.groups, weighed.uniform_groups, weighed.tokens) == (2, 1, 13)
    assert weighed.advantages == {"a": 0.5, "b": -0.5, "c": 0.0, "d": 0.0}
    by_token = weigh(rows, episodes, version=0, settings=replace(PLAIN, aggregation="token"))
    assert weights(by_token) == pytest.approx({0: 0.5 / 13, 1: 0.5 / 13, 2: -0.5 / 13})


def test_rewards_that_differ_by_rounding_of_their_mean_only_are_uniform():
    episodes = [Episode(episode=str(i), reward=0.1) for i in range(3)]
    rows = [a_row(7, episode=str(i), first_response=i) for i in range(3)]
    assert np.mean([0.1] * 3) != 0.1  # the trap
    weighed = weigh(rows, episodes, version=0, settings=PLAIN)
    assert weighed.uniform_groups == 1
    assert weighed.rows == ()


def test_longer_trajectories_weigh_less_in_the_fourth_root_of_their_length():
    group = [Episode(episode="long", reward=0.0, sampled_tokens=600)]
    group += [Episode(episode="short", reward=1.0, sampled_tokens=100)]
    found = length_weights(group, 0.25)
    assert found["short"] / found["long"] == pytest.approx(1.5651, abs=1e-4)  # 6 ** 0.25
    assert sum(found.values()) / 2 == pytest.approx(1.0)
    assert length_weights(group, 0.0) == {"long": 1.0, "short": 1.0}
    silent = [Episode(episode="silent", reward=0.0, sampled_tokens=0), group[1]]
    assert length_weights(silent, 0.25)["silent"] / length_weights(silent, 0.25)["short"] == pytest.approx(
        100**0.25
    )


def test_the_length_weight_multiplies_advantages_of_both_signs():
    rows, episodes = two_episodes()
    weighed = weigh(rows, episodes, version=0, settings=AdvantageSettings())
    raw = np.array([(4.5 / 6) ** 0.25, (4.5 / 3) ** 0.25])
    a, b = raw / raw.mean()
    assert weights(weighed) == pytest.approx({0: a * 0.5 / 6, 1: a * 0.5 / 12, 2: -b * 0.5 / 9})


def test_dividing_by_the_deviation_makes_a_small_difference_a_large_one():
    rows, _ = two_episodes()
    episodes = [Episode(episode="a", reward=-1.0), Episode(episode="b", reward=-1.1)]
    plain = weigh(rows, episodes, version=0, settings=PLAIN).advantages
    assert plain == pytest.approx({"a": 0.05, "b": -0.05})
    divided = weigh(rows, episodes, version=0, settings=replace(PLAIN, divide_by_std=True)).advantages
    assert divided == pytest.approx({"a": 0.05 / 0.050001, "b": -0.05 / 0.050001})


def test_responses_more_than_four_versions_old_are_masked_and_leave_the_denominators():
    rows, episodes = two_episodes()
    versions = np.where(rows[0].response_id == 0, 5, np.where(rows[0].response_id == 1, 6, -1))
    rows[0] = replace(rows[0], version=versions.astype(np.int32))
    rows[1] = replace(rows[1], version=np.where(rows[1].loss_mask, 10, -1).astype(np.int32))
    weighed = weigh(rows, episodes, version=10, settings=PLAIN)
    assert weights(weighed) == pytest.approx({1: 0.5 / 8, 2: -0.5 / 6})  # 2 responses are left
    assert (weighed.stale_tokens, weighed.tokens) == (2, 7)
    first = weighed.rows[0]
    assert first.loss_mask.sum() == 4
    assert not first.old_logprobs[1:3].any()
    assert set(first.response_id[1:3]) == set(first.version[1:3]) == {-1}


def group_of(size: int, stale: int, *, fresh_tokens: int = 1) -> tuple[list[Row], list[Episode]]:
    """Each says 2 tokens, then ``fresh_tokens``; of ``stale`` ones the first 2 at version 0, else 9."""
    rows: list[Row] = []
    for i in range(size):
        row = a_row(12, episode=str(i), responses=((1, 3), (5, 5 + fresh_tokens)), first_response=2 * i)
        old = 0 if i < stale else 9
        versions = np.where(row.response_id == 2 * i, old, np.where(row.loss_mask, 9, -1))
        rows.append(replace(row, version=versions.astype(np.int32)))
    return rows, [Episode(episode=str(i), reward=float(i)) for i in range(size)]


def test_a_trajectory_with_over_half_its_tokens_masked_is_dropped_before_others_are_compared():
    rows, episodes = group_of(9, 1)
    weighed = weigh(rows, episodes, version=9, settings=PLAIN)
    assert weighed.stale_episodes == ("0",)
    assert sum(weighed.advantages.values()) == pytest.approx(0.0)
    assert weighed.advantages["8"] == pytest.approx(3.5)  # of 1 to 8, whose mean is 4.5
    assert {row.episode for row in weighed.rows} == set("12345678")


def test_a_trajectory_with_half_its_tokens_masked_is_kept():
    rows, episodes = group_of(9, 1, fresh_tokens=2)
    assert weigh(rows, episodes, version=9, settings=PLAIN).stale_episodes == ()


def test_a_group_that_staleness_leaves_with_fewer_than_eight_is_rejected():
    rows, episodes = group_of(9, 2)
    weighed = weigh(rows, episodes, version=9, settings=PLAIN)
    assert weighed.rejected_groups == ("g0",)
    assert (weighed.rows, weighed.groups, weighed.tokens) == ((), 0, 0)
    smaller = weigh(rows, episodes, version=9, settings=replace(PLAIN, least_group=7))
    assert smaller.rejected_groups == ()


def test_a_small_group_that_lost_nothing_is_not_rejected():
    rows, episodes = group_of(3, 0)
    assert weigh(rows, episodes, version=9, settings=PLAIN).rejected_groups == ()
    rows, episodes = group_of(3, 1)
    assert weigh(rows, episodes, version=9, settings=PLAIN).rejected_groups == ("g0",)


def test_a_single_survivor_has_nothing_to_be_compared_with():
    weighed = weigh([a_row(7)], [Episode(episode="e0", reward=1.0)], version=0, settings=PLAIN)
    assert weighed.rows == ()
    assert weighed.uniform_groups == 1


def test_an_episode_that_said_nothing_is_part_of_the_baseline():
    rows, episodes = two_episodes()
    episodes.append(Episode(episode="silent", reward=-1.0, sampled_tokens=0))
    assert weigh(rows, episodes, version=0, settings=PLAIN).advantages == {"a": 1.0, "b": 0.0, "silent": -1.0}


def test_a_row_without_its_episode_is_refused():
    with pytest.raises(RolloutError, match="e0"):
        weigh([a_row(7)], [], version=0, settings=PLAIN)


def test_nothing_at_all_is_weighed_to_nothing():
    weighed = weigh([], [], version=0, settings=PLAIN)
    assert (weighed.rows, weighed.groups, weighed.tokens) == ((), 0, 0)


def test_rows_to_imitate_weigh_the_same_per_token_and_one_together():
    rows = weigh_equally([a_row(9, responses=((1, 4),)), a_row(12, responses=((2, 3), (5, 6)))])
    assert [set(np.unique(row.weight[row.loss_mask])) for row in rows] == [{np.float32(0.2)}] * 2
    assert sum(float(row.weight.sum()) for row in rows) == pytest.approx(1.0)
    (empty,) = weigh_equally([a_row(5, responses=())])
    assert not empty.weight.any()


@st.composite
def batches(draw: st.DrawFn) -> tuple[list[Row], list[Episode]]:
    rows: list[Row] = []
    episodes: list[Episode] = []
    for number in range(draw(st.integers(1, 8))):
        lengths = draw(st.lists(st.integers(1, 4), min_size=1, max_size=3))
        spans = tuple((2 + 5 * i, 2 + 5 * i + length) for i, length in enumerate(lengths))
        name, group = str(number), draw(st.sampled_from(["g0", "g1"]))
        rows.append(a_row(20, episode=name, group=group, responses=spans, first_response=3 * number))
        reward = draw(st.floats(-3, 2).map(lambda value: round(value, 3)))
        episodes.append(Episode(episode=name, group=group, reward=reward, sampled_tokens=sum(lengths)))
    return rows, episodes


def total(rows: Sequence[Row]) -> float:
    return float(sum(row.weight.astype(np.float64).sum() for row in rows))


@given(batch=batches(), divide=st.booleans())
def test_advantages_of_a_group_always_sum_to_zero(batch: tuple[list[Row], list[Episode]], divide: bool):
    rows, episodes = batch
    weighed = weigh(rows, episodes, version=0, settings=replace(PLAIN, divide_by_std=divide))
    for group in ("g0", "g1"):
        advantages = [weighed.advantages[each.episode] for each in episodes if each.group == group]
        assert sum(advantages) == pytest.approx(0.0, abs=1e-6)


@given(batch=batches())
def test_trajectory_weights_sum_to_zero_and_nothing_masked_has_a_weight(
    batch: tuple[list[Row], list[Episode]],
):
    rows, episodes = batch
    weighed = weigh(rows, episodes, version=0, settings=replace(PLAIN, aggregation="trajectory"))
    assert total(weighed.rows) == pytest.approx(0.0, abs=1e-5)
    assert not any(row.weight[~row.loss_mask].any() for row in weighed.rows)
