"""The Python of a person's own project: which one it is, and what it imports from where."""

import json
import os
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from pdb_agent.errors import SandboxError
from pdb_agent.project_reading import FixError
from pdb_agent.sandboxes.interpreters import TaskInterpreter, examine

OLDEST = (3, 10)
_PLACES = (".venv", "venv")
_ASK_SECONDS = 30.0
_ASK = """
import json, os, sys
places = list(sys.path)
for name, module in list(sys.modules.items()):
    if name.startswith("__editable__"):
        places += [os.path.dirname(path) for path in getattr(module, "MAPPING", {}).values()]
print(json.dumps(places))
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProjectPython:
    """An interpreter with what the project has installed."""

    interpreter: TaskInterpreter
    inside: tuple[str, ...]
    """Folders of the project that it imports from, as an editable install has it; "." for its root."""
    outside: tuple[Path, ...]
    """Likewise, folders elsewhere."""


def project_python(
    root: Path, named: Path | None, environment: Mapping[str, str] = os.environ
) -> ProjectPython:
    """The Python named, or the project's .venv or venv, or the active one. Raises FixError."""
    path = _find(root, named, environment)
    try:
        interpreter = examine(path)
        answer = subprocess.run(
            [path, "-I", "-c", _ASK], capture_output=True, check=True, timeout=_ASK_SECONDS, text=True
        ).stdout
    except (SandboxError, OSError, subprocess.SubprocessError) as error:
        raise FixError(f"{path} does not run ({error}): give another Python with --python.") from error
    if not interpreter.has_pytest:
        raise FixError(f"{path} has no pytest: install it there, or give another Python with --python.")
    if tuple(map(int, interpreter.version.split("."))) < OLDEST:
        raise FixError(
            f"{path} is Python {interpreter.version}: sandboxes need 3.10 or newer, give one with --python."
        )
    inside, outside = _editable(root, interpreter, [Path(place) for place in json.loads(answer) if place])
    return ProjectPython(interpreter=interpreter, inside=inside, outside=outside)


def _find(root: Path, named: Path | None, environment: Mapping[str, str]) -> Path:
    if named is not None:
        path = named.absolute()  # a venv's python stays a link: resolved, it would be another's
        if not path.exists():
            raise FixError(f"There is no {path}: give the project's python with --python.")
        return path
    candidates = [root / place for place in _PLACES]
    if active := environment.get("VIRTUAL_ENV"):
        candidates.append(Path(active))
    for folder in candidates:
        if (python := folder.absolute() / "bin" / "python").exists():
            return python
    raise FixError(
        f"{root} has no .venv or venv, and none is active: give the Python that runs its tests with --python."
    )


def _editable(
    root: Path, interpreter: TaskInterpreter, places: list[Path]
) -> tuple[tuple[str, ...], tuple[Path, ...]]:
    """Where editable installs lead, inside the project and outside."""
    own = (interpreter.prefix, interpreter.base_prefix)
    inside: dict[str, None] = {}
    outside: dict[Path, None] = {}
    for place in places:
        if not place.is_dir() or any(place.is_relative_to(prefix) for prefix in own):
            continue
        if place.resolve().is_relative_to(root.resolve()):
            inside[place.resolve().relative_to(root.resolve()).as_posix()] = None
        elif not root.is_relative_to(place):
            outside[place] = None
    return tuple(inside), tuple(outside)
