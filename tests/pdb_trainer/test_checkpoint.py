"""Checkpoints: whole or not at all."""

import shutil
from pathlib import Path

import pytest
import torch
from pdb_trainer.checkpoint import Checkpoint, latest, save
from pdb_trainer.errors import CheckpointError

from tests.pdb_trainer.tiny_runs import files_no_longer_than


def checkpoint(step: int, size: int = 1000) -> Checkpoint:
    generator = torch.Generator().manual_seed(step)
    return Checkpoint(
        step=step,
        adapter={"a.lora_A.weight": torch.randn(size, generator=generator), "b": torch.full((2, 3), step)},
        adapter_config={"r": 4},
        learner={
            "optimiser": {"state": {0: {"exp_avg": torch.randn(size, generator=generator)}}},
            "rng": torch.get_rng_state(),
            "lr": 1e-3,
        },
        counters={"drawn": step * 4, "beta": 0.1 + 0.2, "names": ["x"]},
    )


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_what_is_saved_comes_back_bit_for_bit(tmp_path: Path) -> None:
    wanted = checkpoint(3)
    save(tmp_path, wanted)
    got = latest(tmp_path)
    assert got is not None
    assert (got.step, got.adapter_config, got.counters) == (3, {"r": 4}, wanted.counters)
    assert got.adapter.keys() == wanted.adapter.keys()
    assert all(torch.equal(got.adapter[name], tensor) for name, tensor in wanted.adapter.items())
    moment = wanted.learner["optimiser"]["state"][0]["exp_avg"]
    assert torch.equal(got.learner["optimiser"]["state"][0]["exp_avg"], moment)
    assert torch.equal(got.learner["rng"], wanted.learner["rng"])


def test_an_empty_folder_has_none(tmp_path: Path) -> None:
    assert latest(tmp_path) is None
    assert latest(tmp_path / "nowhere") is None


def test_the_last_two_are_kept(tmp_path: Path) -> None:
    for step in range(1, 6):
        save(tmp_path, checkpoint(step, 10))
    assert names(tmp_path) == ["step-000004", "step-000005"]


@pytest.mark.parametrize("size", [10, 3000, 6000, 10_000])
def test_a_full_disk_leaves_the_old_one_intact_and_says_so(tmp_path: Path, size: int) -> None:
    save(tmp_path, checkpoint(1))
    save(tmp_path, checkpoint(2))
    with files_no_longer_than(size), pytest.raises(CheckpointError) as raised:
        save(tmp_path, checkpoint(3))
    assert "step-000002 is intact. Make room" in str(raised.value)
    assert names(tmp_path) == ["step-000001", "step-000002"]
    got = latest(tmp_path)
    assert got is not None
    assert torch.equal(got.adapter["b"], checkpoint(2).adapter["b"])
    save(tmp_path, checkpoint(3))
    assert names(tmp_path) == ["step-000002", "step-000003"]


def test_a_first_checkpoint_that_does_not_fit_says_that_there_is_none(tmp_path: Path) -> None:
    with files_no_longer_than(100), pytest.raises(CheckpointError, match="there is none before it"):
        save(tmp_path, checkpoint(1))
    assert names(tmp_path) == []


@pytest.mark.parametrize("file", ["adapter/adapter_model.safetensors", "learner.pt", "state.json"])
def test_a_damaged_one_is_passed_over_and_named(tmp_path: Path, file: str) -> None:
    save(tmp_path, checkpoint(1))
    save(tmp_path, checkpoint(2))
    path = tmp_path / "step-000002" / file
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 0xFF
    path.write_bytes(content)
    got = latest(tmp_path)
    assert got is not None
    assert (got.step, got.damaged) == (1, ("step-000002",))
    save(tmp_path, checkpoint(2))
    again = latest(tmp_path)
    assert again is not None
    assert (again.step, again.damaged) == (2, ())


def test_only_damaged_ones_are_an_error_rather_than_a_new_beginning(tmp_path: Path) -> None:
    save(tmp_path, checkpoint(1))
    (tmp_path / "step-000001" / "learner.pt").unlink()
    with pytest.raises(CheckpointError, match=r"No checkpoint in .* can be read"):
        latest(tmp_path)


def test_what_a_killed_run_left_half_written_counts_for_nothing_and_goes(tmp_path: Path) -> None:
    save(tmp_path, checkpoint(1))
    shutil.copytree(tmp_path / "step-000001", tmp_path / ".step-000002.123")
    got = latest(tmp_path)
    assert got is not None
    assert got.step == 1
    save(tmp_path, checkpoint(2))
    assert names(tmp_path) == ["step-000001", "step-000002"]
