"""A run on disk: its manifest, one file per episode, and a lock. Nothing that counts is ever rewritten.

``<run>/manifest.json``, ``<run>/tasks.json``, ``<run>/episodes/<arm>/<task>/<number>.jsonl``. An episode that
was cut off, or ended by infrastructure, is kept beside as ``<number>.attempt-<k>.jsonl`` and run again.
"""

import fcntl
import json
import os
from collections.abc import Generator, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pdb_agent.episode import Episode, EpisodeFileError, read_episode
from pdb_agent.errors import AgentError

MANIFEST = "manifest.json"
TASKS = "tasks.json"
DECISIVE = ("config", "task_set", "prompt", "tools", "grading_tiers")
"""What a run that is continued must have in common with its beginning."""


class RunFolderError(AgentError):
    """A folder that cannot be this run's; the message says which to give."""


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class Slot:
    """One episode of a run."""

    task: str
    number: int
    arm: str


class RunFolder:
    """The folder of one run."""

    def __init__(self, path: Path) -> None:
        self.path = path

    @contextmanager
    def locked(self) -> Generator[None]:
        """Keep other runs out of the folder. Raises RunFolderError when one is in it."""
        try:
            self.path.mkdir(parents=True, exist_ok=True)
            lock = (self.path / "lock").open("a")
        except OSError as error:
            raise RunFolderError(
                f"{self.path} cannot be a run's folder ({error.strerror}): give another one."
            ) from error
        with lock as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise RunFolderError(
                    f"Another run is at work in {self.path}: wait for it, or give another folder."
                ) from None
            yield

    def claim(self, manifest: Mapping[str, Any], tasks: Mapping[str, Any]) -> bool:
        """Write the manifest, or see that it is this run's already (then True). Raises RunFolderError."""
        path = self.path / MANIFEST
        if path.exists():
            there = self._manifest()
            differing = [key for key in DECISIVE if there.get(key) != manifest.get(key)]
            if differing:
                raise RunFolderError(
                    f"{self.path} holds a run with another {' and '.join(differing)}: give another folder, "
                    "or the settings that are in its manifest.json."
                )
            return True
        if any((self.path / "episodes").glob("*")):
            raise RunFolderError(f"{self.path} has episodes but no manifest: give an empty folder.")
        try:
            write_whole(self.path / TASKS, tasks)
            write_whole(path, manifest)
        except OSError as error:
            raise RunFolderError(
                f"{path} cannot be written ({error.strerror}): make room, or give another folder."
            ) from error
        return False

    def _manifest(self) -> dict[str, Any]:
        try:
            return json.loads((self.path / MANIFEST).read_text(encoding="utf-8"))
        except ValueError as error:
            raise RunFolderError(
                f"{self.path / MANIFEST} is no manifest ({error}): give an empty folder."
            ) from error

    def file(self, slot: Slot) -> Path:
        """Where an episode is written."""
        return self.path / "episodes" / slot.arm / slot.task / f"{slot.number}.jsonl"

    def prepare(self, slot: Slot) -> Path | None:
        """Where to write an episode now; None when it is there already, with a valid end.

        What was cut off, or ended by infrastructure, is moved aside.
        """
        path = self.file(slot)
        path.parent.mkdir(parents=True, exist_ok=True)
        if not path.exists():
            return path
        episode = read_or_none(path)
        if episode is not None and episode.is_valid:
            return None
        earlier = [one.stem.rpartition("-")[2] for one in path.parent.glob(f"{slot.number}.attempt-*.jsonl")]
        latest = max((int(one) for one in earlier if one.isdecimal()), default=0)
        path.rename(path.with_name(f"{slot.number}.attempt-{latest + 1}.jsonl"))
        return path

    def episodes(self) -> Iterator[tuple[Slot, Episode]]:
        """All episodes that can be read, by arm, task and number; attempts are left out."""
        for path in sorted((self.path / "episodes").glob("*/*/*.jsonl")):
            if path.stem.isdecimal() and (episode := read_or_none(path)) is not None:
                yield Slot(task=path.parent.name, number=int(path.stem), arm=path.parent.parent.name), episode


def read_or_none(path: Path) -> Episode | None:
    """An episode, or None for a file that is none: it was cut off before its first line was whole."""
    try:
        return read_episode(path)
    except EpisodeFileError:
        return None


def write_whole(path: Path, content: Mapping[str, Any]) -> None:
    """Write JSON so that the file is there whole or not at all."""
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    draft.write_text(json.dumps(content, indent=2, sort_keys=True, default=str) + "\n", encoding="utf-8")
    draft.replace(path)
