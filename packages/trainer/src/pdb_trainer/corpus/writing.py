"""Writes a corpus whole or not at all; nothing in it depends on the time or place of its build.

Equal sources and settings give equal bytes.
"""

import hashlib
import io
import json
import os
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from pdb_trainer.corpus.deduplication import token_key
from pdb_trainer.corpus.example import Example
from pdb_trainer.corpus.leakage import SourceTask
from pdb_trainer.corpus.store import EXAMPLES, FORMAT, MANIFEST, REJECTED, TASKS, TOKENS, Line
from pdb_trainer.errors import CorpusError
from pdb_trainer.whole_files import sync_folder, write_durably


@dataclass(frozen=True, slots=True, kw_only=True)
class Contents:
    """All that is written of a corpus."""

    examples: Sequence[Example]
    conversations: Sequence[Sequence[Mapping[str, Any]]]
    """To read, one for each example."""
    tasks: Mapping[str, SourceTask]
    rejected: Sequence[Mapping[str, Any]]
    manifest: Mapping[str, Any]


def write_corpus(folder: Path, contents: Contents) -> None:
    """Write a corpus, whole or not at all; one that is there is replaced. Raises CorpusError."""
    refuse_other_folder(folder)
    draft = folder.with_name(f".{folder.name}.{os.getpid()}")
    try:
        draft.mkdir(parents=True)
        for name, content in _files(contents).items():
            write_durably(draft / name, content)
        sync_folder(draft)
        _put_in_place(draft, folder)
    except OSError as error:
        raise CorpusError(
            f"{folder} cannot be written ({error.strerror}): make room, or give another folder."
        ) from error
    finally:
        shutil.rmtree(draft, ignore_errors=True)


def refuse_other_folder(folder: Path) -> None:
    """Raise CorpusError for a folder that holds anything but a corpus."""
    if folder.exists() and not (folder / MANIFEST).exists() and any(folder.iterdir()):
        raise CorpusError(f"{folder} holds something that is no corpus: give another folder.")


def _files(contents: Contents) -> dict[str, bytes]:
    lines = [
        _line(index, example, messages).model_dump_json().encode()
        for index, (example, messages) in enumerate(
            zip(contents.examples, contents.conversations, strict=True)
        )
    ]
    files = {
        EXAMPLES: b"".join(line + b"\n" for line in lines),
        TOKENS: _packed(contents.examples),
        TASKS: _json({name: asdict(task) for name, task in sorted(contents.tasks.items())}, indent=1),
        REJECTED: b"".join(_json(one) + b"\n" for one in contents.rejected),
    }
    sums = {name: hashlib.sha256(content).hexdigest() for name, content in files.items()}
    manifest = {"format": FORMAT, **contents.manifest, "files": sums}
    return files | {MANIFEST: _json(manifest, indent=2)}


def _line(index: int, example: Example, messages: Sequence[Mapping[str, Any]]) -> Line:
    return Line(
        index=index,
        id=example.id,
        task=example.task,
        group=example.group,
        kind=example.kind,
        part=example.part,
        tokens=len(example.token_ids),
        trained_tokens=example.trained_tokens,
        sha256=token_key(example.token_ids, example.trained),
        provenance=example.provenance,
        messages=[dict(message) for message in messages],
    )


def _packed(examples: Sequence[Example]) -> bytes:
    lengths = [len(example.token_ids) for example in examples]
    buffer = io.BytesIO()
    np.savez_compressed(  # its entries bear a fixed date
        buffer,
        token_ids=np.concatenate([np.empty(0, np.uint32), *(one.token_ids for one in examples)]),
        trained=np.concatenate([np.empty(0, np.bool_), *(one.trained for one in examples)]),
        offsets=np.cumsum([0, *lengths], dtype=np.int64),
    )
    return buffer.getvalue()


def _json(value: object, indent: int | None = None) -> bytes:
    return json.dumps(value, indent=indent, sort_keys=True).encode()  # ASCII: no odd line ends


def _put_in_place(draft: Path, folder: Path) -> None:
    if folder.exists():
        old = folder.with_name(f".{folder.name}.{os.getpid()}.old")
        folder.rename(old)
        draft.rename(folder)
        shutil.rmtree(old)
    else:
        draft.rename(folder)
    sync_folder(folder.parent)
