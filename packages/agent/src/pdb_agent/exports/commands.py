"""``pdb-agent export``: the episodes of a run in formats that others read."""

from enum import StrEnum
from pathlib import Path
from typing import TextIO

from pdb_agent.exports import atif, openai_chat, sft
from pdb_agent.exports.conversation import ExportError


class Kind(StrEnum):
    """A format."""

    ATIF = "atif"
    """A folder of trajectories."""
    SFT = "sft"
    """One JSONL file of messages to learn from."""
    OPENAI_CHAT = "openai-chat"
    """One JSONL file of chat completions."""


def export(kind: Kind | str, run_folder: Path, out: Path, stream: TextIO) -> int:
    """Write the episodes of a run that count to ``out``, for atif a folder, else a file; the exit status.

    Raises ExportError for another kind or a folder without episodes, EpisodeFileError for a broken file.
    """
    if kind not in list(Kind):
        raise ExportError(f"There is no export {kind}: there are {', '.join(Kind)}.")
    files = sorted(path for path in (run_folder / "episodes").glob("*/*/*.jsonl") if path.stem.isdecimal())
    if not files:
        raise ExportError(f"There are no episodes in {run_folder}: give the folder of a run.")
    if kind != Kind.ATIF:
        out.parent.mkdir(parents=True, exist_ok=True)
    match Kind(kind):
        case Kind.ATIF:
            count = atif.export_files(files, out)
        case Kind.SFT:
            count = sft.export_files(files, out)
        case Kind.OPENAI_CHAT:
            count = openai_chat.export_files(files, out)
    left_out = len(files) - count
    note = f"; {left_out} left out that did not come to an end that counts" if left_out else ""
    stream.write(f"{count} episodes in {out}{note}\n")
    return 0
