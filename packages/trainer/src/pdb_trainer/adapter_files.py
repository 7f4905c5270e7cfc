"""Adapters as files in peft's layout, folded for serving, merged into a base, told apart by hash."""

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load, save
from torch import Tensor

from pdb_trainer.errors import CheckpointError, LearnerError
from pdb_trainer.lora import PREFIX, LoraSettings
from pdb_trainer.whole_files import write_whole

WEIGHTS = "adapter_model.safetensors"
CONFIG = "adapter_config.json"


def write_adapter(
    folder: Path,
    tensors: Mapping[str, Tensor],
    settings: LoraSettings,
    *,
    base: str = "",
    dtype: torch.dtype | None = None,
) -> None:
    """Write both files, the configuration last: a folder that has it is whole. Raises OSError.

    ``dtype`` is what the matrices are stored in; None keeps theirs.
    """
    folder.mkdir(parents=True, exist_ok=True)
    stored = {
        name: (value if dtype is None else value.to(dtype)).contiguous() for name, value in tensors.items()
    }
    write_whole(folder / WEIGHTS, save(stored, metadata={"format": "pt"}))
    text = json.dumps(peft_config(tensors, settings, base=base), indent=2, sort_keys=True) + "\n"
    write_whole(folder / CONFIG, text.encode())


def peft_config(tensors: Mapping[str, Tensor], settings: LoraSettings, *, base: str = "") -> dict[str, Any]:
    """What adapter_config.json says."""
    modules = {_module(name) for name in tensors}
    return {
        "peft_type": "LORA",
        "task_type": "CAUSAL_LM",
        "base_model_name_or_path": base or None,
        "r": settings.rank,
        "lora_alpha": settings.alpha,
        "lora_dropout": 0.0,
        "bias": "none",
        "fan_in_fan_out": False,
        "inference_mode": True,
        "init_lora_weights": True,
        "modules_to_save": None,
        "use_dora": False,
        "use_rslora": False,
        "target_modules": sorted({module.rpartition(".")[2] for module in modules}),
    }


def read_adapter(folder: Path) -> tuple[dict[str, Tensor], LoraSettings]:
    """An adapter that this or peft wrote, on the CPU. Raises CheckpointError."""
    try:
        config = json.loads((folder / CONFIG).read_text(encoding="utf-8"))
        tensors = load((folder / WEIGHTS).read_bytes())
        settings = LoraSettings(rank=int(config["r"]), alpha=float(config["lora_alpha"]))
    except (OSError, ValueError, KeyError, TypeError, SafetensorError) as error:
        raise CheckpointError(
            f"{folder} holds no whole adapter ({error}): it needs {CONFIG} and {WEIGHTS}, as of peft."
        ) from error
    unsupported = [name for name in ("use_dora", "use_rslora") if config.get(name)]
    if unsupported or config.get("bias", "none") != "none" or config.get("modules_to_save"):
        raise CheckpointError(
            f"The adapter in {folder} is more than plain LoRA (rslora, dora, biases or saved modules): "
            "export it as plain LoRA first."
        )
    return tensors, settings


def folded(tensors: Mapping[str, Tensor], settings: LoraSettings) -> tuple[dict[str, Tensor], LoraSettings]:
    """The same adapter with its scale inside B, so that alpha equals the rank.

    A server may multiply B by alpha / rank in place, once or again after a reload; by one it is the same.
    """
    scaled = {
        name: value * settings.scale if ".lora_B." in name else value for name, value in tensors.items()
    }
    return scaled, LoraSettings(rank=settings.rank, alpha=float(settings.rank), seed=settings.seed)


def merged(
    weights: Mapping[str, Tensor], tensors: Mapping[str, Tensor], settings: LoraSettings
) -> dict[str, Tensor]:
    """A base's weights, by their names in its files, with the adapter added: W + scale · BA.

    The sum is made in the adapter's precision and stored in W's. ``weights`` may be one shard of several;
    what the adapter does not touch is passed on. Raises LearnerError where a shape does not fit.
    """
    result = dict(weights)
    for module in sorted({_module(name) for name in tensors}):
        name = f"{module}.weight"
        if name not in result:
            continue
        a, b = tensors[f"{PREFIX}{module}.lora_A.weight"], tensors[f"{PREFIX}{module}.lora_B.weight"]
        weight = result[name]
        if weight.shape != (b.shape[0], a.shape[1]):
            raise LearnerError(f"{name} is {tuple(weight.shape)}, which the adapter does not fit.")
        master = torch.promote_types(a.dtype, torch.float32)
        change = settings.scale * (b.to(master) @ a.to(master))
        result[name] = (weight.to(master) + change).to(weight.dtype)
    return result


def tensor_hash(tensors: Mapping[str, Tensor]) -> str:
    """SHA-256 over names, types, shapes and bytes, hexadecimal: equal exactly where the tensors are."""
    digest = hashlib.sha256()
    for name in sorted(tensors):
        value = tensors[name].detach().cpu().contiguous()
        digest.update(f"{name} {value.dtype} {tuple(value.shape)}\n".encode())
        digest.update(value.reshape(-1).view(torch.uint8).numpy().tobytes())
    return digest.hexdigest()


def _module(name: str) -> str:
    return name.removeprefix(PREFIX).rpartition(".lora_")[0]
