"""Which Python runs the target; found by looking at files, without starting one."""

import os
import re
import shutil
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from mcp_pdb.errors import InterpreterError
from mcp_pdb.project_files import absolute

_COMMAND = re.compile(r"(python|pypy)[\d.]*t?(\.exe)?")
"""Names that are looked up on PATH; others are paths."""
_ENVIRONMENT_FOLDERS = (".venv", "venv")


@dataclass(frozen=True, slots=True, kw_only=True)
class Interpreter:
    """A Python to run a target with, and where it was found; symlinks stay, they make a venv."""

    path: Path
    source: str


def find_interpreter(python: str | None, cwd: Path, root: Path) -> Interpreter:
    """The Python asked for, else the project's, VIRTUAL_ENV's, or the server's own.

    Raises InterpreterError when the one asked for cannot be used. Environments
    that turn out broken are passed over and said in ``source``.
    """
    if python:
        return Interpreter(path=_asked_for(python, cwd), source="as asked for")
    broken: list[str] = []
    for folder, source in _environments(cwd, root):
        path = environment_python(folder)
        if path is not None:
            return Interpreter(path=path, source=_with_broken(source, broken))
        broken.append(str(folder))
    return Interpreter(path=Path(sys.executable), source=_with_broken("the server's own Python", broken))


def environment_python(folder: Path) -> Path | None:
    """The usable interpreter of a virtual environment, or None."""
    for name in ("bin/python", "bin/python3", "Scripts/python.exe"):
        path = folder / name
        if _is_executable(path):
            return path
    return None


def site_packages(interpreter: Path) -> list[Path] | None:
    """The site-packages of a virtual environment's interpreter; None where files do not tell."""
    prefix = interpreter.parent.parent
    try:
        settings = (prefix / "pyvenv.cfg").read_text(encoding="utf-8", errors="replace").lower()
    except OSError:
        return None
    if "include-system-site-packages=true" in settings.replace(" ", ""):
        return None
    found = [*prefix.glob("lib*/python3*/site-packages"), *prefix.glob("Lib/site-packages")]
    return found or None


def _environments(cwd: Path, root: Path) -> Iterator[tuple[Path, str]]:
    folders = [cwd]
    if cwd.is_relative_to(root):
        folders += [folder for folder in cwd.parents if folder.is_relative_to(root)]
    else:
        folders.append(root)
    for folder in folders:
        for name in _ENVIRONMENT_FOLDERS:
            if (folder / name).is_dir():
                yield folder / name, f"{name} of the project"
    if active := os.environ.get("VIRTUAL_ENV"):
        yield Path(active), "VIRTUAL_ENV"


def _asked_for(python: str, cwd: Path) -> Path:
    if _COMMAND.fullmatch(python) and (found := shutil.which(python)) is not None:
        return Path(found)
    path = absolute(cwd, python)
    if path.is_dir():
        inside = environment_python(path)
        hint = f"give {inside}" if inside else "give the path of a python executable"
        raise InterpreterError(f"The interpreter {path} is a directory: {hint}.")
    if not path.exists():
        raise InterpreterError(
            f"There is no interpreter {python} (looked at {path}"
            + (" and on PATH" if _COMMAND.fullmatch(python) else "")
            + "): leave python out to use the project's own, or give the path of one."
        )
    if not _is_executable(path):
        raise InterpreterError(
            f"The interpreter {path} is not executable: give the path of a python executable."
        )
    return path


def _is_executable(path: Path) -> bool:
    return path.is_file() and os.access(path, os.X_OK)


def _with_broken(source: str, broken: list[str]) -> str:
    return f"{source}; {', '.join(broken)} has no usable python" if broken else source
