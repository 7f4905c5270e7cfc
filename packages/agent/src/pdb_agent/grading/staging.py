"""What a grading sandbox reads and cannot change: scripts and tests, in a folder that lives for one run."""

import tempfile
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from pathlib import Path

SCRIPTS_FOLDER = "scripts"
TESTS_FOLDER = "tests"
_INI = b"[pytest]\n"


@contextmanager
def staged(scripts: tuple[str, ...], tests: Mapping[str, bytes] | None = None) -> Generator[Path]:
    """A folder with this package's ``scripts`` and, when given, ``tests`` beside an empty pytest.ini.

    The folder is readable for every user, since code in a sandbox runs as another; its name is
    unguessable and its parent cannot be listed below it.
    """
    with tempfile.TemporaryDirectory(prefix="pdb-agent-grading-") as name:
        folder = Path(name)
        for script in scripts:
            source = Path(__file__).with_name(script).read_bytes()
            _write(staged_script(folder, script), source)
        for path, content in (tests or {}).items():
            _write(folder / TESTS_FOLDER / path, content)
        if tests is not None:
            _write(folder / TESTS_FOLDER / "pytest.ini", _INI)
        for path in (folder, *folder.rglob("*")):
            path.chmod(0o755 if path.is_dir() else 0o644)
        yield folder


def staged_script(folder: Path, script: str) -> Path:
    """Where a script lies: below the scripts folder as in this package, so that imports are the same."""
    return folder / SCRIPTS_FOLDER / "pdb_agent" / "grading" / script


def _write(path: Path, content: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
