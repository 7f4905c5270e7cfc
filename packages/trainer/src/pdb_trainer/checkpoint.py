"""Checkpoints: a folder per step that is there whole or not at all.

``<folder>/step-000012/`` has ``adapter/`` in PEFT's layout, ``learner.pt`` (optimiser, random state) and
``state.json`` (counters, and a SHA-256 of every other file). A checkpoint is written beside, waits for the
disk, and takes its name in one rename; the older ones go only afterwards, all but one.
"""

import hashlib
import json
import os
import shutil
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import safetensors.torch
import torch
from safetensors import SafetensorError

from pdb_trainer.errors import CheckpointError
from pdb_trainer.whole_files import sync_folder, write_durably

KEPT = 2
ADAPTER = Path("adapter") / "adapter_model.safetensors"
ADAPTER_CONFIG = Path("adapter") / "adapter_config.json"
LEARNER = Path("learner.pt")
STATE = Path("state.json")
_BLOCK = 1 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Checkpoint:
    """All that a run needs to go on as if nothing had been."""

    step: int
    """Updates that are in it."""
    adapter: Mapping[str, torch.Tensor]
    """By PEFT's names."""
    adapter_config: Mapping[str, Any]
    """As PEFT reads it."""
    learner: Mapping[str, Any]
    """Optimiser and random state: tensors, numbers, text and containers of these."""
    counters: Mapping[str, Any]
    """JSON values: position in the data, controllers, counts."""
    damaged: tuple[str, ...] = ()
    """Newer checkpoints that were found damaged and passed over."""


def save(folder: Path, checkpoint: Checkpoint) -> Path:
    """Write a checkpoint, keep the one before it, remove older ones.

    Raises CheckpointError when it cannot be written, a full disk for instance; those there are intact.
    """
    place = folder / f"step-{checkpoint.step:06d}"
    draft = folder / f".{place.name}.{os.getpid()}"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        _sweep(folder)
        _write(draft, checkpoint)
        if place.exists():
            place.rename(folder / f".old-{place.name}")
        draft.rename(place)
        sync_folder(folder)
    except OSError as error:
        shutil.rmtree(draft, ignore_errors=True)
        before = next((path.name for path in _newest_first(folder)), None)
        intact = f"{before} is intact" if before else "there is none before it"
        raise CheckpointError(
            f"The checkpoint of step {checkpoint.step} cannot be written in {folder} ({error.strerror}): "
            f"{intact}. Make room and run the same command again."
        ) from error
    for old in list(_newest_first(folder))[KEPT:]:
        old.rename(folder / f".old-{old.name}")
    _sweep(folder)
    return place


def latest(folder: Path) -> Checkpoint | None:
    """The newest whole checkpoint; None where there is none at all.

    Raises CheckpointError when there are some and none of them can be read.
    """
    damaged: list[str] = []
    reason = ""
    for place in _newest_first(folder):
        try:
            return _read(place, tuple(damaged))
        except (OSError, ValueError, KeyError, RuntimeError, SafetensorError) as error:
            damaged.append(place.name)
            reason = str(error)
    if damaged:
        raise CheckpointError(
            f"No checkpoint in {folder} can be read ({damaged[0]}: {reason}): move the folder away to start "
            "from the beginning."
        )
    return None


def newest_step(folder: Path) -> int:
    """Of the newest checkpoint, by its name alone; 0 where there is none."""
    return next((int(place.name.removeprefix("step-")) for place in _newest_first(folder)), 0)


def _write(draft: Path, checkpoint: Checkpoint) -> None:
    (draft / "adapter").mkdir(parents=True)
    tensors = {name: tensor.detach().cpu().contiguous() for name, tensor in checkpoint.adapter.items()}
    write_durably(draft / ADAPTER, safetensors.torch.save(tensors, metadata={"format": "pt"}))
    config = json.dumps(dict(checkpoint.adapter_config), indent=2, sort_keys=True) + "\n"
    write_durably(draft / ADAPTER_CONFIG, config.encode())
    _write_learner(draft / LEARNER, checkpoint.learner)
    hashes = {str(path): _hash(draft / path) for path in (ADAPTER, ADAPTER_CONFIG, LEARNER)}
    state = {
        "format": 1,
        "step": checkpoint.step,
        "counters": dict(checkpoint.counters),
        "files": hashes,
    }
    write_durably(draft / STATE, (json.dumps(state, indent=2, sort_keys=True) + "\n").encode())
    sync_folder(draft / "adapter")
    sync_folder(draft)


def _write_learner(path: Path, learner: Mapping[str, Any]) -> None:
    """Raises OSError; torch hides a failed write in a RuntimeError of its own."""
    with path.open("wb") as file:
        try:
            torch.save(dict(learner), file)
            file.flush()
        except RuntimeError as error:
            cause = error.__context__
            raise cause if isinstance(cause, OSError) else OSError(0, str(error)) from error
        os.fsync(file.fileno())


def _read(place: Path, damaged: tuple[str, ...]) -> Checkpoint:
    state = json.loads((place / STATE).read_text(encoding="utf-8"))
    for name, digest in state["files"].items():
        if _hash(place / name) != digest:
            raise ValueError(f"{place / name} is not what was written")
    return Checkpoint(
        step=state["step"],
        adapter=safetensors.torch.load_file(place / ADAPTER),
        adapter_config=json.loads((place / ADAPTER_CONFIG).read_text(encoding="utf-8")),
        learner=torch.load(place / LEARNER, map_location="cpu", weights_only=True),
        counters=state["counters"],
        damaged=damaged,
    )


def _newest_first(folder: Path) -> Iterator[Path]:
    yield from sorted((path for path in folder.glob("step-*") if path.is_dir()), reverse=True)


def _sweep(folder: Path) -> None:
    """Remove what a killed run left half written or half removed."""
    for left in folder.glob(".*step-*"):
        shutil.rmtree(left, ignore_errors=True)


def _hash(path: Path) -> str:
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while block := file.read(_BLOCK):
            digest.update(block)
    return digest.hexdigest()
