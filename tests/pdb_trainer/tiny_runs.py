"""Runs of a tiny random model: its folder, a corpus for it, and settings that take a CPU seconds."""

import hashlib
import resource
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
from pdb_trainer.adapter_files import read_adapter, tensor_hash
from pdb_trainer.config import GrpoConfig, SftConfig
from pdb_trainer.corpus.commands import tokenizer_hashes
from pdb_trainer.corpus.example import Example, Part, Provenance
from pdb_trainer.corpus.leakage import SourceTask
from pdb_trainer.corpus.writing import Contents, write_corpus
from pdb_trainer.tiny_model import TinyModel, make_tiny_model
from tokenizers import Tokenizer

SMALL = TinyModel(hidden=16, layers=1, heads=2, vocabulary=320)
_PROVENANCE = Provenance(
    policy="oracle/solution",
    generation=0,
    adapter_hash=None,
    run="made",
    arm="edit-menu",
    toolset="edit-menu",
    number=0,
    turns=1,
    episode_hash="",
)
_TASK = SourceTask(id="made", content_hash="1", group="made", split="train", sources={"a.py": "a = 1\n"})


def make_model(folder: Path) -> Path:
    make_tiny_model(folder, SMALL)
    return folder


def make_corpus(folder: Path, model: Path, *, train: int = 10, held_out: int = 2) -> Path:
    """Examples that all say nearly the same, so that a model learns it soon."""
    examples = [
        _example(model, number, "train" if number < train else "held_out")
        for number in range(train + held_out)
    ]
    write_corpus(
        folder,
        Contents(
            examples=examples,
            conversations=[[{"role": "user", "content": "say it"}] for _ in examples],
            tasks={_TASK.id: _TASK},
            rejected=[],
            manifest={"hashes": tokenizer_hashes(model)},
        ),
    )
    return folder


def _example(model: Path, number: int, part: Part) -> Example:
    tokenizer = Tokenizer.from_file(str(model / "tokenizer.json"))
    ids = tokenizer.encode("say it " * (1 + number % 4) + f"{number} now, and no more").ids
    return Example(
        id=f"made/full/{number}",
        task="made",
        group="made",
        kind="full" if number % 3 else "microskill:read_before_edit",
        part=part,
        token_ids=np.array(ids, np.uint32),
        trained=np.arange(len(ids)) % 4 != 0,
        provenance=_PROVENANCE,
    )


def sft_config(model_folder: Path, corpus_folder: Path, **changes: object) -> SftConfig:
    """Eight steps of three examples."""
    return SftConfig.model_validate(
        {
            "model": {"path": model_folder, "dtype": "float32"},
            "adapter": {"rank": 4, "alpha": 8},
            "corpus": {"path": corpus_folder},
            "batch": {"microbatch_tokens": 64, "checkpointing": False},
            "examples_per_step": 3,
            "measure_every": 4,
            "optimiser": {"learning_rate": 1e-2},
            "run": {"steps": 8, "checkpoint_every": 2},
        }
        | changes
    )


def grpo_config(model_folder: Path, **changes: object) -> GrpoConfig:
    """Two groups of three in a step; cut replies differ in reward from those that end."""
    return GrpoConfig.model_validate(
        {
            "model": {"path": model_folder, "dtype": "float32"},
            "adapter": {"rank": 4, "alpha": 8},
            "tasks": {"gym": {"count": 5}},
            "toolset": {"name": "edit-menu"},
            "limits": {"turns": 2, "context_tokens": 4000, "format_errors": 1},
            "sampler": {"max_output_tokens": 128, "context_tokens": 4096, "concurrency": 6},
            "algorithm": {"groups": 2, "group_size": 3, "least_group": 2},
            "batch": {"microbatch_tokens": 4096, "checkpointing": False},
            "optimiser": {"learning_rate": 1e-2, "warmup_steps": 0},
            "run": {"steps": 4},
        }
        | changes
    )


def adapter_hash(folder: Path) -> str:
    """Of a run's newest checkpoint."""
    newest = max((folder / "checkpoints").glob("step-*"))
    return tensor_hash(read_adapter(newest / "adapter")[0])


def all_bytes(folder: Path) -> str:
    """One hash of everything in a folder."""
    digest = hashlib.sha256()
    for path in sorted(folder.rglob("*")):
        if path.is_file():
            digest.update(f"{path.relative_to(folder)}\0".encode() + path.read_bytes())
    return digest.hexdigest()


@contextmanager
def files_no_longer_than(size: int) -> Generator[None]:
    """What a full disk does to a file that grows beyond ``size`` bytes."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
