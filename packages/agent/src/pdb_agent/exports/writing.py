"""Writes what is exported, line by line, so that a run of any size fits."""

import json
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

from pdb_agent.episode import Episode, read_episode


def episodes_of(paths: Iterable[Path]) -> Iterator[Episode]:
    """The episodes of files that came to an end that counts; others are left out. Raises EpisodeFileError."""
    for path in paths:
        episode = read_episode(path)
        if episode.is_valid:
            yield episode


def write_jsonl(paths: Iterable[Path], out: Path, export: Callable[[Episode], dict[str, Any]]) -> int:
    """Write a line for each episode that counts; how many."""
    count = 0
    with out.open("w", encoding="utf-8") as file:
        for episode in episodes_of(paths):
            file.write(json.dumps(export(episode)) + "\n")  # ASCII: no reader trips over odd characters
            count += 1
    return count
