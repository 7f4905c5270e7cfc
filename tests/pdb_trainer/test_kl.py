"""The controller of the KL's weight, step by step."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pdb_trainer.kl import KlController


def test_beta_grows_by_two_percent_where_the_policy_is_too_far():
    controller = KlController()
    assert controller.beta == 0.01
    assert controller.after(0.5).beta == pytest.approx(0.0102)
    assert controller.after(0.0).beta == pytest.approx(0.0098)


def test_beta_follows_small_errors_in_proportion():
    assert KlController().after(0.022).beta == pytest.approx(0.01 * 1.01)  # 10% too far
    assert KlController().after(0.02).beta == 0.01


def test_beta_stays_within_its_bounds():
    high, low = KlController(beta=0.0995), KlController(beta=1.001e-4)
    assert high.after(1.0).beta == 0.1
    assert low.after(0.0).beta == 1e-4


def test_a_fixed_beta_and_a_kl_that_is_no_number_change_nothing():
    fixed = KlController(adaptive=False)
    assert fixed.after(1.0) is fixed
    assert KlController().after(math.nan).beta == 0.01
    assert KlController(beta=0.0).after(1.0).beta == 0.0


@given(kls=st.lists(st.floats(0, 10), max_size=30))
def test_beta_never_leaves_its_bounds_nor_jumps(kls: list[float]):
    controller = KlController()
    for kl in kls:
        before = controller.beta
        controller = controller.after(kl)
        assert 1e-4 <= controller.beta <= 0.1
        assert abs(controller.beta / before - 1) <= 0.02 + 1e-12
