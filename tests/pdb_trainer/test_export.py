"""Adapters for others: PEFT, vLLM, merged."""

import io
from pathlib import Path

import pytest
import torch
from pdb_trainer import sft
from pdb_trainer.adapter_files import read_adapter, tensor_hash, write_adapter
from pdb_trainer.errors import CheckpointError
from pdb_trainer.export import export
from pdb_trainer.run_place import in_folder
from peft import PeftModel
from transformers import AutoModelForCausalLM, PreTrainedModel

from tests.pdb_trainer.tiny_runs import adapter_hash, all_bytes, sft_config

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore::DeprecationWarning")]
IDS = torch.tensor([[5, 9, 40, 7, 21]])


@pytest.fixture(scope="module")
def run(tiny_model: Path, tiny_corpus: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("runs") / "sft"
    assert in_folder(sft.train, sft_config(tiny_model, tiny_corpus), folder, io.StringIO()) == 0
    return folder


def base(folder: Path) -> PreTrainedModel:
    return AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32)


def exported(kind: str, source: Path, out: Path, model: Path | None = None) -> str:
    stream = io.StringIO()
    assert export(kind, source, out, model, stream) == 0
    return stream.getvalue()


@torch.no_grad()
def test_peft_vllm_and_merged_say_the_same_and_not_what_the_base_says(
    run: Path, tiny_model: Path, tmp_path: Path
) -> None:
    said = exported("peft", run, tmp_path / "peft")
    assert f"adapter {adapter_hash(run)[:12]} of rank 4" in said
    assert "differs from step-000006" in said
    exported("vllm", run, tmp_path / "vllm")
    exported("merged", run, tmp_path / "merged")
    plain = base(tiny_model)(IDS).logits
    merged = base(tmp_path / "merged")(IDS).logits
    for kind in ("peft", "vllm"):
        adapted = PeftModel.from_pretrained(base(tiny_model), str(tmp_path / kind))(IDS).logits
        assert torch.allclose(adapted, merged, atol=1e-5)
    assert (merged - plain).abs().max() > 1e-3
    assert {path.name for path in (tmp_path / "merged").iterdir()} == {
        path.name for path in tiny_model.iterdir()
    }


def test_what_a_server_gets_is_scaled_already(run: Path, tmp_path: Path) -> None:
    exported("vllm", run, tmp_path / "vllm")
    tensors, lora = read_adapter(tmp_path / "vllm")
    assert lora.alpha == lora.rank == 4
    own, settings = read_adapter(run / "checkpoints" / "step-000008" / "adapter")
    name = next(name for name in own if ".lora_B." in name)
    assert torch.equal(tensors[name], own[name] * settings.alpha / settings.rank)


def test_an_export_leaves_what_it_is_made_of_alone(run: Path, tiny_model: Path, tmp_path: Path) -> None:
    before = all_bytes(run), all_bytes(tiny_model)
    exported("merged", run / "checkpoints" / "step-000008" / "adapter", tmp_path / "merged", tiny_model)
    assert (all_bytes(run), all_bytes(tiny_model)) == before


def test_an_adapter_that_changes_nothing_is_refused(run: Path, tmp_path: Path) -> None:
    tensors, lora = read_adapter(run / "checkpoints" / "step-000008" / "adapter")
    idle = {name: tensor * (".lora_A." in name) for name, tensor in tensors.items()}
    write_adapter(tmp_path / "idle", idle, lora)
    with pytest.raises(CheckpointError, match="changes nothing"):
        export("peft", tmp_path / "idle", tmp_path / "out", None, io.StringIO())


def test_an_adapter_that_no_update_reached_is_refused(
    run: Path, tiny_model: Path, tiny_corpus: Path, tmp_path: Path
) -> None:
    exported("peft", run, tmp_path / "start")
    config = sft_config(
        tiny_model,
        tiny_corpus,
        adapter={"rank": 4, "alpha": 8, "start": tmp_path / "start"},
        optimiser={"learning_rate": 1e-30},
        run={"steps": 1},
    )
    assert in_folder(sft.train, config, tmp_path / "run", io.StringIO()) == 0
    assert adapter_hash(tmp_path / "run") == tensor_hash(read_adapter(tmp_path / "start")[0])
    with pytest.raises(CheckpointError, match="equals the beginning in every bit"):
        export("peft", tmp_path / "run", tmp_path / "out", None, io.StringIO())


def test_what_cannot_be_exported_is_said(run: Path, tiny_model: Path, tmp_path: Path) -> None:
    with pytest.raises(CheckpointError, match=r"neither adapter_config\.json nor checkpoints"):
        export("peft", tmp_path, tmp_path / "out", None, io.StringIO())
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "file").touch()
    with pytest.raises(CheckpointError, match="is not empty"):
        export("peft", run, tmp_path / "full", None, io.StringIO())
    adapter = run / "checkpoints" / "step-000008" / "adapter"
    with pytest.raises(CheckpointError, match="give --base"):
        export("merged", adapter, tmp_path / "merged", None, io.StringIO())
    with pytest.raises(CheckpointError, match="has no safetensors"):
        export("merged", adapter, tmp_path / "merged", tmp_path, io.StringIO())
