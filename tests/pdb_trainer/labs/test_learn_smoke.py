import io
import json
from pathlib import Path

import pytest
from pdb_agent.episode import read_episode
from pdb_trainer.config import ModelConfig
from pdb_trainer.config_reading import read_table, tree_of
from pdb_trainer.errors import ConfigError
from pdb_trainer.labs.base_model import make_base
from pdb_trainer.labs.evaluating import seed_of
from pdb_trainer.labs.learn_smoke import RESULTS, learn_smoke
from pdb_trainer.labs.settings import LabConfig
from pdb_trainer.model_hashes import base_hash

from tests.pdb_trainer.labs.small_lab import BASE, TOOLS, programs, small_lab

RECIPES = Path(__file__).parents[3] / "packages" / "trainer" / "recipes"


@pytest.mark.slow
def test_a_lab_that_learns_nothing_fails_writes_all_it_measured_and_goes_on_from_its_folder(
    tmp_path: Path,
) -> None:
    stream = io.StringIO()
    assert learn_smoke(small_lab(), tmp_path, stream) == 1
    record = json.loads((tmp_path / RESULTS).read_bytes())

    assert record["is_shown"] is False
    assert [one["tasks"] for one in record["differences"]] == [2, 2]
    assert all(len(one["tasks"]) == 2 for one in record["evaluations"].values())
    assert all(len(one["tasks"]) == 1 for one in record["fixed_tasks"].values())
    assert [len(record["steps"][stage]) for stage in ("sft", "rl")] == [1, 1]
    assert [tool["name"] for tool in record["tools"]] == ["read_file", "run_tests", "edit"]
    assert record["configuration"]["grpo"]["tasks"]["ids"] == ["gym_zero_0", "gym_init_0", "gym_minmax_1"]
    assert "NO RISE" in stream.getvalue()
    measured = tmp_path / "measured" / "base" / "held_out"
    seeds = {read_episode(path).started.sampling.seed for path in measured.glob("*.jsonl")}
    assert len(seeds) == 2
    assert learn_smoke(small_lab(), tmp_path, io.StringIO()) == 1  # nothing runs again
    again = json.loads((tmp_path / RESULTS).read_bytes())
    assert again["evaluations"] == record["evaluations"]
    assert again["steps"] == record["steps"]


@pytest.mark.slow
def test_a_lab_begins_with_the_model_that_it_is_given(tmp_path: Path) -> None:
    given = tmp_path / "given"
    make_base(given, programs(), TOOLS, BASE, seed=3)
    lab = small_lab().model_copy(update={"model": ModelConfig(path=given, dtype="float32")})
    assert learn_smoke(lab, tmp_path / "lab", io.StringIO()) == 1
    record = json.loads((tmp_path / "lab" / RESULTS).read_bytes())

    assert not (tmp_path / "lab" / "base").exists()
    assert record["base"] == {"path": str(given), "sha256": base_hash(given)}
    assert {record["configuration"][run]["model"]["path"] for run in ("sft", "grpo")} == {str(given)}
    assert not any("random weights" in limit for limit in record["limits"])


def test_every_task_draws_from_a_seed_of_its_own() -> None:
    assert len({seed_of(f"gym_init_{number}", 0) for number in range(50)}) == 50
    assert seed_of("gym_init_1", 0) != seed_of("gym_init_1", 1)


def test_the_recipe_is_a_lab_whose_two_runs_are_configurations(tmp_path: Path) -> None:
    lab = tree_of(LabConfig, read_table(RECIPES / "learn_smoke.toml", ()))
    supervised = lab.sft_config(tmp_path / "base", tmp_path / "corpus")
    reinforced = lab.grpo_config(tmp_path / "base", tmp_path / "adapter", {"gym": {"count": 5}})

    assert lab.tasks.held_out >= 100
    assert supervised.adapter.rank == reinforced.adapter.rank
    assert reinforced.adapter.start == tmp_path / "adapter"
    assert reinforced.limits.turns == 12


def test_the_recipe_of_the_real_model_is_a_lab_that_begins_with_it(tmp_path: Path) -> None:
    lab = tree_of(LabConfig, read_table(RECIPES / "smollm2_lab.toml", ()))
    assert lab.model is not None
    supervised = lab.sft_config(lab.model.path, tmp_path / "corpus")
    reinforced = lab.grpo_config(lab.model.path, tmp_path / "adapter", {"gym": {"count": 5}})

    assert supervised.model == reinforced.model == lab.model
    assert reinforced.adapter.start == tmp_path / "adapter"


def test_an_unfit_table_of_the_recipe_is_said_before_anything_runs(tmp_path: Path) -> None:
    wrong = small_lab().model_copy(update={"sft": {"examples_per_step": 0}})

    with pytest.raises(ConfigError, match="unfit examples_per_step"):
        learn_smoke(wrong, tmp_path, io.StringIO())
    assert not (tmp_path / "base").exists()
