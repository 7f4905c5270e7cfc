"""Reads a person's own project into memory: what its tests need, nothing that is made anew, no secrets."""

import os
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path

from pdb_agent.errors import AgentError
from pdb_agent.sandbox import MEBIBYTE
from pdb_agent.sandboxes.inside import DEPTH_LIMIT
from pdb_agent.sandboxes.workspace_files import is_plain_path

FILE_LIMIT_BYTES = MEBIBYTE
FILES_LIMIT = 1500
PROJECT_LIMIT_BYTES = 32 * MEBIBYTE
_ENTRIES_LIMIT = 200_000
_FOLDERS_LEFT_OUT = frozenset(
    {".git", ".hg", ".svn", ".tox", ".nox", ".venv", "node_modules", "__pycache__", ".cache", ".eggs"}
    | {".mypy_cache", ".pytest_cache", ".ruff_cache", ".hypothesis", ".idea", ".vscode", "htmlcov"}
)
_BUILD_FOLDERS = frozenset({"build", "dist"})
_ENVIRONMENT_MARKS = ("pyvenv.cfg", "conda-meta")
_SECRETS = (".env", ".env.*", ".netrc", ".pypirc", "*.pem", "*.key", "id_rsa", "id_ed25519")


class FixError(AgentError):
    """A project cannot be worked on as it is; the message says what to give or change."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Project:
    """A person's project, as it was when it was read."""

    root: Path
    """Absolute."""
    files: Mapping[str, bytes]
    """Relative POSIX path to content."""
    left_out: tuple[str, ...]
    """Files that are not among them though they might be wanted, each with its reason."""


def read_project(root: Path, leave_out: Sequence[str] = ()) -> Project:
    """Read a project; ``leave_out`` are globs of further paths to leave out.

    Version control, environments, caches and builds are left out silently; links, large files
    and likely secrets are named. Raises FixError when there is too much of it.
    """
    root = root.absolute()
    if not root.is_dir():
        raise FixError(f"{root} is no folder: give the project's with --project.")
    wanted: dict[str, Path] = {}
    left_out: list[str] = []
    for path, file in _walk(root, leave_out):
        reason = _reason_to_leave_out(path, file)
        if reason is None:
            wanted[path] = file
        else:
            left_out.append(f"{path} {reason}")
    _check_size(root, wanted)
    files: dict[str, bytes] = {}
    for path, file in wanted.items():
        try:
            files[path] = file.read_bytes()
        except OSError as error:
            left_out.append(f"{path} cannot be read ({error.strerror})")
    if not files:
        raise FixError(f"{root} holds no file to work on: give the project's folder with --project.")
    return Project(root=root, files=files, left_out=tuple(left_out))


def _walk(root: Path, leave_out: Sequence[str]) -> Iterator[tuple[str, Path]]:
    """Every file that may be wanted, sorted, by its path in the project."""
    entries = 0
    for place, folders, names in os.walk(root):
        folder = Path(place)
        inside = folder.relative_to(root).as_posix()
        prefix = "" if inside == "." else f"{inside}/"
        folders[:] = sorted(
            name
            for name in folders
            if not _is_left_out(prefix + name, leave_out)
            and not _is_made_anew(folder / name, is_top=not prefix)
        )
        entries += len(names) + len(folders)
        if entries > _ENTRIES_LIMIT:
            raise FixError(
                f"{root} holds more than {_ENTRIES_LIMIT} files: give a smaller folder with --project."
            )
        for name in sorted(names):
            if not _is_left_out(prefix + name, leave_out):
                yield prefix + name, folder / name


def _is_left_out(path: str, leave_out: Sequence[str]) -> bool:
    return any(fnmatchcase(path, glob.rstrip("/")) for glob in leave_out)


def _is_made_anew(folder: Path, *, is_top: bool) -> bool:
    """Whether a folder holds nothing that somebody wrote for this project."""
    if folder.name in _FOLDERS_LEFT_OUT or any((folder / mark).exists() for mark in _ENVIRONMENT_MARKS):
        return True
    return is_top and folder.name in _BUILD_FOLDERS and not (folder / "__init__.py").exists()


def _reason_to_leave_out(path: str, file: Path) -> str | None:
    if file.is_symlink():
        return "is a link"
    if not file.is_file():
        return "is no plain file"
    if any(fnmatchcase(file.name, glob) for glob in _SECRETS):
        return "may hold a secret"
    if not is_plain_path(path) or path.count("/") >= DEPTH_LIMIT:
        return "has a path that is too long or odd"
    if (size := file.stat().st_size) > FILE_LIMIT_BYTES:
        return f"is larger than 1 MiB ({size / MEBIBYTE:.1f} MiB)"
    return None


def _check_size(root: Path, wanted: Mapping[str, Path]) -> None:
    sizes = {path: file.stat().st_size for path, file in wanted.items()}
    total = sum(sizes.values())
    if len(sizes) <= FILES_LIMIT and total <= PROJECT_LIMIT_BYTES:
        return
    by_count, by_size = Counter[str](), Counter[str]()
    for path, size in sizes.items():
        folder = path.rpartition("/")[0] or "."
        by_count[folder] += 1
        by_size[folder] += size
    largest = (by_count if len(sizes) > FILES_LIMIT else by_size).most_common(1)[0][0]
    raise FixError(
        f"{root} has {len(sizes)} files of {total / MEBIBYTE:.0f} MiB, more than {FILES_LIMIT} files or "
        f"{PROJECT_LIMIT_BYTES // MEBIBYTE} MiB: leave out what the tests do not need, such as "
        f"--leave-out {largest!r}, or give a smaller folder with --project."
    )
