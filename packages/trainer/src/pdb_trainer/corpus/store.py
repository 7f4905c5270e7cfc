"""A corpus on disk, read: one line per example for people, its tokens beside it, and what it was made of.

``examples.jsonl`` and ``tokens.npz`` belong together: a line names its place in the arrays and their hash, so
one that is damaged is found, told by its number, and leaves all others readable. ``tasks.json`` keeps the
sources of all tasks, so that reading can refuse what has become forbidden since; ``rejected.jsonl`` says of
every episode that gave no whole example why; ``manifest.json`` holds hashes and counts.
"""

import io
import json
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, TypeAdapter, ValidationError

from pdb_trainer.corpus.deduplication import token_key
from pdb_trainer.corpus.example import Example, Part, Provenance
from pdb_trainer.corpus.leakage import LeakageGuard, SourceTask, open_guard
from pdb_trainer.errors import CorpusError

MANIFEST = "manifest.json"
EXAMPLES = "examples.jsonl"
TOKENS = "tokens.npz"
TASKS = "tasks.json"
REJECTED = "rejected.jsonl"
FORMAT = 1
_TASKS = TypeAdapter(dict[str, SourceTask])


@dataclass(frozen=True, slots=True, kw_only=True)
class BadLine:
    """A line that is no example."""

    number: int
    """From 1."""
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Corpus:
    """A corpus as it was read."""

    manifest: Mapping[str, Any]
    examples: tuple[Example, ...]
    bad_lines: tuple[BadLine, ...]


class Line(BaseModel):
    """One line of the examples."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    index: int
    """Place in the arrays."""
    id: str
    task: str
    group: str
    kind: str
    part: Part
    tokens: int
    trained_tokens: int
    sha256: str
    provenance: Provenance
    messages: list[dict[str, Any]]


def read_examples(
    folder: Path, *, part: Part | None = None, guard: LeakageGuard | None = None
) -> list[Example]:
    """The examples of a corpus, or of one part of it.

    Raises CorpusError for a file that is missing or damaged, naming the lines that are (``read_corpus``
    gives the rest of it), and LeakageError, naming the task, when one of them must not be learnt from by
    now; ``guard`` None is that of the tasks folder and the gym.
    """
    corpus = read_corpus(folder, guard=guard)
    if corpus.bad_lines:
        first = corpus.bad_lines[0]
        more = f" (and {len(corpus.bad_lines) - 1} more)" if len(corpus.bad_lines) > 1 else ""
        raise CorpusError(
            f"{folder / EXAMPLES}, line {first.number}{more}: {first.why}. Delete the line, or build again."
        )
    return [example for example in corpus.examples if part in (None, example.part)]


def read_corpus(folder: Path, *, guard: LeakageGuard | None = None) -> Corpus:
    """A corpus with the lines of it that are damaged. Raises CorpusError, LeakageError."""
    manifest = read_manifest(folder)
    tasks = _read_tasks(folder)
    guard = guard or open_guard()
    for task in tasks.values():
        guard.check(task)
    arrays = _Arrays(folder)
    examples: list[Example] = []
    bad_lines: list[BadLine] = []
    seen: set[int] = set()
    for number, text in enumerate(_read(folder / EXAMPLES).split(b"\n"), start=1):
        if not text:
            continue
        try:
            line = Line.model_validate_json(text)
            example = arrays.example(line)
            _refuse_strays(line, tasks, seen)
        except ValidationError as error:
            bad_lines.append(BadLine(number=number, why=f"it is no example ({error.errors()[0]['msg']})"))
        except CorpusError as error:
            bad_lines.append(BadLine(number=number, why=str(error)))
        else:
            seen.add(line.index)
            examples.append(example)
    return Corpus(manifest=manifest, examples=tuple(examples), bad_lines=tuple(bad_lines))


def read_manifest(folder: Path) -> Mapping[str, Any]:
    """Hashes and counts. Raises CorpusError."""
    if not (folder / MANIFEST).exists():
        raise CorpusError(f"{folder} is no corpus: build one with pdb-trainer corpus build.")
    try:
        manifest = json.loads(_read(folder / MANIFEST))
    except ValueError as error:
        raise CorpusError(f"{folder / MANIFEST} is damaged ({error}): build the corpus again.") from error
    if manifest.get("format") != FORMAT:
        raise CorpusError(f"{folder} has format {manifest.get('format')}, and this reads {FORMAT}.")
    return cast("Mapping[str, Any]", manifest)


def read_conversation(folder: Path, number: int) -> tuple[Mapping[str, Any], Sequence[Mapping[str, Any]]]:
    """What line ``number``, from 1, says of its example, and its messages. Raises CorpusError."""
    lines = _read(folder / EXAMPLES).split(b"\n")
    if not 1 <= number < len(lines):
        raise CorpusError(f"{folder} has {len(lines) - 1} examples: give a number from 1 to that.")
    try:
        line = Line.model_validate_json(lines[number - 1])
    except ValidationError as error:
        raise CorpusError(
            f"{folder / EXAMPLES}, line {number}, is no example ({error.errors()[0]['msg']}): build again."
        ) from error
    return line.model_dump(exclude={"messages"}), line.messages


def read_rejected(folder: Path) -> list[Mapping[str, Any]]:
    """Which episodes gave no whole example, and why. Raises CorpusError."""
    return [json.loads(line) for line in _read(folder / REJECTED).split(b"\n") if line]


def refuse_other_hashes(manifest: Mapping[str, Any], hashes: Mapping[str, str]) -> None:
    """Raise CorpusError when a corpus was tokenised by other things than ``hashes`` names."""
    there = manifest.get("hashes", {})
    for name, value in hashes.items():
        if name in there and there[name] != value:
            raise CorpusError(
                f"The corpus was tokenised with another {name} ({there[name][:12]}; this is {value[:12]}): "
                "build it again with this model's."
            )


class _Arrays:
    """The tokens of all examples, one after the other."""

    def __init__(self, folder: Path) -> None:
        path = folder / TOKENS
        try:
            with np.load(io.BytesIO(_read(path)), allow_pickle=False) as arrays:
                self._token_ids: NDArray[np.uint32] = arrays["token_ids"]
                self._trained: NDArray[np.bool_] = arrays["trained"]
                self._offsets: NDArray[np.int64] = arrays["offsets"]
        except (ValueError, KeyError, EOFError, zipfile.BadZipFile) as error:
            raise CorpusError(f"{path} is damaged ({error}): build the corpus again.") from error

    def example(self, line: Line) -> Example:
        """The example of a line. Raises CorpusError when the arrays are not its own."""
        if not 0 <= line.index < len(self._offsets) - 1:
            raise CorpusError(f"the arrays have no place {line.index}")
        begin, end = self._offsets[line.index : line.index + 2]
        token_ids, trained = self._token_ids[begin:end], self._trained[begin:end]
        if token_key(token_ids, trained) != line.sha256:
            raise CorpusError("its tokens are not those that it was written with")
        return Example(
            id=line.id,
            task=line.task,
            group=line.group,
            kind=line.kind,
            part=line.part,
            token_ids=token_ids,
            trained=trained,
            provenance=line.provenance,
        )


def _refuse_strays(line: Line, tasks: Mapping[str, SourceTask], seen: set[int]) -> None:
    if line.task not in tasks:
        raise CorpusError(f"its task {line.task} is not in {TASKS}")
    if line.index in seen:
        raise CorpusError(f"place {line.index} of the arrays is another line's")


def _read_tasks(folder: Path) -> Mapping[str, SourceTask]:
    try:
        return _TASKS.validate_json(_read(folder / TASKS))
    except ValidationError as error:
        raise CorpusError(f"{folder / TASKS} is damaged: build the corpus again.") from error


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise CorpusError(f"{path} cannot be read ({error.strerror}): build the corpus again.") from error
