"""A run's adapter, for others: PEFT's layout, one that vLLM scales by 1, or merged into the base.

Nothing is exported that is not a change: an adapter that leaves the base as it is, or that equals the one
its run began with or a sibling checkpoint, is refused or named, by hash.
"""

import json
import shutil
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TextIO

from safetensors.torch import load_file, save_file
from torch import Tensor

from pdb_trainer.adapter_files import CONFIG, folded, merged, read_adapter, tensor_hash, write_adapter
from pdb_trainer.config_reading import RUN_FILE
from pdb_trainer.errors import CheckpointError
from pdb_trainer.lora import PREFIX, LoraSettings
from pdb_trainer.run_files import CHECKPOINTS


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """An adapter to export."""

    folder: Path
    tensors: Mapping[str, Tensor]
    lora: LoraSettings
    base: Path | None
    siblings: Mapping[str, str]
    """Hashes of the run's other adapters, by name: its beginning and the checkpoint before."""


def export(kind: str, adapter: Path, out: Path, base: Path | None, stream: TextIO) -> int:
    """Write ``adapter`` as ``kind`` (peft, vllm, merged) into the new folder ``out``; the exit status.

    Raises CheckpointError for what cannot be exported, and for an adapter that changes nothing.
    """
    source = find(adapter, base)
    digest = check(source)
    if out.exists() and any(out.iterdir()):
        raise CheckpointError(f"{out} is not empty: give a new folder.")
    try:
        _WRITERS[kind](source, out)
    except OSError as error:
        raise CheckpointError(f"{out} cannot be written ({error.strerror}): give another folder.") from error
    stream.write(f"{out}: {kind}, adapter {digest[:12]} of rank {source.lora.rank} from {source.folder}\n")
    stream.writelines(f"differs from {name} ({other[:12]})\n" for name, other in source.siblings.items())
    return 0


def find(adapter: Path, base: Path | None) -> Source:
    """An adapter's folder, or the newest checkpoint of a run's. Raises CheckpointError."""
    if (adapter / CONFIG).exists():
        tensors, lora = read_adapter(adapter)
        return Source(folder=adapter, tensors=tensors, lora=lora, base=base, siblings={})
    places = sorted((adapter / CHECKPOINTS).glob("step-*"), reverse=True)
    if not places:
        raise CheckpointError(
            f"{adapter} has neither {CONFIG} nor checkpoints: give a run's or an adapter's folder."
        )
    tensors, lora = read_adapter(places[0] / "adapter")
    siblings = {place.name: tensor_hash(read_adapter(place / "adapter")[0]) for place in places[1:]}
    model, start = _run_settings(adapter)
    if start is not None and (start / CONFIG).exists():
        siblings["the beginning"] = tensor_hash(read_adapter(start)[0])
    return Source(folder=places[0], tensors=tensors, lora=lora, base=base or model, siblings=siblings)


def check(source: Source) -> str:
    """The adapter's hash. Raises CheckpointError where it changes nothing, or equals a sibling."""
    ups = [tensor for name, tensor in source.tensors.items() if ".lora_B." in name]
    if not any(bool(tensor.any()) for tensor in ups):
        raise CheckpointError(
            f"The adapter in {source.folder} changes nothing (every B is zero), so what is exported would be "
            "the base: train it first."
        )
    digest = tensor_hash(source.tensors)
    same = [name for name, other in source.siblings.items() if other == digest]
    if same:
        raise CheckpointError(
            f"The adapter in {source.folder} equals {same[0]} in every bit: no update reached it. Look for "
            "skipped updates in the run's metrics.jsonl."
        )
    return digest


def _write_peft(source: Source, out: Path) -> None:
    write_adapter(out, source.tensors, source.lora, base=str(source.base or ""))


def _write_vllm(source: Source, out: Path) -> None:
    tensors, lora = folded(source.tensors, source.lora)
    write_adapter(out, tensors, lora, base=str(source.base or ""))


def _write_merged(source: Source, out: Path) -> None:
    """The base's folder again, shard by shard, with the adapter added; all of it has to find its place."""
    if source.base is None:
        raise CheckpointError("Merging needs the base model's folder: give --base.")
    shards = sorted(source.base.glob("*.safetensors"))
    if not shards:
        raise CheckpointError(f"{source.base} has no safetensors files: give the base model's folder.")
    out.mkdir(parents=True, exist_ok=True)
    missing = set(_modules(source.tensors))
    changed = 0
    for shard in shards:
        before = load_file(shard)
        after = merged(before, source.tensors, source.lora)
        missing -= {name.removesuffix(".weight") for name in after}
        changed += sum(
            after[name] is not before[name] and not after[name].equal(before[name]) for name in before
        )
        save_file(after, out / shard.name, metadata={"format": "pt"})
    if missing:
        raise CheckpointError(
            f"The base in {source.base} has no {min(missing)}: it is not the adapter's base."
        )
    if not changed:
        raise CheckpointError(
            f"Merged in the base's precision the adapter of {source.folder} is lost to rounding: export it "
            "as peft."
        )
    for path in source.base.iterdir():
        if path.is_file() and (path.suffix != ".safetensors") and not path.name.startswith("."):
            shutil.copyfile(path, out / path.name)


def _modules(tensors: Mapping[str, Tensor]) -> Iterator[str]:
    for name in tensors:
        yield name.removeprefix(PREFIX).rpartition(".lora_")[0]


def _run_settings(run: Path) -> tuple[Path | None, Path | None]:
    """The base and the adapter that a run began with."""
    try:
        config = json.loads((run / RUN_FILE).read_text(encoding="utf-8"))["config"]
        start = config["adapter"]["start"]
        return Path(config["model"]["path"]), Path(start) if start else None
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise CheckpointError(
            f"{run / RUN_FILE} cannot be read ({error}): give the adapter's own folder."
        ) from error


_WRITERS: Mapping[str, Callable[[Source, Path], None]] = {
    "peft": _write_peft,
    "vllm": _write_vllm,
    "merged": _write_merged,
}
