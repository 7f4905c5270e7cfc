"""Reads tasks from ``tasks/<id>/``; what does not make a task is refused with a sentence saying why."""

import hashlib
import json
import tomllib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from pdb_agent.errors import TaskError
from pdb_agent.task import (
    Patch,
    Preference,
    Split,
    Task,
    TaskLimits,
    Witness,
    WitnessStop,
    WitnessValue,
)
from pdb_agent.task_schema import StopTable, TaskTable, WitnessTable

MEASURED_KEYS = ("source_lines", "source_files", "content_hash")
"""The keys of ``task.toml`` that are computed from all the rest."""
STAMPS_FOLDER = "stamps"
_TableT = TypeVar("_TableT", bound=BaseModel)
_LEFT_OUT_FOLDERS = frozenset({"__pycache__", ".pytest_cache", ".ruff_cache", ".mypy_cache"})
_TOP = frozenset({"task.toml", "witness.toml", "workspace", "hidden", "solution", "decoys"})


def load_task(folder: Path) -> Task:
    """Read one task. Raises TaskError naming the file, the key and what to write there."""
    table = read_task_table(folder)
    if table.id != folder.name:
        raise TaskError(
            f"{folder / 'task.toml'}: id is {table.id!r}; write {folder.name!r}, as the folder's."
        )
    _refuse_strays(folder)
    fields = table.model_dump(exclude={"declared_errors", "limits", "difficulty_points"})
    for name in ("fail_to_pass", "pass_to_pass", "editable"):
        fields[name] = tuple(fields[name])
    return Task(
        **fields,
        limits=TaskLimits(**table.limits.model_dump()),
        difficulty_points=table.difficulty_points.model_dump(),
        workspace=_workspace(folder),
        hidden=_hidden(folder),
        solution=Patch(name="fix", text=_text(folder / "solution" / "fix.patch", "the solution, as a diff")),
        decoys=_decoys(folder),
        witness=_witness(folder, table.preference),
        folder=folder,
    )


def load_all(
    root: Path, *, split: Split | None = None, family: str | None = None, ids: Iterable[str] = ()
) -> tuple[Task, ...]:
    """All tasks below ``root`` by id, or those of a split, a family or with the given ids.

    Raises TaskError for the first one that cannot be read, or an id that is not there.
    """
    wanted = frozenset(ids)
    folders = task_folders(root)
    if unknown := wanted - {folder.name for folder in folders}:
        raise TaskError(
            f"There is no task {min(unknown)} in {root}: `pdb-agent tasks list` shows what is there."
        )
    tasks = (load_task(folder) for folder in folders if not wanted or folder.name in wanted)
    return tuple(task for task in tasks if split in (None, task.split) and family in (None, task.family))


def task_folders(root: Path) -> tuple[Path, ...]:
    """The folders of tasks below ``root``, sorted."""
    if not root.is_dir():
        raise TaskError(f"There is no folder {root}: give the folder that holds the tasks.")
    return tuple(
        sorted(
            folder
            for folder in root.iterdir()
            if folder.is_dir() and folder.name != STAMPS_FOLDER and not folder.name.startswith((".", "_"))
        )
    )


def find_tasks_root(start: Path | None = None) -> Path:
    """The nearest ``tasks`` folder with a task in it: here, above, or in the checkout of this package.

    Raises TaskError when there is none.
    """
    here = (start or Path.cwd()).resolve()
    for folder in (here, *here.parents, *Path(__file__).resolve().parents):
        candidates = (folder, folder / "tasks") if folder.name == "tasks" else (folder / "tasks",)
        for candidate in candidates:
            if next(candidate.glob("*/task.toml"), None) is not None:
                return candidate
    raise TaskError(
        f"No folder `tasks` lies in {here} or above it: go to a checkout, or name it with --root."
    )


def read_task_table(folder: Path) -> TaskTable:
    """``task.toml`` by itself. Raises TaskError."""
    return _table(folder / "task.toml", TaskTable, "a task's settings")


def content_hash(folder: Path) -> str:
    """What identifies a task's content: a SHA-256 of all its files, but for the measured keys."""
    digest = hashlib.sha256()
    settings = _toml(folder / "task.toml", "a task's settings")
    kept = {key: settings[key] for key in settings if key not in MEASURED_KEYS}
    files = _files_below(folder) | {"task.toml": json.dumps(kept, sort_keys=True).encode()}
    for path in sorted(files):
        digest.update(f"{path}\0{len(files[path])}\0".encode() + files[path])
    return digest.hexdigest()


def _workspace(folder: Path) -> Mapping[str, bytes]:
    files = _files_below(folder / "workspace")
    if not any(path.startswith("tests/") for path in files):
        raise TaskError(f"{folder / 'workspace'} holds no tests: write tests/test_*.py there.")
    for path in files:
        if path == "task.toml" or any(part.startswith(".") for part in path.split("/")):
            raise TaskError(f"{folder / 'workspace' / path} is not for a model to see: remove it.")
    return files


def _hidden(folder: Path) -> Mapping[str, bytes]:
    files = _files_below(folder / "hidden")
    if not files:
        raise TaskError(f"{folder / 'hidden'} is empty: write hidden tests in test_*.py there.")
    for path in files:
        if "/" in path or not (path.startswith("test_") and path.endswith(".py")):
            raise TaskError(f"{folder / 'hidden' / path} is not a test module: name it test_*.py.")
    return files


def _decoys(folder: Path) -> tuple[Patch, ...]:
    decoys: list[Patch] = []
    for path in sorted((folder / "decoys").glob("*.patch")):
        reason = _text(path.with_suffix(".md"), "why somebody would write the decoy, and what it leaves")
        decoys.append(Patch(name=path.stem, text=_text(path, "a decoy, as a diff"), reason=reason.strip()))
    return tuple(decoys)


def _witness(folder: Path, preference: Preference) -> Witness | None:
    path = folder / "witness.toml"
    if not path.exists():
        return None
    if preference is Preference.AVOID:
        raise TaskError(f"{path} is of no use where the debugger is to be avoided: delete it.")
    table = _table(path, WitnessTable, "where a debugger sees the cause")
    return Witness(target=table.target, stops=tuple(map(_stop, table.stop)))


def _stop(table: StopTable) -> WitnessStop:
    return WitnessStop(
        file=table.file,
        function=table.function,
        line=table.line,
        condition=table.condition,
        hit=table.hit,
        values=tuple(WitnessValue(**value.model_dump()) for value in table.value),
    )


def _table(path: Path, model: type[_TableT], what: str) -> _TableT:
    try:
        return model.model_validate(_toml(path, what))
    except ValidationError as error:
        problems = [_sentence(problem["type"], problem["loc"], problem["msg"]) for problem in error.errors()]
        raise TaskError(f"{path}: {'; '.join(problems)}.") from None


def _sentence(kind: str, location: tuple[int | str, ...], message: str) -> str:
    key = ".".join(map(str, location))
    match kind:
        case "missing":
            return f"{key} is missing: write it"
        case "extra_forbidden":
            return f"{key} is no key of this file: correct its name or remove it"
        case "value_error":
            return message.removeprefix("Value error, ")
        case _:
            return f"{key}: {message[:1].lower()}{message[1:]}"


def _toml(path: Path, what: str) -> dict[str, Any]:
    try:
        return tomllib.loads(_text(path, what))
    except tomllib.TOMLDecodeError as error:
        raise TaskError(f"{path} is not TOML: {error}.") from None


def _text(path: Path, what: str) -> str:
    try:
        return path.read_text("utf-8")
    except FileNotFoundError:
        raise TaskError(f"{path} is missing: write {what}.") from None
    except (OSError, UnicodeDecodeError) as error:
        raise TaskError(f"{path} cannot be read as UTF-8 text ({error}).") from None


def _refuse_strays(folder: Path) -> None:
    for path in folder.iterdir():
        if path.name not in _TOP | _LEFT_OUT_FOLDERS:
            raise TaskError(f"{path} is no part of a task: remove it, or move it into workspace/.")


def _files_below(folder: Path) -> dict[str, bytes]:
    """Every file by its path relative to ``folder``; what running tests leaves behind is left out."""
    files: dict[str, bytes] = {}
    if not folder.is_dir():
        raise TaskError(f"There is no folder {folder}: make it.")
    for path in sorted(folder.rglob("*")):
        relative = path.relative_to(folder)
        if path.is_symlink():
            raise TaskError(f"{path} is a symbolic link: put the file itself there.")
        if path.is_file() and not _LEFT_OUT_FOLDERS.intersection(relative.parts):
            files[relative.as_posix()] = path.read_bytes()
    return files
