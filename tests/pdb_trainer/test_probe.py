"""The arithmetic of the probe, against numbers worked out by hand and published ones."""

import math
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pdb_trainer.errors import ProbeError
from pdb_trainer.probe import Demand, Passes, chance_mixed, forecast, objections, refuse_hopeless

BATCH = Demand(group_size=6, groups=4, tries=16)


def pool(*passed: int, tries: int = 4) -> dict[str, Passes]:
    return {f"task{n}": Passes(passed=count, tries=tries) for n, count in enumerate(passed)}


PUBLISHED = pool(2, *[1] * 3, *[3] * 3, *[4] * 12, *[0] * 14)
"""33 tasks with four tries each, 7 of them mixed: one halfway, six with one try that ended otherwise."""


def test_a_group_of_two_at_one_half_is_mixed_half_the_time():
    assert chance_mixed(0.5, 2) == 0.5
    assert chance_mixed(0.25, 6) == pytest.approx(1 - 1 / 4096 - 729 / 4096)  # 0.82178
    assert chance_mixed(0.0, 6) == chance_mixed(1.0, 6) == 0.0


@pytest.mark.parametrize(("rate", "chance"), [(0.05, 0.46), (0.1, 0.72), (0.3, 0.986), (0.5, 1.0)])
def test_groups_of_twelve_are_mixed_as_published(rate: float, chance: float):
    assert chance_mixed(rate, 12) == pytest.approx(chance, abs=0.005)
    assert chance_mixed(1 - rate, 12) == pytest.approx(chance, abs=0.005)


@given(st.floats(0, 1), st.integers(1, 8))
def test_the_chance_is_that_of_counting_every_outcome(rate: float, size: int):
    counted = sum(
        math.prod(rate if passes else 1 - rate for passes in outcome)
        for outcome in product([True, False], repeat=size)
        if 0 < sum(outcome) < size
    )
    assert chance_mixed(rate, size) == pytest.approx(counted, abs=1e-9)


def test_the_published_pool_gives_the_published_forecast():
    found = forecast(PUBLISHED, BATCH)
    assert found.mixed_chance == pytest.approx((6 * 3366 / 4096 + 62 / 64) / 33)
    assert round(found.mixed_chance, 3) == 0.179
    assert round(found.kept_groups, 2) == 2.86
    assert (found.never, found.mixed, found.always) == (14, 7, 12)
    assert found.mixed_share == pytest.approx(0.2121, abs=1e-4)


def test_no_other_division_of_seven_mixed_tasks_gives_the_published_chance():
    chances = [
        round(forecast(pool(*[2] * halves, *[1] * (7 - halves), *[0] * 26), BATCH).mixed_chance, 3)
        for halves in range(8)
    ]
    assert [halves for halves, chance in enumerate(chances) if chance == 0.179] == [1]


def test_the_published_pool_passes_the_rule_of_a_fifth_and_cannot_fill_its_batches():
    found = forecast(PUBLISHED, BATCH)
    (why,) = objections(found, BATCH)
    assert why == (
        "the run cannot fill its batches: 16 groups of 6 give 2.86 mixed ones, and a batch wants 4"
    )
    with pytest.raises(ProbeError, match=r"^The run cannot fill its batches: .*--anyway\.$"):
        refuse_hopeless(found, BATCH)


def test_thirteen_tasks_that_always_or_never_pass_teach_nothing():
    found = forecast(pool(*[4] * 5, *[0] * 8), BATCH)
    assert (found.mixed, found.mixed_chance, found.kept_groups) == (0, 0.0, 0.0)
    assert len(objections(found, BATCH)) == 2


def test_under_a_fifth_mixed_is_refused_and_a_fifth_is_not():
    many = Demand(group_size=12, groups=1, tries=16)
    assert objections(forecast(pool(2, 0, 0, 4, 4), many), many) == ()
    (why,) = objections(forecast(pool(2, 0, 0, 4, 4, 4), many), many)
    assert why.startswith("1 of 6 tasks (17%) are mixed")


def test_a_run_that_can_fill_its_batches_may_begin():
    found = forecast(pool(2, 1, 3, 4), BATCH)
    assert found.kept_groups == pytest.approx(16 * (2 * 3366 / 4096 + 62 / 64) / 4)
    assert objections(found, BATCH) == ()
    refuse_hopeless(found, BATCH)


def test_without_tasks_nothing_is_known():
    with pytest.raises(ProbeError, match="No task was tried"):
        forecast({}, BATCH)


@given(st.lists(st.integers(0, 4), min_size=1), st.integers(2, 12), st.integers(1, 20))
def test_larger_groups_and_more_tries_never_lower_what_is_kept(counts: list[int], size: int, tries: int):
    def kept(group_size: int, tries: int) -> float:
        return forecast(pool(*counts), Demand(group_size=group_size, groups=1, tries=tries)).kept_groups

    assert kept(size, tries) <= kept(size + 1, tries) + 1e-12
    assert kept(size, tries) <= kept(size, tries + 1)
