"""Rollouts on disk: a line per episode for people, its token arrays beside it for the learner.

``rollouts.jsonl`` has one JSON object per episode; ``tokens/`` one ``.npz`` per line, named in it. The arrays
are there, whole and on the disk, before their line is; a line that a killed writer left half is not read, and
is cut off before the next is written.
"""

import hashlib
import io
import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, Self
from zipfile import BadZipFile

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from pdb_trainer.errors import RolloutError
from pdb_trainer.rollout import Rollout, Turn
from pdb_trainer.whole_files import sync_folder, write_whole

FORMAT = 1
LINES = "rollouts.jsonl"
TOKENS = "tokens"
_HALF = re.compile("[\ud800-\udfff]")
_ODD = re.compile(r"[^A-Za-z0-9._-]+")
_PIECES = ("appended_ids", "sampled_ids", "logprobs")
_DTYPES: Mapping[str, type[np.uint32 | np.float32]] = {
    "appended_ids": np.uint32,
    "sampled_ids": np.uint32,
    "logprobs": np.float32,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class BadLine:
    """A line that cannot be read."""

    line: int
    """From 1."""
    reason: str


class RolloutStore:
    """The rollouts of one folder, in the order in which they were appended. One writer at a time."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._lines = folder / LINES

    @property
    def folder(self) -> Path:
        """Where they are."""
        return self._folder

    def append(self, rollout: Rollout) -> None:
        """Write one; it is on the disk on return. Raises RolloutError; then those before are intact."""
        arrays = _packed(rollout.turns)
        name = f"{_ODD.sub('-', rollout.episode)[:80]}-{hashlib.sha256(arrays).hexdigest()[:12]}.npz"
        line = _Line.of(rollout, name).model_dump_json().encode() + b"\n"
        try:
            (self._folder / TOKENS).mkdir(parents=True, exist_ok=True)
            write_whole(self._folder / TOKENS / name, arrays)
            self._write_line(line)
        except OSError as error:
            raise RolloutError(
                f"Episode {rollout.episode} cannot be written to {self._folder} ({error.strerror or error}): "
                "make room or rights there, and continue the run."
            ) from error

    def read(self, *, skip_bad: bool = False) -> list[Rollout]:
        """All of them. Raises RolloutError naming the first bad line, unless those are to be skipped."""
        found: list[Rollout] = []
        for entry in self.entries():
            if isinstance(entry, Rollout):
                found.append(entry)
            elif not skip_bad:
                raise RolloutError(
                    f"{self._lines}, line {entry.line}: {entry.reason}. The other lines can be read: delete "
                    "this one, or skip bad lines."
                )
        return found

    def entries(self) -> Iterator[Rollout | BadLine]:
        """All lines in order, one at a time; a last one that was cut off is left out.

        Raises RolloutError when there are no rollouts at all.
        """
        try:
            with self._lines.open("rb") as lines:
                for number, line in enumerate(lines, start=1):
                    if line.endswith(b"\n"):
                        yield self._entry(number, line)
        except FileNotFoundError as error:
            raise RolloutError(f"There are no rollouts in {self._folder}: it has no {LINES}.") from error

    def _entry(self, number: int, line: bytes) -> Rollout | BadLine:
        try:
            stored = _Line.model_validate_json(line)
            return stored.as_rollout(_unpacked(self._folder / TOKENS / stored.tokens, len(stored.turns)))
        except ValidationError as error:
            first = error.errors()[0]
            place = ".".join(map(str, first["loc"]))
            return BadLine(line=number, reason=f"{place}: {first['msg']}" if place else first["msg"])
        except RolloutError as error:
            return BadLine(line=number, reason=str(error))

    def _write_line(self, line: bytes) -> None:
        is_new = not self._lines.exists()
        with self._lines.open("ab+", buffering=0) as file:
            whole = _whole_length(file)
            file.truncate(whole)
            view = memoryview(line)
            while view:
                view = view[file.write(view) :]
            os.fsync(file.fileno())
        if is_new:
            sync_folder(self._folder)


def _whole_length(file: io.FileIO) -> int:
    """Length of a file up to its last line end, looked for from behind."""
    end = file.seek(0, os.SEEK_END)
    while end:
        start = max(0, end - 65_536)
        file.seek(start)
        found = file.read(end - start).rfind(b"\n")
        if found >= 0:
            return start + found + 1
        end = start
    return 0


class _Record(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, ser_json_inf_nan="strings")


class _TurnLine(_Record):
    """A turn without its arrays."""

    request_id: str
    version: str
    continues: bool
    prompt_length: int
    prompt_hash: str
    appended: int
    sampled: int
    finish: Literal["stop", "length"]
    parse_error: str | None
    """Half characters, which no file can hold, replaced."""
    calls: int
    seconds: float
    cached_tokens: int


class _Line(_Record):
    """A rollout without its arrays."""

    format: Literal[1] = FORMAT
    run: str
    group: str
    episode: str
    task: str
    task_hash: str
    seed: int
    solved: bool
    reward: float
    """The sum of ``rewards``, for those who read."""
    exit_reason: str
    infra_error: bool
    rewards: dict[str, float]
    tests: dict[str, tuple[int, int]]
    facts: dict[str, float]
    hashes: dict[str, str]
    turns: tuple[_TurnLine, ...]
    tokens: str = Field(pattern=r"^[A-Za-z0-9._-]+$")
    """Name of the file with the arrays."""

    @classmethod
    def of(cls, rollout: Rollout, tokens: str) -> Self:
        return cls(
            run=rollout.run,
            group=rollout.group,
            episode=rollout.episode,
            task=rollout.task,
            task_hash=rollout.task_hash,
            seed=rollout.seed,
            solved=rollout.solved,
            reward=rollout.reward,
            exit_reason=rollout.exit_reason,
            infra_error=rollout.infra_error,
            rewards=dict(rollout.rewards),
            tests=dict(rollout.tests),
            facts=dict(rollout.facts),
            hashes=dict(rollout.hashes),
            turns=tuple(map(_turn_line, rollout.turns)),
            tokens=tokens,
        )

    def as_rollout(self, arrays: Mapping[str, list[NDArray[np.generic]]]) -> Rollout:
        """With the arrays. Raises RolloutError when they are not this line's."""
        turns: list[Turn] = []
        for place, line in enumerate(self.turns):
            pieces = {name: arrays[name][place] for name in _PIECES}
            lengths = [len(pieces[name]) for name in _PIECES]
            if lengths != [line.appended, line.sampled, line.sampled]:
                raise RolloutError(f"{self.tokens} holds other tokens than turn {place + 1} has")
            rest = line.model_dump(exclude={"appended", "sampled"})
            turns.append(Turn(**rest, **pieces))  # pyright: ignore[reportArgumentType]  # checked above
        return Rollout(**self.model_dump(exclude={"format", "reward", "turns", "tokens"}), turns=tuple(turns))


def _turn_line(turn: Turn) -> _TurnLine:
    return _TurnLine(
        request_id=turn.request_id,
        version=turn.version,
        continues=turn.continues,
        prompt_length=turn.prompt_length,
        prompt_hash=turn.prompt_hash,
        appended=len(turn.appended_ids),
        sampled=len(turn.sampled_ids),
        finish=turn.finish,
        parse_error=None if turn.parse_error is None else _HALF.sub("\ufffd", turn.parse_error),
        calls=turn.calls,
        seconds=turn.seconds,
        cached_tokens=turn.cached_tokens,
    )


def _packed(turns: tuple[Turn, ...]) -> bytes:
    """All turns' arrays as one .npz: each kind joined, and where its pieces end."""
    arrays: dict[str, NDArray[np.generic]] = {}
    for name in _PIECES:
        pieces = [np.asarray(getattr(turn, name), dtype=_DTYPES[name]) for turn in turns]
        arrays[name] = np.concatenate([np.zeros(0, dtype=_DTYPES[name]), *pieces])
        arrays[f"{name}_ends"] = np.cumsum([len(piece) for piece in pieces], dtype=np.int64)
    file = io.BytesIO()
    np.savez_compressed(file, allow_pickle=False, **arrays)
    return file.getvalue()


def _unpacked(path: Path, turns: int) -> dict[str, list[NDArray[np.generic]]]:
    """The pieces of each kind. Raises RolloutError."""
    try:
        with np.load(io.BytesIO(path.read_bytes()), allow_pickle=False) as stored:
            found = {name: np.split(stored[name], stored[f"{name}_ends"])[:-1] for name in _PIECES}
            dtypes = {name: stored[name].dtype for name in _PIECES}
    except (OSError, KeyError, ValueError, BadZipFile, EOFError) as error:
        raise RolloutError(f"its tokens in {TOKENS}/{path.name} cannot be read ({error})") from error
    if any(len(found[name]) != turns or dtypes[name] != _DTYPES[name] for name in _PIECES):
        raise RolloutError(f"{TOKENS}/{path.name} does not hold the tokens of {turns} turns")
    return found
