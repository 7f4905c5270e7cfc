"""Folders that a user without rights can read at the path they have, or in a mirror.

Real root gives its rights away before anything runs inside, and then a folder
below a closed one (root's home, say) cannot be bound into a sandbox any more.
For such a folder root keeps a mirror of hard links, or copies across file
systems, in a place that all can read.
"""

import hashlib
import os
import shutil
import stat
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from pdb_agent.errors import SandboxError

MIRRORS = Path("/var/tmp/pdb-agent-mirrors")
_LEFT_OUT = shutil.ignore_patterns("test", "tests", "idle_test", "*.a")


@dataclass(frozen=True, slots=True, kw_only=True)
class Binding:
    """A host folder or file and the path it has inside."""

    source: Path
    inside: Path


@cache
def binding(path: Path, *, is_root: bool) -> Binding:
    """How ``path`` gets into a sandbox at the same path. Raises SandboxError when it is not there."""
    if not path.exists():
        raise SandboxError(f"{path} does not exist: it is needed inside the sandbox.")
    if not is_root or _is_open_to_all(path):
        return Binding(source=path, inside=path)
    return Binding(source=_mirror(path), inside=path)


def _is_open_to_all(path: Path) -> bool:
    real = path.resolve()
    return bool(real.stat().st_mode & stat.S_IROTH) and all(
        folder.stat().st_mode & stat.S_IXOTH for folder in {*real.parents, *path.parents}
    )


def _mirror(path: Path) -> Path:
    """A readable copy of ``path``, made once for each state of it."""
    _prepare_place()
    mirror = MIRRORS / f"{path.name}-{_state(path)}"
    if mirror.exists():
        return mirror
    draft = Path(tempfile.mkdtemp(prefix="draft-", dir=MIRRORS))
    try:
        if path.is_dir():
            shutil.copytree(path, draft / path.name, symlinks=True, copy_function=_link, ignore=_LEFT_OUT)
        else:
            shutil.copy2(path, draft / path.name)
        (draft / path.name).rename(mirror)
    except OSError as error:
        if not mirror.exists():  # or another process was faster
            raise SandboxError(
                f"{path} is closed to other users and could not be mirrored in {MIRRORS} ({error.strerror}): "
                "put it where all can read it, or run as a user without rights."
            ) from error
    finally:
        shutil.rmtree(draft, ignore_errors=True)
    return mirror


def _prepare_place() -> None:
    MIRRORS.mkdir(mode=0o755, exist_ok=True)
    status = MIRRORS.lstat()
    if not stat.S_ISDIR(status.st_mode) or status.st_uid != os.geteuid() or status.st_mode & 0o022:
        raise SandboxError(f"{MIRRORS} is not root's alone: remove it and try again.")


def _link(source: str, destination: str) -> None:
    try:
        os.link(source, destination)
    except OSError:
        shutil.copy2(source, destination)


def _state(path: Path) -> str:
    digest = hashlib.sha256(str(path).encode())
    for name, size, modified in _entries(path):
        digest.update(f"{name}\0{size}\0{modified}\n".encode(errors="surrogateescape"))
    return digest.hexdigest()[:16]


def _entries(path: Path) -> Iterator[tuple[str, int, int]]:
    if path.is_file():
        status = path.stat()
        yield path.name, status.st_size, status.st_mtime_ns
    for folder, folders, files in os.walk(path):
        folders[:] = sorted(name for name in folders if name != "__pycache__")
        for name in sorted(files):
            status = os.lstat(os.path.join(folder, name))
            yield os.path.join(folder, name), status.st_size, status.st_mtime_ns
