"""GRPO on a tiny random model, whole runs through the real sandbox and grader."""

import io
import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from pdb_agent.run_folder import RunFolder
from pdb_trainer import grpo
from pdb_trainer.alarms import AlarmSettings
from pdb_trainer.batch_making import enough, is_uniform
from pdb_trainer.checkpoint import latest
from pdb_trainer.config import GrpoConfig
from pdb_trainer.errors import LearnerError
from pdb_trainer.groups import SealedGroup
from pdb_trainer.learner import Learner
from pdb_trainer.parity import gate, measure, some_of
from pdb_trainer.rollout_store import RolloutStore
from pdb_trainer.run_log import read_metrics
from pdb_trainer.run_place import in_folder

from tests.pdb_trainer.strategies import rollout_of_turns
from tests.pdb_trainer.tiny_models import a_row, one_microbatch, tiny_policy
from tests.pdb_trainer.tiny_runs import adapter_hash, grpo_config

pytestmark = pytest.mark.slow


def run(config: GrpoConfig, folder: Path) -> str:
    stream = io.StringIO()
    assert in_folder(grpo.train, config, folder, stream) == 0
    return stream.getvalue()


def group(*rewards: float, name: str = "g") -> SealedGroup:
    rollouts = tuple(
        replace(rollout_of_turns((), episode=f"{name}-{number}"), rewards={"outcome": reward})
        for number, reward in enumerate(rewards)
    )
    return SealedGroup(group=name, rollouts=rollouts, is_partial=False)


def test_a_group_is_uniform_when_all_its_rewards_are_the_same() -> None:
    assert is_uniform(group(0.0, 0.0, 0.0))
    assert is_uniform(group(1.0))
    assert not is_uniform(group(0.0, 0.0, 1.0))


def test_the_first_mixed_groups_are_enough() -> None:
    groups = [group(0, 0, name="a"), group(0, 1, name="b"), group(1, 0, name="c"), group(1, 2, name="d")]
    assert [one.group for one in enough(groups, 2)] == ["b", "c"]


def test_an_all_fail_step_changes_nothing_and_resampling_gives_up_in_words(
    tiny_model: Path, tmp_path: Path
) -> None:
    config = grpo_config(
        tiny_model,
        reward={"kind": "outcome"},
        algorithm={
            "groups": 1,
            "group_size": 2,
            "least_group": 2,
            "uniform": "resample",
            "resample_tries": 3,
        },
        run={"steps": 1},
    )
    said = run(config, tmp_path)
    (metrics,) = read_metrics(tmp_path)
    assert "Step 1: 3 groups were tried, and 0 of them are mixed." in said
    assert metrics["groups/set_aside"] == 3
    assert (metrics["fate/trained"], metrics["episodes/count"]) == (6, 6)
    assert metrics["grad_norm"] == 0.0
    checkpoint = latest(tmp_path / "checkpoints")
    assert checkpoint is not None
    assert not any(tensor.any() for name, tensor in checkpoint.adapter.items() if "lora_B" in name)
    assert checkpoint.counters["drawn"] == 3


def test_an_anchor_teaches_where_rewards_say_nothing(
    tiny_model: Path, tiny_corpus: Path, tmp_path: Path
) -> None:
    config = grpo_config(
        tiny_model,
        reward={"kind": "outcome"},
        algorithm={"groups": 1, "group_size": 2, "least_group": 2},
        anchor={"corpus": tiny_corpus, "tokens": 200, "weight": 1.0},
        run={"steps": 2, "keep_rollouts": False},
    )
    run(config, tmp_path)
    first, second = read_metrics(tmp_path)
    assert second["anchor_loss"] < first["anchor_loss"]
    assert not (tmp_path / "rollouts").exists()


def test_every_switch_at_once_and_an_evaluation_through_the_agent(tiny_model: Path, tmp_path: Path) -> None:
    config = grpo_config(
        tiny_model,
        algorithm={
            "groups": 1,
            "group_size": 3,
            "least_group": 2,
            "divide_by_std": True,
            "clip": False,
            "dual_clip": 0,
            "length_alpha": 0,
            "aggregation": "trajectory",
            "importance": "response",
        },
        kl={"beta": 0},
        batch={"microbatch_tokens": 4096, "checkpointing": True},
        evaluation={"every": 1, "count": 1},
        run={"steps": 1, "keep_episodes": True},
    )
    run(config, tmp_path)
    (metrics,) = read_metrics(tmp_path)
    assert "kl" not in metrics
    assert (metrics["evaluation/episodes"], metrics["evaluation/unfinished"]) == (1, 0)
    episodes = [episode for _, episode in RunFolder(tmp_path / "evaluations" / "step-000001").episodes()]
    assert [episode.started.split for episode in episodes] == ["test"]
    assert len(list((tmp_path / "episodes" / "step-000001").glob("*.jsonl"))) == 3
    rollouts = RolloutStore(tmp_path / "rollouts" / "step-000001").read()
    assert {turn.version for rollout in rollouts for turn in rollout.turns} == {"policy-v0"}
    assert {rollout.hashes["base_model"] for rollout in rollouts} != {""}
    assert json.loads((tmp_path / "run.json").read_text("utf-8"))["config"]["kl"]["beta"] == 0
    assert adapter_hash(tmp_path)


def test_a_sample_of_rows_has_tokens_enough_and_hardly_more() -> None:
    rows = [a_row(101, seed=number, responses=((1, 101),)) for number in range(9)]
    assert len(some_of(rows)) == 3
    assert some_of(rows[:2]) == rows[:2]
    assert some_of([]) == []


def test_the_gate_measures_how_far_sampler_and_learner_are_apart_and_refuses_too_much() -> None:
    learner = Learner(model=tiny_policy())
    row = a_row(12, responses=((2, 6), (8, 12)), version=4)
    microbatch = one_microbatch([row])
    own = learner.logprobs(microbatch).astype(np.float32)
    agreeing = replace(microbatch, old_logprobs=own)
    gate(learner, agreeing, version=4, settings=AlarmSettings())
    shifted = replace(
        microbatch, old_logprobs=np.where(microbatch.loss_mask, own - 0.5, 0).astype(np.float32)
    )
    parity = measure(learner, shifted, version=4)
    assert parity is not None
    assert parity.tokens == 8
    assert parity.kl == pytest.approx(np.exp(0.5) - 1.5, abs=1e-5)
    assert parity.ratio == pytest.approx(np.exp(0.5), abs=1e-5)
    with pytest.raises(LearnerError, match=r"before the first update: KL 0\.1487 .* over 8 tokens"):
        gate(learner, shifted, version=4, settings=AlarmSettings())
    gate(learner, shifted, version=5, settings=AlarmSettings())  # nothing was drawn by these weights
    assert measure(learner, shifted, version=5) is None
