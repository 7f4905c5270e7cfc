"""What is logged of a step, against numbers by hand."""

from dataclasses import replace

import pytest
from pdb_trainer.advantage import AdvantageSettings
from pdb_trainer.batch_making import make_batch
from pdb_trainer.groups import Fate, Left, SealedGroup
from pdb_trainer.grpo_numbers import batch_numbers, report_numbers, rollout_numbers
from pdb_trainer.rollout import Rollout
from pdb_trainer.step_report import Parity, PolicyStatistics, StepReport

from tests.pdb_trainer.strategies import Exchange, recorded, rollout_of_turns


def rollout(episode: str, group: str, *, solved: bool = False, cut: bool = False) -> Rollout:
    sampled = (4, 5, 3) if cut else (4, 2)
    turns = recorded([Exchange(prompt=(1, 3), sampled=sampled, version="policy-v0")])
    one = rollout_of_turns(turns, episode=episode, group=group, solved=solved)
    return replace(
        one, rewards={"outcome": float(solved), "turns": -0.5}, exit_reason="done" if solved else "context"
    )


ROLLOUTS = [
    rollout("a0", "a", solved=True),
    rollout("a1", "a", cut=True),
    rollout("b0", "b"),
    rollout("b1", "b"),
]
GROUPS = [
    SealedGroup(group=name, rollouts=tuple(one for one in ROLLOUTS if one.group == name), is_partial=False)
    for name in "ab"
]


def test_episodes_are_counted_as_a_person_would() -> None:
    left = [
        Left(group="a", episode=name, fate=fate, cause="", was_running=False)
        for name, fate in (("a0", Fate.TRAINED), ("a1", Fate.TRAINED), ("x", Fate.DROPPED))
    ]
    numbers = dict(rollout_numbers(ROLLOUTS, left))
    assert numbers["episodes/count"] == 4
    assert numbers["episodes/solved"] == 0.25
    assert numbers["episodes/turns"] == 1
    assert numbers["episodes/sampled_tokens"] == pytest.approx((3 + 2 + 2 + 2) / 4)
    assert numbers["reward/mean"] == pytest.approx((0.5 - 0.5 * 3) / 4)
    assert (numbers["reward/outcome"], numbers["reward/turns"]) == (0.25, -0.5)
    assert (numbers["exit/done"], numbers["exit/context"]) == (0.25, 0.75)
    assert numbers["replies/truncated"] == 0.25
    assert (numbers["fate/trained"], numbers["fate/dropped"], numbers["fate/failed"]) == (2, 1, 0)


def test_a_step_without_episodes_has_numbers_too() -> None:
    numbers = dict(rollout_numbers([], []))
    assert (numbers["episodes/count"], numbers["reward/mean"], numbers["replies/truncated"]) == (0, 0, 0)


def test_groups_in_the_band_and_uniform_ones_are_told() -> None:
    batch = make_batch(GROUPS, version=0, settings=AdvantageSettings(least_group=2), max_tokens=8)
    numbers = dict(batch_numbers(batch))
    assert (numbers["groups/count"], numbers["groups/uniform"], numbers["groups/in_band"]) == (2, 1, 0.5)
    assert (numbers["rows/count"], numbers["microbatches/count"], numbers["rows/dropped"]) == (4, 2, 0)
    assert numbers["microbatches/fill"] == pytest.approx((4 + 5) / 16)
    assert [row.episode for row in batch.solved_rows] == ["a0"]


def test_a_report_is_told_with_what_it_has() -> None:
    plain = StepReport(
        step=3,
        loss=0.5,
        grad_norm=2.0,
        learning_rate=1e-3,
        tokens=10,
        computed_tokens=30,
        entropy=1.5,
        skipped=False,
        skipped_total=1,
        seconds=0.1,
    )
    numbers = dict(report_numbers(plain))
    assert (numbers["loss"], numbers["skipped/total"], numbers["tokens/computed"]) == (0.5, 1, 30)
    assert not {"kl", "beta", "anchor_loss", "parity/kl"} & set(numbers)
    policy = PolicyStatistics(
        ratio_mean=1.0,
        old_kl=0.1,
        log_ratio_mean=0.2,
        clipped_high=0.3,
        clipped_low=0.4,
        clipped_dual=0.0,
        responses_at_bounds=0.5,
        parity=Parity(tokens=10, kl=0.01, ratio=1.02),
    )
    numbers = dict(report_numbers(replace(plain, policy=policy, kl=0.02, beta=0.01, anchor_loss=3.0)))
    assert (numbers["kl"], numbers["beta"], numbers["anchor_loss"]) == (0.02, 0.01, 3.0)
    assert (numbers["policy/clipped_low"], numbers["parity/ratio"]) == (0.4, 1.02)
