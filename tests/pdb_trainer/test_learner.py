"""An update is the same however rows are split, resumes exactly, and learns."""

import math
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from pdb_trainer.advantage import AdvantageSettings, weigh, weigh_equally
from pdb_trainer.errors import LearnerError
from pdb_trainer.kl import KlController
from pdb_trainer.learner import Learner, OptimiserSettings
from pdb_trainer.lora import REFERENCE
from pdb_trainer.loss import LossSettings
from pdb_trainer.microbatch_loss import LikelihoodObjective, PolicyObjective
from pdb_trainer.packing import Microbatch, idle_microbatch, pack
from pdb_trainer.sequences import Row
from torch import Tensor

from tests.pdb_trainer.tiny_models import VOCABULARY, Episode, a_row, one_microbatch, stir, tiny_policy

ROWS = tuple(
    a_row(9 + 2 * i, seed=i, responses=((2, 5), (6, 8 + i)), first_response=2 * i, version=3)
    for i in range(6)
)
FAST = OptimiserSettings(learning_rate=0.01, warmup_steps=0)
POLICY = PolicyObjective(version=3)


def a_learner(
    *, optimiser: OptimiserSettings = FAST, kl: bool = True, dtype: torch.dtype = torch.float64
) -> Learner:
    learner = Learner(
        model=tiny_policy(dtype=dtype), settings=optimiser, kl=KlController(beta=0.05) if kl else None
    )
    learner.freeze_reference()
    stir(learner.model, 0.02, seed=6)
    return learner


def gradient(learner: Learner) -> Tensor:
    return torch.cat(
        [each.grad.flatten() for each in learner.model.adapters.parameters() if each.grad is not None]
    )


def microbatches(rows: Sequence[Row], cuts: Sequence[int]) -> list[Microbatch]:
    edges = [0, *sorted(cuts), len(rows)]
    return [one_microbatch(rows[a:b]) for a, b in pairwise(edges) if b > a]


@settings(max_examples=12, deadline=None)
@given(cuts=st.lists(st.integers(1, 5), unique=True), order=st.permutations(range(6)))
def test_any_split_into_microbatches_gives_the_same_gradient_and_report(cuts: list[int], order: list[int]):
    anchor = one_microbatch(weigh_equally([a_row(7)]))
    whole, split = (
        a_learner(optimiser=replace(FAST, clip_norm=math.inf)),
        a_learner(optimiser=replace(FAST, clip_norm=math.inf)),
    )
    one = whole.update([one_microbatch(ROWS)], objective=POLICY, anchor=anchor)
    many = split.update(microbatches([ROWS[i] for i in order], cuts), objective=POLICY, anchor=anchor)
    assert float(gradient(whole).abs().max()) > 1e-3
    torch.testing.assert_close(gradient(whole), gradient(split), rtol=0, atol=1e-9)
    assert (one.loss, one.grad_norm) == pytest.approx((many.loss, many.grad_norm), abs=1e-9)
    assert one.policy is not None
    assert many.policy is not None
    assert one.policy.responses_at_bounds == many.policy.responses_at_bounds
    assert one.policy.old_kl == pytest.approx(many.policy.old_kl)
    assert one.kl == pytest.approx(many.kl)


def test_ranks_that_add_up_their_gradients_make_the_step_of_a_single_process():
    alone = a_learner()
    alone.update([one_microbatch(ROWS)], objective=POLICY)
    shares = [[one_microbatch(ROWS[:2])], [one_microbatch(ROWS[2:])]]
    recorded: list[list[Tensor]] = []
    for share in shares:  # what each rank would give to the sum, call by call
        calls: list[Tensor] = []
        rank = a_learner()
        rank.reduce = lambda vector, calls=calls: calls.append(vector.clone())
        rank.update(share, objective=POLICY, kl_tokens=_tokens(ROWS))
        recorded.append(calls)
    ranks = [a_learner(), a_learner()]
    for rank, share in zip(ranks, shares, strict=True):
        sums = iter([a + b for a, b in zip(*recorded, strict=True)])
        rank.reduce = lambda vector, sums=sums: vector.copy_(next(sums))
        rank.update(share, objective=POLICY, kl_tokens=_tokens(ROWS))
    for rank in ranks:
        for name, value in alone.adapter().items():
            torch.testing.assert_close(rank.adapter()[name], value, rtol=0, atol=1e-9)


def _tokens(rows: Sequence[Row]) -> int:
    return sum(int(row.loss_mask.sum()) for row in rows)


def test_an_idle_microbatch_changes_nothing():
    plain, idle = a_learner(), a_learner()
    batch = one_microbatch(ROWS)
    plain.update([batch], objective=POLICY)
    report = idle.update([batch, idle_microbatch()], objective=POLICY)
    assert report.computed_tokens == batch.tokens + 2
    assert all(torch.equal(plain.adapter()[name], value) for name, value in idle.adapter().items())


def test_the_gradient_of_an_update_is_that_of_finite_differences():
    learner = a_learner(optimiser=replace(FAST, learning_rate=0.0, clip_norm=math.inf))
    rows = [replace(row, old_logprobs=(row.old_logprobs * 0 - 4.1).astype(np.float32)) for row in ROWS[:2]]
    objective = PolicyObjective(
        version=3, loss=LossSettings(importance="token", clip_low=None, clip_high=None)
    )
    batch = one_microbatch(rows)
    learner.update([batch], objective=objective)
    exact = gradient(learner).clone()
    parameter = learner.model.adapters.parameters()[3]
    index = sum(each.numel() for each in learner.model.adapters.parameters()[:3])
    losses: list[float] = []
    for step in (3e-3, -6e-3):
        with torch.no_grad():
            parameter.view(-1)[0] += step
        losses.append(replace_kl(learner).update([batch], objective=objective).loss)
    assert (losses[0] - losses[1]) / 6e-3 == pytest.approx(exact[index].item(), rel=1e-3)


def replace_kl(learner: Learner) -> Learner:
    """With the β of the beginning."""
    learner.kl = KlController(beta=0.05)
    return learner


def test_the_first_updates_are_smaller_and_the_gradient_is_clipped():
    learner = a_learner(optimiser=OptimiserSettings(learning_rate=1e-3, clip_norm=1e-3))
    reports = [learner.update([one_microbatch(ROWS)], objective=POLICY) for _ in range(7)]
    assert [report.learning_rate for report in reports] == pytest.approx(
        [2e-4, 4e-4, 6e-4, 8e-4, 1e-3, 1e-3, 1e-3]
    )
    assert reports[0].grad_norm > 1e-3
    assert float(gradient(learner).norm()) == pytest.approx(1e-3, rel=1e-3)


def test_an_update_that_is_not_finite_is_skipped_counted_and_stops_the_run_past_a_limit():
    learner = a_learner(optimiser=replace(FAST, most_skipped=2))
    learner.update([one_microbatch(ROWS)], objective=POLICY)
    before = learner.state()
    broken = one_microbatch([replace(ROWS[0], weight=ROWS[0].weight * np.float32(np.nan))])
    for number in (1, 2):
        report = learner.update([one_microbatch(ROWS), broken], objective=POLICY)
        assert report.skipped
        assert report.skipped_total == number
        assert report.step == 1
    assert all(torch.equal(before["policy"][name], value) for name, value in learner.adapter().items())
    assert learner.kl is not None
    assert learner.kl.beta == before["beta"]
    assert not learner.update([one_microbatch(ROWS)], objective=POLICY).skipped  # and then goes on
    with pytest.raises(LearnerError, match="3 updates were not finite"):
        learner.update([broken], objective=POLICY)


def test_nothing_to_learn_from_moves_nothing():
    learner = a_learner(kl=False)
    learner.update([one_microbatch(ROWS)], objective=POLICY)
    before = learner.adapter()
    masked = replace(ROWS[0], loss_mask=np.zeros(len(ROWS[0].token_ids), np.bool_), weight=0 * ROWS[0].weight)
    for batches in ([], [one_microbatch([masked])], [idle_microbatch()]):
        report = learner.update(batches, objective=POLICY)
        assert report.skipped
        assert report.skipped_total == 0
        assert (report.loss, report.tokens, report.step) == (0.0, 0, 1)
    assert all(torch.equal(before[name], value) for name, value in learner.adapter().items())


def test_masked_tokens_change_nothing_whatever_they_hold():
    plain, noisy = a_learner(), a_learner()
    rows = [
        replace(
            row,
            old_logprobs=np.where(row.loss_mask, row.old_logprobs, -7).astype(np.float32),
            weight=np.where(row.loss_mask, row.weight, 9).astype(np.float32),
        )
        for row in ROWS
    ]
    plain.update([one_microbatch(ROWS)], objective=POLICY)
    noisy.update([one_microbatch(rows)], objective=POLICY)
    assert all(torch.equal(plain.adapter()[name], value) for name, value in noisy.adapter().items())


def test_k_and_k_updates_over_a_saved_state_are_2k_updates():
    anchor = one_microbatch(weigh_equally([a_row(7)]))
    steady = a_learner()
    for i in range(6):
        steady.update([one_microbatch(ROWS[i : i + 2] or ROWS)], objective=POLICY, anchor=anchor)
    first = a_learner()
    for i in range(3):
        first.update([one_microbatch(ROWS[i : i + 2])], objective=POLICY, anchor=anchor)
    second = Learner(model=tiny_policy(), settings=FAST, kl=KlController())
    saved = first.state()
    first.update([one_microbatch(ROWS)], objective=POLICY)  # which changes nothing of what was saved
    third = Learner(model=tiny_policy(), settings=FAST, kl=KlController())
    third.load_state(saved)
    third.update([one_microbatch(ROWS)], objective=POLICY)  # neither does this
    second.load_state(saved)
    for i in range(3, 6):
        second.update([one_microbatch(ROWS[i : i + 2] or ROWS)], objective=POLICY, anchor=anchor)
    assert (second.steps, second.kl) == (6, replace(KlController(), beta=steady.kl.beta if steady.kl else 0))
    for name, value in steady.adapter().items():
        assert torch.equal(second.adapter()[name], value)
    reference = steady.model.adapter(REFERENCE)
    assert all(torch.equal(reference[name], value) for name, value in second.model.adapter(REFERENCE).items())


def test_a_state_of_another_recipe_is_refused():
    with pytest.raises(LearnerError, match="same recipe"):
        a_learner(kl=False).load_state(a_learner().state())


def test_a_kl_without_a_reference_is_refused():
    learner = Learner(model=tiny_policy(), kl=KlController())
    with pytest.raises(LearnerError, match="freeze_reference"):
        learner.update([one_microbatch(ROWS)], objective=POLICY)


def test_the_kl_is_a_mean_over_the_tokens_told_and_moves_beta():
    learner, spread = a_learner(), a_learner()
    report = learner.update([one_microbatch(ROWS)], objective=POLICY)
    wider = spread.update([one_microbatch(ROWS)], objective=POLICY, kl_tokens=4 * _tokens(ROWS))
    assert report.kl is not None
    assert report.kl > 0
    assert wider.kl == pytest.approx(report.kl / 4)
    assert report.beta == 0.05
    assert learner.kl == KlController(beta=0.05).after(report.kl)
    learner.freeze_reference()
    assert learner.update([one_microbatch(ROWS)], objective=POLICY).kl == 0.0


def test_the_anchor_adds_its_share_of_the_replay_packs_mean_negative_log_likelihood():
    plain, anchored = (a_learner(kl=False, optimiser=replace(FAST, learning_rate=0.0)) for _ in range(2))
    pack_rows = weigh_equally([a_row(9, seed=7), a_row(12, seed=8, responses=((3, 9),))])
    anchor = one_microbatch(pack_rows)
    without = plain.update([one_microbatch(ROWS)], objective=POLICY)
    report = anchored.update([one_microbatch(ROWS)], objective=POLICY, anchor=anchor)
    expected = -float((anchored.logprobs(anchor) * anchor.loss_mask).sum()) / _tokens(pack_rows)
    assert without.anchor_loss is None
    assert report.anchor_loss == pytest.approx(expected, rel=1e-6)
    assert report.loss - without.loss == pytest.approx(0.05 * expected, rel=1e-6)
    assert report.tokens == without.tokens  # statistics are of the rollouts only
    assert report.entropy == without.entropy


def test_the_anchor_alone_makes_its_pack_likelier():
    learner = a_learner(kl=False, optimiser=replace(FAST, learning_rate=0.01))
    anchor = one_microbatch(weigh_equally([a_row(9, seed=7)]))
    losses = [learner.update([], objective=POLICY, anchor=anchor).anchor_loss or 0.0 for _ in range(5)]
    assert losses == sorted(losses, reverse=True)
    assert losses[-1] < losses[0] - 0.05


def test_a_sampler_of_the_same_weights_is_in_parity_and_one_of_others_is_not():
    learner = a_learner(kl=False)
    packed = one_microbatch(ROWS)
    exact = replace(packed, old_logprobs=learner.logprobs(packed).astype(np.float32))
    report = learner.update([exact], objective=POLICY)
    assert report.policy is not None
    assert report.policy.parity is not None
    assert report.policy.parity.within()
    assert report.policy.parity.tokens == report.tokens == _tokens(ROWS)
    assert report.policy.parity.kl == pytest.approx(0.0, abs=1e-10)
    assert report.policy.parity.ratio == pytest.approx(1.0, abs=1e-6)
    off = replace(
        exact, old_logprobs=np.where(packed.loss_mask, exact.old_logprobs - 0.2, 0).astype(np.float32)
    )
    fresh_learner = a_learner(kl=False)
    report = fresh_learner.update([off], objective=POLICY)
    assert report.policy is not None
    assert report.policy.parity is not None
    assert report.policy.parity.ratio == pytest.approx(math.exp(0.2), abs=1e-6)
    assert report.policy.parity.kl == pytest.approx(math.exp(0.2) - 1.2, abs=1e-6)
    assert not report.policy.parity.within()
    report = fresh_learner.update([off], objective=replace(POLICY, version=4))
    assert report.policy is not None
    assert report.policy.parity is None  # all of it was drawn by older weights


def test_log_probabilities_are_taken_at_the_temperature_of_sampling():
    packed = one_microbatch(ROWS)
    warm = Learner(model=tiny_policy(), temperature=2.0)
    plain = Learner(model=tiny_policy())
    assert np.abs(warm.logprobs(packed) - plain.logprobs(packed)).max() > 0.1
    assert (warm.logprobs(packed)[~packed.loss_mask] == 0).all()


def test_imitation_lowers_the_mean_negative_log_likelihood():
    learner = a_learner(kl=False, optimiser=OptimiserSettings(learning_rate=0.03), dtype=torch.float32)
    batches = pack(weigh_equally(ROWS), max_tokens=30).microbatches
    losses = [learner.update(batches, objective=LikelihoodObjective()).loss for _ in range(40)]
    expected = -float(np.mean(a_learner(dtype=torch.float32).logprobs(one_microbatch(ROWS))[mask()]))
    assert losses[0] == pytest.approx(expected, rel=1e-4)
    assert losses[-1] < 0.5 * losses[0]


def mask() -> np.ndarray:
    return one_microbatch(ROWS).loss_mask


PROMPT = 8
"""Tokens before the one that a toy policy draws."""


def draw(learner: Learner, version: int, rng: np.random.Generator) -> tuple[list[Row], list[Episode]]:
    """Four groups of eight: after a random prompt, one token; a token of the lower half is worth 1."""
    rows: list[Row] = []
    episodes: list[Episode] = []
    for group in range(4):
        prompt = rng.integers(0, VOCABULARY, PROMPT).astype(np.uint32)
        table = distribution(learner, prompt)
        for member in range(8):
            token = int(rng.choice(VOCABULARY, p=table))
            number = 8 * group + member
            row = a_row(PROMPT + 1, episode=str(number), group=str(group), responses=((PROMPT, PROMPT + 1),))
            old = np.zeros(PROMPT + 1, np.float32)
            old[PROMPT] = math.log(table[token])
            version_of = np.where(row.loss_mask, version, -1).astype(np.int32)
            ids = np.append(prompt, np.uint32(token))
            response = np.where(row.loss_mask, number, -1).astype(np.int32)
            rows.append(
                replace(row, token_ids=ids, old_logprobs=old, version=version_of, response_id=response)
            )
            worth = float(token < VOCABULARY // 2)
            episodes.append(Episode(episode=str(number), group=str(group), reward=worth))
    return rows, episodes


def distribution(learner: Learner, prompt: np.ndarray) -> np.ndarray:
    rows = [
        replace(
            a_row(PROMPT + 1, responses=((PROMPT, PROMPT + 1),)),
            token_ids=np.append(prompt, np.uint32(token)).astype(np.uint32),
        )
        for token in range(VOCABULARY)
    ]
    packed = one_microbatch(rows)
    order = packed.token_ids[packed.loss_mask].astype(int)
    table = np.zeros(VOCABULARY)
    table[order] = np.exp(learner.logprobs(packed)[packed.loss_mask])
    return table / table.sum()


@pytest.mark.slow
def test_a_toy_policy_learns_what_is_rewarded():
    learner = Learner(
        model=tiny_policy(dtype=torch.float32, noise=0.0, rank=8),
        settings=OptimiserSettings(learning_rate=0.05),
        kl=KlController(beta=1e-3),
    )
    learner.freeze_reference()
    rng = np.random.default_rng(0)
    curve: list[float] = []
    for version in range(25):
        rows, episodes = draw(learner, version, rng)
        weighed = weigh(rows, episodes, version=version, settings=AdvantageSettings())
        curve.append(float(np.mean([each.reward for each in episodes])))
        batches = pack(weighed.rows, max_tokens=128).microbatches
        report = learner.update(batches, objective=PolicyObjective(version=version), kl_tokens=weighed.tokens)
        assert report.policy is None or report.policy.parity is None or report.policy.parity.within()
    assert np.mean(curve[:5]) < 0.55
    assert np.mean(curve[-5:]) > 0.75
