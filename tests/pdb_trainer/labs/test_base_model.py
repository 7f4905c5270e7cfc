from pathlib import Path

import torch
from pdb_trainer.labs.base_model import make_base, random_network

from tests.pdb_trainer.labs.small_lab import BASE, TOOLS, programs


def test_a_random_network_hands_on_what_it_attends_to_and_looks_for_its_like() -> None:
    attention = "model.layers.0.self_attn"
    network = random_network(BASE, (397, 398, 399))
    value, output, query, key = (
        network.get_parameter(f"{attention}.{name}_proj.weight") for name in ("v", "o", "q", "k")
    )

    torch.testing.assert_close(output @ value, torch.eye(BASE.hidden))
    assert torch.equal(query, key)
    assert network.config.vocab_size == 400


def test_reading_lowers_the_loss_and_is_told_step_by_step(tmp_path: Path) -> None:
    told: list[tuple[int, int]] = []
    config = BASE.model_copy(update={"passes": 6, "learning_rate": 3e-2})
    made = make_base(
        tmp_path, programs(), TOOLS, config, 0, lambda step, steps, loss: told.append((step, steps))
    )

    assert told == [(step, 30) for step in range(1, 31)]  # 20 texts, 6 times, by fours
    assert made["last_loss"] < 0.8 * made["first_loss"]
    assert made["texts"] == 20


def test_the_same_seed_makes_the_same_bytes_and_another_one_other_weights(tmp_path: Path) -> None:
    for name, seed in (("one", 0), ("again", 0), ("other", 1)):
        make_base(tmp_path / name, programs(), TOOLS, BASE, seed)
    weights = {
        name: (tmp_path / name / "model.safetensors").read_bytes() for name in ("one", "again", "other")
    }

    assert weights["one"] == weights["again"]
    assert weights["one"] != weights["other"]
