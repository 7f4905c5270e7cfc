"""Reads commits of a git repository, without touching its working tree."""

import subprocess
from collections.abc import Iterator
from pathlib import Path

from pdb_agent.errors import ImportFormatError

_GIT_SECONDS = 120.0
_REGULAR = ("100644", "100755")


def resolve(repository: Path, commit: str) -> str:
    """The full name of a commit. Raises ImportFormatError when it is not there."""
    return (
        _git(repository, "rev-parse", "--verify", "--end-of-options", f"{commit}^{{commit}}").decode().strip()
    )


def changed_paths(repository: Path, before: str, after: str) -> frozenset[str]:
    """Paths that differ between two commits, by their names in either."""
    listed = _git(repository, "diff", "--name-only", "--no-renames", "-z", before, after)
    return frozenset(name.decode() for name in listed.split(b"\0") if name)


def files_at(repository: Path, commit: str, limit_bytes: int) -> dict[str, bytes]:
    """The regular files of a commit that are not larger than the limit."""
    names = [(blob, path) for blob, path, size in _tree(repository, commit) if size <= limit_bytes]
    wanted = "".join(f"{blob}\n" for blob, _ in names).encode()
    content = _git(repository, "cat-file", "--batch", given=wanted)
    files: dict[str, bytes] = {}
    at = 0
    for _, path in names:
        end = content.index(b"\n", at)
        size = int(content[at:end].split()[-1])
        files[path] = content[end + 1 : end + 1 + size]
        at = end + size + 2
    return files


def _tree(repository: Path, commit: str) -> Iterator[tuple[str, str, int]]:
    for entry in _git(repository, "ls-tree", "-r", "-z", "-l", commit).split(b"\0"):
        if entry:
            facts, _, path = entry.decode("utf-8", "replace").partition("\t")
            mode, kind, blob, size = facts.split()
            if kind == "blob" and mode in _REGULAR:
                yield blob, path, int(size)


def _git(repository: Path, *arguments: str, given: bytes = b"") -> bytes:
    try:
        result = subprocess.run(
            ["git", "-c", "core.quotePath=false", "-C", repository, *arguments],
            input=given,
            capture_output=True,
            timeout=_GIT_SECONDS,
            check=False,
        )
    except (OSError, subprocess.SubprocessError) as error:
        raise ImportFormatError(
            f"git does not run in {repository} ({error}): install it and try again."
        ) from None
    if result.returncode:
        reason = result.stderr.decode("utf-8", "replace").strip().splitlines()
        raise ImportFormatError(
            f"git {arguments[0]} fails in {repository} ({reason[-1] if reason else 'no message'}): give a "
            "repository and commits that it has."
        )
    return result.stdout
