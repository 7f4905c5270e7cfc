"""V10: the measured keys of ``task.toml``, checked and written."""

import re
from pathlib import Path

from pdb_agent.reach import measure_reach
from pdb_agent.task import Task
from pdb_agent.task_files import content_hash, load_task
from pdb_agent.validation.rules import Complaint


def measured_values(task: Task) -> dict[str, int | str]:
    """What the measured keys have to be."""
    reach = measure_reach(task.workspace, task.target)
    return {
        "source_lines": reach.lines,
        "source_files": reach.files,
        "content_hash": content_hash(task.folder),
    }


def check_measures(task: Task) -> list[Complaint]:
    """V10: complaints about measured keys that are out of date."""
    return [
        Complaint(
            rule="V10",
            text=f"{key} is {getattr(task, key)!r} and has to be {value!r}: "
            f"run `pdb-agent tasks measure {task.id}`.",
        )
        for key, value in measured_values(task).items()
        if getattr(task, key) != value
    ]


def write_measures(folder: Path) -> Task:
    """Write the measured keys into ``task.toml``, in place; all else in it stays as it is.

    Returns the task as it then is. Raises TaskError.
    """
    path = folder / "task.toml"
    text = path.read_text("utf-8") if path.exists() else ""
    for key, value in measured_values(load_task(folder)).items():
        text = _with_value(text, key, f'"{value}"' if isinstance(value, str) else str(value))
    path.write_text(text, "utf-8")
    return load_task(folder)


def _with_value(text: str, key: str, value: str) -> str:
    line = re.compile(rf'^({key}[ \t]*=[ \t]*)(?:\d+|"[^"\n]*")', re.MULTILINE)
    if line.search(text):
        return line.sub(lambda match: match[1] + value, text, count=1)
    top, bracket, tables = text.partition("\n[")
    return f"{top.rstrip()}\n{key} = {value}\n{bracket}{tables}"
