import time
from itertools import combinations, product
from math import comb

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pdb_agent.statistics import (
    bootstrap_interval,
    differences,
    estimate,
    mean,
    paired_estimate,
    pass_at_k,
    pass_hat_k,
    quantile,
    sign_flip_p,
    tally,
)

EIGHTHS = st.integers(0, 8).map(lambda solved: solved / 8)


def subset_shares(episodes: int, solved: int, k: int) -> tuple[float, float]:
    """By looking at every k-subset: the shares with any solution and with solutions only."""
    outcomes = [True] * solved + [False] * (episodes - solved)
    subsets = list(combinations(outcomes, k))
    return sum(map(any, subsets)) / len(subsets), sum(map(all, subsets)) / len(subsets)


@pytest.mark.parametrize("solved", range(9))
def test_pass_at_3_is_the_share_of_all_three_subsets_of_eight_that_hold_a_solution(solved: int) -> None:
    anywhere, everywhere = subset_shares(8, solved, 3)

    assert pass_at_k(8, solved, 3) == pytest.approx(anywhere)
    assert pass_hat_k(8, solved, 3) == pytest.approx(everywhere)


def test_pass_at_3_by_hand() -> None:
    assert pass_at_k(8, 2, 3) == pytest.approx(1 - 20 / 56)  # C(6,3) = 20 subsets without either
    assert pass_at_k(3, 1, 3) == 1.0
    assert pass_hat_k(8, 4, 3) == pytest.approx(4 / 56)


@given(st.integers(1, 12), st.data())
def test_with_one_draw_both_are_the_share_of_solved_episodes(episodes: int, data: st.DataObject) -> None:
    solved = data.draw(st.integers(0, episodes))

    assert pass_at_k(episodes, solved, 1) == pytest.approx(solved / episodes)
    assert pass_hat_k(episodes, solved, 1) == pytest.approx(solved / episodes)


@given(st.integers(2, 12), st.data())
def test_more_draws_never_lower_pass_at_k_nor_raise_pass_hat_k(episodes: int, data: st.DataObject) -> None:
    solved = data.draw(st.integers(0, episodes))
    k = data.draw(st.integers(1, episodes - 1))

    assert pass_at_k(episodes, solved, k + 1) >= pass_at_k(episodes, solved, k)
    assert pass_hat_k(episodes, solved, k + 1) <= pass_hat_k(episodes, solved, k)


@pytest.mark.parametrize(("episodes", "solved", "k"), [(2, 1, 3), (3, 4, 1), (3, 1, 0), (0, 0, 1)])
def test_a_draw_that_cannot_be_made_is_refused(episodes: int, solved: int, k: int) -> None:
    with pytest.raises(ValueError, match="no such draw"):
        pass_at_k(episodes, solved, k)


@pytest.mark.parametrize(
    ("solved", "percent"), [(134, "55.8"), (162, "67.5"), (175, "72.9")], ids=["base", "sft", "rl"]
)
def test_the_published_tables_come_out_of_their_counts(solved: int, percent: str) -> None:
    per_task = [solved // 30 + (task < solved % 30) for task in range(30)]
    assert sum(per_task) == solved

    pass_at_1 = mean([pass_at_k(8, count, 1) for count in per_task])

    assert f"{100 * pass_at_1:.1f}" == percent


def test_an_interval_of_thirty_tasks_is_as_wide_as_simulation_says() -> None:
    rates = [solved / 8 for solved in (0, 1, 2, 3, 4, 5, 6, 7, 8, 8) * 3]

    found = bootstrap_interval(rates)

    assert found is not None
    assert not found.is_of_few
    assert found.low < mean(rates) < found.high
    # standard error of the mean is 0.340 / sqrt(30) = 0.062; 1.96 of it either side
    assert found.high - found.low == pytest.approx(2 * 1.96 * 0.0614, rel=0.05)


def test_the_interval_of_a_single_solved_task_in_ten_is_binomial() -> None:
    found = bootstrap_interval([1.0] + [0.0] * 9)

    # P(Binomial(10, .1) <= 3) = .987 and <= 2 is .930, so 97.5% lies at 3
    assert found is not None
    assert (found.low, found.high) == (0.0, 0.3)
    assert found.is_of_few


def test_there_is_no_interval_under_ten_tasks() -> None:
    assert bootstrap_interval([0.5] * 9) is None
    assert bootstrap_interval([0.5] * 10) is not None
    few = estimate([0.0, 1.0])
    assert few is not None
    assert (few.value, few.tasks, few.interval) == (0.5, 2, None)
    assert estimate([]) is None


@settings(max_examples=50, deadline=None)
@given(st.lists(EIGHTHS, min_size=10, max_size=40))
def test_an_interval_lies_within_the_values_and_is_the_same_again(rates: list[float]) -> None:
    found = bootstrap_interval(rates, resamples=200)

    assert found is not None
    assert min(rates) - 1e-12 <= found.low <= found.high <= max(rates) + 1e-12
    assert bootstrap_interval(rates, resamples=200) == found


@settings(max_examples=8, deadline=None)
@given(st.lists(EIGHTHS, min_size=10, max_size=20), st.floats(-1, 1))
def test_arms_that_differ_by_a_constant_differ_by_it_without_doubt(rates: list[float], shift: float) -> None:
    found = paired_estimate(rates, [rate + shift for rate in rates])

    assert found is not None
    assert found.interval is not None
    assert found.value == pytest.approx(shift, abs=1e-9)
    assert found.interval.low == pytest.approx(shift, abs=1e-9)
    assert found.interval.high == pytest.approx(shift, abs=1e-9)


def test_pairing_makes_the_interval_narrower_than_the_arms_suggest() -> None:
    before = [task / 30 for task in range(30)]
    after = [rate + (0.1 if task % 2 else 0.05) for task, rate in enumerate(before)]

    paired = paired_estimate(before, after)
    alone = estimate(after)

    assert paired is not None
    assert alone is not None
    assert paired.interval is not None
    assert alone.interval is not None
    width = paired.interval.high - paired.interval.low
    assert width < (alone.interval.high - alone.interval.low) / 5


def test_arms_of_unequal_length_are_refused() -> None:
    with pytest.raises(ValueError, match="zip"):
        differences([1.0], [1.0, 2.0])


def brute_force_p(values: list[float]) -> float:
    observed = abs(sum(values))
    flips = [
        abs(sum(sign * value for sign, value in zip(signs, values, strict=True)))
        for signs in product((1, -1), repeat=len(values))
    ]
    return sum(total >= observed - 1e-9 for total in flips) / len(flips)


@given(st.lists(st.integers(-8, 8).map(lambda eighths: eighths / 8), min_size=1, max_size=9))
def test_the_sign_flip_p_counts_every_assignment_of_signs(values: list[float]) -> None:
    assert sign_flip_p(values) == pytest.approx(brute_force_p(values))


def test_sign_flips_by_hand() -> None:
    assert sign_flip_p([0.5] * 5) == 2 / 32  # only all plus and all minus are as far out
    assert sign_flip_p([0.5] * 5 + [0.0] * 20) == 2 / 32
    assert sign_flip_p([0.25, -0.25]) == 1.0
    assert sign_flip_p([0.0, 0.0]) == 1.0
    assert sign_flip_p([]) == 1.0


def test_beyond_twenty_tasks_the_p_is_sampled_and_near_the_binomial() -> None:
    values = [1.0] * 17 + [-1.0] * 8
    exact = 2 * sum(comb(25, heads) for heads in range(17, 26)) / 2**25

    assert sign_flip_p(values) == pytest.approx(exact, abs=0.015)
    assert sign_flip_p([1.0] * 40) == pytest.approx(1 / 10_001)


def test_wins_losses_and_ties_are_counted_by_task() -> None:
    found = tally([0.125, 0.5, -0.25, 0.0, 1e-15])

    assert (found.wins, found.losses, found.ties) == (2, 1, 2)


def test_quantiles_interpolate_between_neighbours() -> None:
    assert quantile([50, 24, 30, 45], 0.5) == 37.5
    assert quantile([1.0], 0.9) == 1.0
    assert quantile([0, 10, 20, 30, 40], 0.25) == 10


def test_ten_thousand_resamples_of_two_hundred_tasks_take_under_a_second() -> None:
    began = time.process_time()
    bootstrap_interval([task % 9 / 8 for task in range(200)])

    assert time.process_time() - began < 1.0


def test_tasks_of_one_cluster_are_drawn_together_and_widen_the_interval() -> None:
    values = [float(cluster % 2) for cluster in range(12) for _ in range(5)]
    clusters = [f"template {cluster}" for cluster in range(12) for _ in range(5)]

    together, apart = bootstrap_interval(values, clusters), bootstrap_interval(values)

    assert together is not None
    assert apart is not None
    assert together.tasks == 12
    width = (together.high - together.low) / (apart.high - apart.low)
    assert width == pytest.approx(5**0.5, rel=0.15)
    assert bootstrap_interval(values[:45], clusters[:45]) is None  # nine clusters


def test_clusters_of_one_task_each_change_nothing() -> None:
    values = [task / 20 for task in range(20)]
    names = [str(task) for task in range(20)]

    assert bootstrap_interval(values, names) == bootstrap_interval(values)
    assert sign_flip_p(values, names) == sign_flip_p(values)


def test_signs_of_one_cluster_are_flipped_together() -> None:
    values, clusters = [0.5] * 6, ["a", "a", "b", "b", "c", "c"]

    assert sign_flip_p(values) == 2 / 64
    assert sign_flip_p(values, clusters) == 2 / 8


def test_more_than_two_hundred_and_fifty_six_tasks_are_resampled_too() -> None:
    found = bootstrap_interval([float(task % 2) for task in range(400)], resamples=1000)

    assert found is not None
    assert found.high - found.low == pytest.approx(2 * 1.96 * 0.5 / 20, rel=0.15)
