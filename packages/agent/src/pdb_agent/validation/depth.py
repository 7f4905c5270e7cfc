"""How thoroughly a task is looked at."""

from dataclasses import dataclass
from pathlib import Path

from pdb_agent import witness
from pdb_agent.errors import TaskError
from pdb_agent.sandboxes.interpreters import examine, task_interpreter
from pdb_agent.task import Task

PYTHONS = ("3.12", "3.10", "3.11", "3.13")
FULL_REPEATS = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class Depth:
    """What a validation runs; as it stands, all of it."""

    repeats: int = FULL_REPEATS
    """Runs of each version of the task on each Python."""
    pythons: tuple[str, ...] = PYTHONS
    """The first one's are the runs, witness and grades that are looked at closely; none: the usual one's."""
    engines: tuple[str, ...] = witness.ENGINES
    """Debuggers that have to see the witness; without any, V11 is left out."""
    grades: bool = True
    """Whether V13 is checked."""

    @property
    def is_full(self) -> bool:
        """Whether what is found may be stamped."""
        return self == Depth()


FULL = Depth()
QUICK = Depth(repeats=1, pythons=())
"""For tasks that have a stamp."""
AT_ONCE = Depth(repeats=1, pythons=(), engines=(), grades=False)
"""For somebody who is writing a task: all but V11 and V13, in seconds."""


def interpreters_for(task: Task, depth: Depth) -> dict[str, Path]:
    """The Pythons to run a task on, by version.

    Raises TaskError when the task suits none of them, SandboxError for one that is not here.
    """
    if not depth.pythons:
        path = task_interpreter()
        return {examine(path).version: path}
    first, last = _minor(task.python_min), _minor(task.python_max)
    suited = [version for version in depth.pythons if first <= _minor(version) <= last]
    if not suited:
        raise TaskError(
            f"{task.id} is for Python {task.python_min} to {task.python_max}, which leaves none of "
            f"{', '.join(depth.pythons)}: name another with --python."
        )
    return {version: task_interpreter(version) for version in suited}


def _minor(version: str) -> int:
    return int(version.split(".")[1])
