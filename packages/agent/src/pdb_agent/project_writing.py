"""Writes a repair into a person's own project: all or nothing is checked first, each file goes in whole."""

import os
import tempfile
from collections.abc import Mapping
from pathlib import Path

from pdb_agent.project_reading import FixError, Project


def apply_changes(project: Project, changed: Mapping[str, bytes]) -> tuple[str, ...]:
    """Write changed and new files; the paths written.

    Raises FixError before anything is written when the project is not as it was read any more, or a file
    would land outside it, and FixError naming what is written already when the disk fails in between.
    """
    stale = [path for path, content in project.files.items() if _content(project.root / path) != content]
    stale += [path for path in changed if path not in project.files and os.path.lexists(project.root / path)]
    if stale:
        more = f" and {len(stale) - 1} more" if len(stale) > 1 else ""
        raise FixError(
            f"{stale[0]}{more} changed since the project was read, so nothing was written: look at the diff "
            "and apply it by hand, or run the same command again."
        )
    for path in changed:
        _check_place(project.root, path)
    written: list[str] = []
    for path, content in sorted(changed.items()):
        try:
            _write(project.root / path, content)
        except OSError as error:
            done = ", ".join(written) or "nothing"
            raise FixError(
                f"{path} cannot be written ({error.strerror}): written so far is {done}; apply the rest of "
                "the diff by hand."
            ) from error
        written.append(path)
    return tuple(written)


def _content(path: Path) -> bytes | None:
    try:
        return None if path.is_symlink() else path.read_bytes()
    except OSError:
        return None


def _check_place(root: Path, path: str) -> None:
    """No folder on the way to a file is a link, which could lead out of the project."""
    for folder in Path(path).parents:
        place = root / folder
        if folder != Path() and (place.is_symlink() or (place.exists() and not place.is_dir())):
            raise FixError(
                f"{path} would be written through {folder}, which is no plain folder: do it by hand."
            )


def _write(path: Path, content: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor, draft = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        if path.exists():
            status = path.stat()
            Path(draft).chmod(status.st_mode & 0o7777)
            if os.geteuid() == 0:
                os.chown(draft, status.st_uid, status.st_gid)
        else:
            Path(draft).chmod(0o666 & ~_umask())
        Path(draft).replace(path)
    except BaseException:
        Path(draft).unlink(missing_ok=True)
        raise


def _umask() -> int:
    mask = os.umask(0o077)
    os.umask(mask)
    return mask
