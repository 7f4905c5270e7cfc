"""Our adapters are peft's, number for number and file for file."""

import json
from dataclasses import replace
from pathlib import Path

import peft
import pytest
import torch
from pdb_trainer.adapter_files import (
    CONFIG,
    WEIGHTS,
    folded,
    merged,
    peft_config,
    read_adapter,
    tensor_hash,
    write_adapter,
)
from pdb_trainer.errors import CheckpointError, LearnerError
from pdb_trainer.lora import LoraSettings
from pdb_trainer.model import PackedTensors, PolicyModel, prepared
from torch import Tensor

from tests.pdb_trainer.tiny_models import Family, a_row, one_microbatch, stir, tiny_network, tiny_policy

SETTINGS = LoraSettings(rank=3, alpha=6.0)
IDS = torch.tensor([[3, 1, 4, 1, 5, 9, 2, 6]])


def our_logits(model: PolicyModel, adapter: str | None = "policy") -> Tensor:
    rows = PackedTensors(
        token_ids=IDS[0],
        position_ids=torch.arange(IDS.shape[1]),
        row_starts=(0, IDS.shape[1]),
        places=torch.arange(0),
    )
    with torch.no_grad():
        return model.hidden(rows, adapter) @ model.head_weight.T


@pytest.mark.parametrize("family", ["qwen3", "llama"])
def test_an_adapter_that_is_written_computes_in_peft_what_it_computes_here(tmp_path: Path, family: Family):
    model = tiny_policy(family)
    write_adapter(tmp_path, model.adapter(), SETTINGS)
    theirs = peft.PeftModel.from_pretrained(tiny_network(family), tmp_path, autocast_adapter_dtype=False)
    with torch.no_grad():
        logits: Tensor = theirs(input_ids=IDS).logits[0]
    torch.testing.assert_close(our_logits(model), logits, rtol=0, atol=1e-9)
    assert float((our_logits(model) - our_logits(model, None)).abs().max()) > 0.1


def test_an_adapter_that_peft_writes_is_read_and_computes_the_same(tmp_path: Path):
    config = peft.LoraConfig(r=3, lora_alpha=6, target_modules="all-linear", init_lora_weights=False)
    theirs = peft.get_peft_model(tiny_network(), config)
    theirs.save_pretrained(str(tmp_path))
    with torch.no_grad():
        logits: Tensor = theirs(input_ids=IDS).logits[0]
    model = tiny_policy(noise=0.0)
    tensors, settings = read_adapter(tmp_path)
    assert (settings.rank, settings.alpha) == (3, 6.0)
    model.load_adapter(tensors)
    torch.testing.assert_close(our_logits(model), logits, rtol=0, atol=1e-9)


def test_gradients_are_those_of_peft(tmp_path: Path):
    model = tiny_policy()
    write_adapter(tmp_path, model.adapter(), SETTINGS)
    theirs = peft.PeftModel.from_pretrained(
        tiny_network(), tmp_path, autocast_adapter_dtype=False, is_trainable=True
    )
    packed = PackedTensors.of(one_microbatch([a_row(8)]), torch.device("cpu"))
    logits: Tensor = theirs(input_ids=packed.token_ids[None]).logits[0]
    (logits.log_softmax(-1)[packed.places - 1, packed.token_ids[packed.places]]).sum().backward()
    model.logprobs(packed)[0].sum().backward()
    gradients = {
        name.replace(".default", ""): value.grad
        for name, value in theirs.named_parameters()
        if value.requires_grad
    }
    ours = zip(model.adapter(), model.adapters.parameters(), strict=True)
    for name, parameter in ours:
        expected = gradients.pop(name)
        assert parameter.grad is not None
        assert expected is not None
        torch.testing.assert_close(parameter.grad, expected, rtol=0, atol=1e-6)
    assert gradients == {}


def test_a_fresh_adapter_changes_nothing_and_is_drawn_from_its_seed():
    fresh = tiny_policy(noise=0.0)
    assert torch.equal(our_logits(fresh), our_logits(fresh, None))
    again = tiny_policy(noise=0.0)
    other = PolicyModel(prepared(tiny_network(), checkpointing=False), replace(SETTINGS, seed=1))
    assert tensor_hash(fresh.adapter()) == tensor_hash(again.adapter()) != tensor_hash(other.adapter())


def test_the_first_matrix_is_drawn_in_pefts_range():
    """Uniform within the square root of 1 / inputs."""
    a = torch.cat(
        [
            value.flatten()
            for name, value in tiny_policy(noise=0.0).adapter().items()
            if "q_proj.lora_A" in name
        ]
    )
    assert 0.2 < float(a.abs().max()) <= 0.25  # 16 inputs


def test_the_head_and_the_embeddings_have_no_adapter():
    model = tiny_policy()
    assert model.adapters.targets == [
        "down_proj",
        "gate_proj",
        "k_proj",
        "o_proj",
        "q_proj",
        "up_proj",
        "v_proj",
    ]
    assert len(model.adapter()) == 2 * 2 * 7
    assert "base_model.model.model.layers.0.self_attn.q_proj.lora_A.weight" in model.adapter()


def test_the_configuration_is_what_peft_reads(tmp_path: Path):
    model = tiny_policy()
    write_adapter(tmp_path, model.adapter(), SETTINGS, base="models/base")
    config = peft.PeftConfig.from_pretrained(str(tmp_path))
    assert isinstance(config, peft.LoraConfig)
    assert (config.r, config.lora_alpha, config.base_model_name_or_path) == (3, 6.0, "models/base")
    assert config.target_modules == set(model.adapters.targets)
    assert json.loads((tmp_path / CONFIG).read_text()) == peft_config(
        model.adapter(), SETTINGS, base="models/base"
    )


def test_folding_the_scale_into_b_changes_no_output(tmp_path: Path):
    model = tiny_policy()
    tensors, settings = folded(model.adapter(), SETTINGS)
    assert settings.scale == 1.0
    write_adapter(tmp_path, tensors, settings)
    theirs = peft.PeftModel.from_pretrained(tiny_network(), tmp_path, autocast_adapter_dtype=False)
    with torch.no_grad():
        logits: Tensor = theirs(input_ids=IDS).logits[0]
    torch.testing.assert_close(our_logits(model), logits, rtol=0, atol=1e-9)


def test_merged_weights_compute_what_base_and_adapter_do():
    model = tiny_policy()
    network = tiny_network()
    weights = merged(network.state_dict(), model.adapter(), SETTINGS)
    network.load_state_dict(weights)
    with torch.no_grad():
        logits: Tensor = network(input_ids=IDS).logits[0]
    torch.testing.assert_close(our_logits(model), logits, rtol=0, atol=1e-7)
    shard = {"model.norm.weight": weights["model.norm.weight"]}
    assert merged(shard, model.adapter(), SETTINGS) == shard


def test_merging_into_another_base_is_refused():
    weights = {"model.layers.0.self_attn.q_proj.weight": torch.zeros(2, 2)}
    with pytest.raises(LearnerError, match="does not fit"):
        merged(weights, tiny_policy().adapter(), SETTINGS)


def test_a_hash_tells_tensors_apart_by_name_type_shape_and_content():
    one = {"a": torch.arange(6.0), "b": torch.ones(2)}
    assert tensor_hash(one) == tensor_hash(dict(reversed(one.items())))
    others = [
        {"a": torch.arange(6.0), "c": torch.ones(2)},
        {"a": torch.arange(6.0).double(), "b": torch.ones(2)},
        {"a": torch.arange(6.0).view(2, 3), "b": torch.ones(2)},
        {"a": torch.arange(6.0).nextafter(torch.tensor(9.0)), "b": torch.ones(2)},
    ]
    assert len({tensor_hash(each) for each in [one, *others]}) == 5
    assert tensor_hash({"a": torch.ones(3, dtype=torch.bfloat16)}) != tensor_hash({"a": torch.ones(3)})
    assert tensor_hash({"a": torch.tensor(1.0)}) == tensor_hash({"a": torch.tensor(1.0)})


def test_matrices_are_stored_in_the_type_asked_for(tmp_path: Path):
    model = tiny_policy(dtype=torch.float32)
    write_adapter(tmp_path, model.adapter(), SETTINGS, dtype=torch.bfloat16)
    tensors, _ = read_adapter(tmp_path)
    assert {value.dtype for value in tensors.values()} == {torch.bfloat16}
    write_adapter(tmp_path, model.adapter(), SETTINGS)
    assert tensor_hash(read_adapter(tmp_path)[0]) == tensor_hash(model.adapter())
    assert sorted(each.name for each in tmp_path.iterdir()) == [CONFIG, WEIGHTS]


def test_an_adapter_of_another_rank_or_model_is_refused():
    model = tiny_policy()
    before = tensor_hash(model.adapter())
    with pytest.raises(LearnerError, match="the rank"):
        model.load_adapter(tiny_policy(rank=2).adapter())
    fewer = dict(list(model.adapter().items())[:-1])
    with pytest.raises(LearnerError, match="1 names differ"):
        model.load_adapter(fewer)
    assert tensor_hash(model.adapter()) == before


def test_a_folder_without_a_whole_adapter_is_refused(tmp_path: Path):
    with pytest.raises(CheckpointError, match="no whole adapter"):
        read_adapter(tmp_path)
    write_adapter(tmp_path, tiny_policy().adapter(), SETTINGS)
    (tmp_path / WEIGHTS).write_bytes((tmp_path / WEIGHTS).read_bytes()[:100])
    with pytest.raises(CheckpointError, match="no whole adapter"):
        read_adapter(tmp_path)


@pytest.mark.parametrize("change", [{"use_rslora": True}, {"bias": "all"}, {"modules_to_save": ["lm_head"]}])
def test_an_adapter_that_is_more_than_plain_lora_is_refused(tmp_path: Path, change: dict[str, object]):
    write_adapter(tmp_path, tiny_policy().adapter(), SETTINGS)
    config = json.loads((tmp_path / CONFIG).read_text())
    (tmp_path / CONFIG).write_text(json.dumps({**config, **change}))
    with pytest.raises(CheckpointError, match="plain LoRA"):
        read_adapter(tmp_path)


def test_the_reference_stays_where_it_was_frozen():
    model = tiny_policy()
    model.adapters.freeze_reference()
    frozen = tensor_hash(model.adapter("reference"))
    assert frozen == tensor_hash(model.adapter())
    stir(model, 0.1)
    assert tensor_hash(model.adapter("reference")) == frozen != tensor_hash(model.adapter())
    model.adapters.freeze_reference()
    assert tensor_hash(model.adapter("reference")) == tensor_hash(model.adapter())


def test_what_is_handed_out_does_not_change_with_later_updates():
    model = tiny_policy()
    handed_out = model.adapter()
    before = tensor_hash(handed_out)
    stir(model, 0.1)
    assert tensor_hash(handed_out) == before
