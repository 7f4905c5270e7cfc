"""Files that are there whole or not at all, and stay when the machine loses its power."""

import os
from pathlib import Path


def write_whole(path: Path, content: bytes) -> None:
    """Replace ``path`` in one go. Raises OSError, the old content being intact."""
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        write_durably(draft, content)
        draft.replace(path)
    except BaseException:
        draft.unlink(missing_ok=True)
        raise
    sync_folder(path.parent)


def write_durably(path: Path, content: bytes) -> None:
    """Write and wait for the disk. Raises OSError."""
    with path.open("wb", buffering=0) as file:
        view = memoryview(content)
        while view:
            view = view[file.write(view) :]
        os.fsync(file.fileno())


def sync_folder(folder: Path) -> None:
    """Wait until the disk has a folder's entries: renames are durable from here on."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
