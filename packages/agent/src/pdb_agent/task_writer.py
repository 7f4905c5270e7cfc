"""Writes a task to a folder, in the form that ``task_files`` reads."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import cast

from pdb_agent.errors import TaskError
from pdb_agent.reach import measure_reach
from pdb_agent.task import Task, Witness, WitnessStop
from pdb_agent.task_files import content_hash

_KEYS = (
    "id",
    "version",
    "group",
    "family",
    "preference",
    "preference_reason",
    "difficulty",
    "split",
    "python_min",
    "python_max",
    "target",
    "fail_to_pass",
    "pass_to_pass",
    "editable",
    "licence",
    "source_lines",
    "source_files",
    "content_hash",
)
_LIMITS = ("test_seconds", "suite_seconds", "episode_seconds")


def write(task: Task, folder: Path, *, declared_errors: Sequence[str] = ()) -> None:
    """Write ``task`` into ``folder``, which is made; its measures and hash are taken anew.

    ``declared_errors`` names exceptions by which tests may fail before the solution. Raises TaskError
    when the folder holds something already, is not named after the task, or has a path that leaves it.
    """
    if folder.name != task.id:
        raise TaskError(f"{folder} is not named after the task: name it {task.id}.")
    if folder.exists() and any(folder.iterdir()):
        raise TaskError(f"{folder} holds something already: remove it, or give another folder.")
    for path, content in _files(task).items():
        _write_file(folder, path, content)
    reach = measure_reach(task.workspace, task.target)
    measured = replace(task, source_lines=reach.lines, source_files=reach.files, content_hash="")
    settings = folder / "task.toml"
    settings.write_text(_task_toml(measured, declared_errors), "utf-8")
    hashed = replace(measured, content_hash=content_hash(folder))
    settings.write_text(_task_toml(hashed, declared_errors), "utf-8")


def toml_table(values: Mapping[str, object]) -> str:
    """``key = value`` lines of texts, numbers and lists of texts."""
    return "".join(f"{key} = {toml_value(value)}\n" for key, value in values.items())


def toml_value(value: object) -> str:
    """A value as TOML writes it: a text, a number, a truth value, or a list of texts."""
    if isinstance(value, list | tuple):
        return _toml_list([toml_value(item) for item in cast("Sequence[object]", value)])
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int | float):
        return f"{value:g}" if isinstance(value, float) else str(value)
    # A JSON text is a basic string of TOML, but for DEL, which TOML wants escaped.
    return json.dumps(str(value), ensure_ascii=False).replace("\x7f", "\\u007f")


def _toml_list(items: Sequence[str]) -> str:
    if len(items) <= 1:
        return f"[{', '.join(items)}]"
    return "[\n" + "".join(f"    {item},\n" for item in items) + "]"


def _files(task: Task) -> dict[str, bytes]:
    files = {f"workspace/{path}": content for path, content in task.workspace.items()}
    files |= {f"hidden/{path}": content for path, content in task.hidden.items()}
    files["solution/fix.patch"] = task.solution.text.encode()
    for decoy in task.decoys:
        files[f"decoys/{decoy.name}.patch"] = decoy.text.encode()
        files[f"decoys/{decoy.name}.md"] = f"{decoy.reason}\n".encode()
    if task.witness is not None:
        files["witness.toml"] = _witness_toml(task.witness).encode()
    return files


def _write_file(folder: Path, path: str, content: bytes) -> None:
    target = folder / path
    if not target.resolve().is_relative_to(folder.resolve()):
        raise TaskError(f"{path} leads out of the task's folder: give a path inside it.")
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_bytes(content)


def _task_toml(task: Task, declared_errors: Sequence[str]) -> str:
    values: dict[str, object] = {key: getattr(task, key) for key in _KEYS}
    if declared_errors:
        values["declared_errors"] = list(declared_errors)
    limits = {key: getattr(task.limits, key) for key in _LIMITS}
    return (
        f"{toml_table(values)}\n[difficulty_points]\n{toml_table(task.difficulty_points)}"
        f"\n[limits]\n{toml_table(limits)}"
    )


def _witness_toml(witness: Witness) -> str:
    return toml_table({"target": witness.target}) + "".join(
        part for stop in witness.stops for part in _stop_toml(stop)
    )


def _stop_toml(stop: WitnessStop) -> Iterator[str]:
    place = {"file": stop.file, "function": stop.function, "line": stop.line, "condition": stop.condition}
    given: dict[str, object] = {key: value for key, value in place.items() if value is not None}
    yield f"\n[[stop]]\n{toml_table(given | {'hit': stop.hit})}"
    for value in stop.values:
        shown = {"expression": value.expression, "buggy": value.buggy, "fixed": value.fixed}
        yield f"\n[[stop.value]]\n{toml_table(shown)}"
