"""The losses by hand, and against finite differences."""

import math
from collections.abc import Sequence
from dataclasses import replace

import pytest
import torch
from pdb_trainer.errors import LearnerError
from pdb_trainer.loss import (
    LossParts,
    LossSettings,
    PolicyTokens,
    likelihood_loss,
    policy_loss,
    reference_kl,
)
from torch import Tensor

TOKEN = LossSettings(importance="token")
RESPONSE = LossSettings(importance="response")
BOTH = LossSettings()


def numbers(*values: float) -> Tensor:
    return torch.tensor(values, dtype=torch.float64)


def tokens(
    old: Tensor,
    weight: Sequence[float],
    response: Sequence[int] | None = None,
    *,
    fresh: Sequence[bool] | None = None,
    reference: Tensor | None = None,
) -> PolicyTokens:
    owners = torch.tensor(list(response) if response is not None else [0] * len(old), dtype=torch.int64)
    return PolicyTokens(
        old_logprobs=old,
        weight=numbers(*weight),
        response=owners,
        responses=len(set(owners.tolist())),
        fresh=torch.tensor(list(fresh) if fresh is not None else [True] * len(old), dtype=torch.bool),
        reference_logprobs=reference,
    )


def at_ratios(
    ratios: Sequence[float], weight: Sequence[float], settings: LossSettings
) -> tuple[float, Tensor]:
    """The loss and its gradient by log-probability."""
    old = numbers(*[-2.0] * len(ratios))
    new = (old + numbers(*map(math.log, ratios))).requires_grad_()
    loss = policy_loss(new, tokens(old, weight, range(len(ratios))), settings).policy
    (gradient,) = torch.autograd.grad(loss, new)
    return loss.item(), gradient


def test_inside_the_clip_a_token_counts_by_its_ratio():
    loss, gradient = at_ratios([1.1, 0.9], [0.5, -0.25], TOKEN)
    assert loss == pytest.approx(-(1.1 * 0.5 - 0.9 * 0.25))
    assert gradient.tolist() == pytest.approx([-0.55, 0.225])


def test_only_the_upper_bound_is_widened():
    loss, gradient = at_ratios([1.27, 1.29], [1.0, 1.0], TOKEN)
    assert loss == pytest.approx(-(1.27 + 1.28))
    assert gradient.tolist() == pytest.approx([-1.27, 0.0])
    loss, gradient = at_ratios([0.81, 0.79], [-1.0, -1.0], TOKEN)
    assert loss == pytest.approx(0.81 + 0.80)
    assert gradient.tolist() == pytest.approx([0.81, 0.0])


def test_a_clip_never_stops_what_leads_back():
    loss, gradient = at_ratios([0.5, 2.0], [1.0, -1.0], TOKEN)
    assert loss == pytest.approx(-0.5 + 2.0)
    assert gradient.tolist() == pytest.approx([-0.5, 2.0])


def test_a_ratio_counts_ten_times_at_most_with_a_negative_advantage():
    loss, gradient = at_ratios([9.0, 11.0], [-1.0, -1.0], TOKEN)
    assert loss == pytest.approx(9.0 + 10.0)
    assert gradient.tolist() == pytest.approx([9.0, 0.0])
    loss, gradient = at_ratios([11.0], [-1.0], replace(TOKEN, dual_clip=None))
    assert loss == pytest.approx(11.0)
    assert gradient.tolist() == pytest.approx([11.0])


def test_without_a_clip_the_ratio_itself_counts():
    settings = replace(TOKEN, clip_low=None, clip_high=None, dual_clip=None)
    assert at_ratios([3.0, 0.1], [1.0, -1.0], settings)[0] == pytest.approx(-3.0 + 0.1)


def test_a_clip_with_one_bound_only_is_refused():
    with pytest.raises(LearnerError, match="go together"):
        LossSettings(clip_low=None)


def test_the_log_ratio_is_clamped_at_twenty():
    new = numbers(30.0).requires_grad_()
    settings = replace(TOKEN, clip_low=None, clip_high=None, dual_clip=None)
    loss = policy_loss(new, tokens(numbers(0.0), [-1.0]), settings).policy
    assert loss.item() == pytest.approx(math.exp(20))
    (gradient,) = torch.autograd.grad(loss, new)
    assert gradient.item() == 0.0


def two_responses(settings: LossSettings) -> tuple[LossParts, Tensor]:
    """Mean log ratios of 0.01 (tokens at 0.03 and -0.01) and -0.02 (one token)."""
    old = numbers(-1.0, -2.0, -3.0)
    new = (old + numbers(0.03, -0.01, -0.02)).requires_grad_()
    return policy_loss(new, tokens(old, [1.0, 1.0, -1.0], [0, 0, 1]), settings), new


def test_a_response_weighs_by_its_mean_log_ratio():
    parts, new = two_responses(RESPONSE)
    first, second = math.exp(0.48), math.exp(-0.96)  # 48 times the mean; 1.616 and 0.383
    (gradient,) = torch.autograd.grad(parts.policy, new)
    assert parts.policy.item() == pytest.approx(-(2 * first - second))
    assert gradient.tolist() == pytest.approx([-first, -first, second])  # none through the weight itself


def test_token_ratio_and_response_weight_multiply_where_both_count():
    parts, new = two_responses(BOTH)
    first, second = math.exp(0.48), math.exp(-0.96)
    ratios = [math.exp(0.03), math.exp(-0.01), math.exp(-0.02)]
    (gradient,) = torch.autograd.grad(parts.policy, new)
    expected = [-first * ratios[0], -first * ratios[1], second * ratios[2]]
    assert gradient.tolist() == pytest.approx(expected)
    assert parts.policy.item() == pytest.approx(sum(expected))


def test_response_weights_are_bounded():
    old = numbers(-1.0, -1.0)
    new = old + numbers(0.034, -0.049)  # the bounds bind at 0.0335 and -0.0480
    parts = policy_loss(new, tokens(old, [1.0, 1.0], [0, 1]), RESPONSE)
    assert parts.policy.item() == pytest.approx(-(5.0 + 0.1))
    assert (parts.sums.at_bounds.item(), parts.sums.responses.item()) == (2, 2)
    inside = policy_loss(old + numbers(0.033, -0.047), tokens(old, [1.0, 1.0], [0, 1]), RESPONSE)
    assert inside.sums.at_bounds.item() == 0


@pytest.mark.parametrize("settings", [TOKEN, RESPONSE, BOTH])
def test_where_nothing_changed_since_sampling_the_gradient_is_the_advantage(settings: LossSettings):
    old = numbers(-1.0, -2.0, -0.5)
    new = old.clone().requires_grad_()
    loss = policy_loss(new, tokens(old, [0.4, -0.3, 0.2], [0, 0, 1]), settings).policy
    (gradient,) = torch.autograd.grad(loss, new)
    assert gradient.tolist() == pytest.approx([-0.4, 0.3, -0.2])


def test_gradients_are_those_of_finite_differences_away_from_the_corners():
    old = numbers(-1.0, -2.0, -0.5, -1.5, -2.5)
    new = (old + numbers(0.1, -0.15, 0.4, -0.5, 2.0)).requires_grad_()
    reference = old + numbers(-0.2, 0.3, 0.1, 0.0, 0.5)
    said = tokens(old, [1.0, -1.0, 0.5, -0.5, -1.0], range(5), reference=reference)

    def loss(new: Tensor) -> Tensor:
        parts = policy_loss(new, said, TOKEN)
        return parts.policy + 0.3 * parts.kl

    assert torch.autograd.gradcheck(loss, (new,))


def test_kl_to_the_reference_is_k3():
    reference = numbers(-1.0, -3.0)
    new = numbers(-1.5, -2.0).requires_grad_()
    kl = reference_kl(new, reference, 20.0)
    assert kl.item() == pytest.approx((math.exp(0.5) - 1 - 0.5) + (math.exp(-1.0) - 1 + 1.0))
    (gradient,) = torch.autograd.grad(kl, new)
    assert gradient.tolist() == pytest.approx([1 - math.exp(0.5), 1 - math.exp(-1.0)])
    assert reference_kl(reference, reference, 20.0).item() == 0.0
    assert reference_kl(new, None, 20.0).item() == 0.0


def test_zero_advantage_gives_zero_loss_and_zero_gradient():
    loss, gradient = at_ratios([1.5, 0.5, 12.0], [0.0, 0.0, 0.0], BOTH)
    assert loss == 0.0
    assert not gradient.any()


@pytest.mark.parametrize("settings", [TOKEN, RESPONSE, BOTH])
def test_no_token_at_all_gives_a_zero_that_can_be_differentiated(settings: LossSettings):
    new = numbers().requires_grad_()
    parts = policy_loss(new, tokens(numbers(), [], []), settings)
    assert parts.policy.item() == 0.0
    parts.policy.backward()
    assert parts.sums.tokens.item() == 0
    assert parts.sums.responses.item() == 0


def test_imitation_and_the_outcome_only_loss_are_a_weighted_likelihood():
    new = numbers(-1.0, -2.0, -0.5).requires_grad_()
    # advantages 0.5, 0.5 and -0.5 over T = 3 tokens
    loss = likelihood_loss(new, numbers(0.5, 0.5, -0.5) / 3)
    assert loss.item() == pytest.approx((0.5 + 1.0 - 0.25) / 3)
    (gradient,) = torch.autograd.grad(loss, new)
    assert gradient.tolist() == pytest.approx([-1 / 6, -1 / 6, 1 / 6])
    assert likelihood_loss(numbers(), numbers()).item() == 0.0


def test_what_is_logged_is_counted_by_the_sign_of_the_advantage():
    ratios = [1.5, 1.5, 0.5, 0.5, 12.0, 1.0]
    old = numbers(*[-2.0] * 6)
    new = old + numbers(*map(math.log, ratios))
    said = tokens(old, [1.0, -1.0, 1.0, -1.0, -1.0, 0.0], range(6), fresh=[True, True, *[False] * 4])
    sums = policy_loss(new, said, TOKEN).sums
    assert (sums.tokens.item(), sums.positive.item(), sums.negative.item()) == (6, 2, 3)
    assert (sums.clipped_high.item(), sums.clipped_low.item(), sums.clipped_dual.item()) == (1, 1, 1)
    assert sums.ratio.item() == pytest.approx(sum(ratios))
    assert sums.old_kl.item() == pytest.approx(sum(ratio - 1 - math.log(ratio) for ratio in ratios))
    assert sums.log_ratio.item() == pytest.approx(sum(abs(math.log(ratio)) for ratio in ratios))
    assert sums.fresh.item() == 2
    assert sums.fresh_ratio.item() == pytest.approx(3.0)
    assert sums.fresh_kl.item() == pytest.approx(2 * (0.5 - math.log(1.5)))
    two = sums.plus(sums)
    assert two.ratio.item() == pytest.approx(2 * sum(ratios))
