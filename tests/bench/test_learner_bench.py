"""The learner's benchmark compares the same work, and counts it right."""

from pathlib import Path

import numpy as np
import pytest
from pdb_trainer.packing import pack
from pdb_trainer.sequences import Row

from bench.learner import Measured, gradient_difference, ratio, rows_of, targets_met
from bench.learner_workload import Shape, load_rows, per_response, rollouts, save_rows, weighed_rows

SMALL = Shape(episodes=2, turns=3, prompt=7, reply=2, result=4, vocabulary=31)


def tokens(rows: list[Row]) -> int:
    return sum(len(row.token_ids) for row in rows)


def test_tokens_of_merged_and_unmerged_rows_are_those_computed_by_hand():
    rows = list(weighed_rows(rollouts(SMALL)))
    assert tokens(rows) == SMALL.merged_tokens == 2 * (7 + 2 + 4 + 2 + 4 + 2)
    unmerged = per_response(rows)
    assert len(unmerged) == 6
    assert tokens(unmerged) == SMALL.unmerged_tokens == 2 * ((7 + 2) + (13 + 2) + (19 + 2))


def test_thirty_turns_are_over_sixteen_times_fewer_tokens():
    shape = Shape()
    assert shape.turns == 30
    assert shape.unmerged_tokens / shape.merged_tokens == pytest.approx(16.68, abs=0.01)


def test_every_sampled_token_is_learned_once_either_way_with_the_same_weight():
    rows = list(weighed_rows(rollouts(SMALL)))
    unmerged = per_response(rows)
    for name in ("token_ids", "weight", "old_logprobs", "response_id"):
        merged = np.concatenate([getattr(row, name)[row.loss_mask] for row in rows])
        apart = np.concatenate([getattr(row, name)[row.loss_mask] for row in unmerged])
        np.testing.assert_array_equal(merged, apart)
    assert all(not row.weight[~row.loss_mask].any() for row in unmerged)


def test_rows_come_back_from_their_file(tmp_path: Path):
    rows = list(weighed_rows(rollouts(SMALL)))
    save_rows(rows, tmp_path / "rows.npz")
    again = load_rows(tmp_path / "rows.npz")
    for one, other in zip(rows, again, strict=True):
        np.testing.assert_array_equal(one.token_ids, other.token_ids)
        np.testing.assert_array_equal(one.weight, other.weight)
    assert pack(again, max_tokens=64).microbatches[0].tokens == 42


def test_ratios_take_the_least_cpu_time_and_the_median_of_the_clock():
    ours = Measured(
        tokens=10, wall_seconds=(1.0, 2.0, 9.0), cpu_seconds=(2.0, 1.0), step_kilobytes=100, loss=0.0
    )
    other = Measured(tokens=50, wall_seconds=(8.0,), cpu_seconds=(3.0, 4.0), step_kilobytes=300, loss=0.0)
    times = ratio(other, ours)
    assert (times.tokens, times.cpu, times.wall, times.memory) == (5.0, 3.0, 4.0, 3.0)
    assert targets_met(times)
    assert not targets_met(ratio(other, other))
    joined = ours.joined(other)
    assert (joined.wall, joined.cpu, joined.step_kilobytes) == (5.0, 1.0, 300)
    (_, _, line) = rows_of({"a": ours, "b": other}, "a", {"b": 1e-6})
    assert line == ["b", "50", "5.0", "3.00", "3.0", "8.00", "4.0", "0", "3.0", "1.0e-06"]


def test_a_gradient_that_differs_is_told_by_how_much(tmp_path: Path):
    np.savez(tmp_path / "chains, packed.gradient.npz", allow_pickle=False, a=np.array([1.0, -4.0]))
    np.savez(tmp_path / "other.gradient.npz", allow_pickle=False, a=np.array([1.0, -3.0]))
    assert gradient_difference(tmp_path, "other") == pytest.approx(0.25)


@pytest.mark.slow
def test_both_kinds_of_rows_have_the_same_gradient(tmp_path: Path):
    from pdb_trainer.lora import LoraSettings
    from pdb_trainer.model import load_policy

    from bench.learner_step import OBJECTIVE, SETTINGS, Learner, gradients
    from bench.learner_workload import save_model

    save_model(Shape(vocabulary=31, hidden=16, layers=1), tmp_path)
    rows = list(weighed_rows(rollouts(SMALL)))
    found = []
    for each in (rows, per_response(rows)):
        policy = load_policy(tmp_path, lora=LoraSettings(rank=2), dtype="float64")
        learner = Learner(model=policy, settings=SETTINGS)
        learner.update(pack(each, max_tokens=30).microbatches, objective=OBJECTIVE)
        found.append(gradients(learner))
    for name, value in found[0].items():
        np.testing.assert_allclose(found[1][name], value, rtol=0, atol=1e-7)  # norms round to float32
    assert max(float(np.abs(value).max()) for value in found[0].values()) > 1e-6
