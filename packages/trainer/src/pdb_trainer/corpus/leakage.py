"""Keeps tasks that models are measured on out of what they learn from.

A task is refused when a task of the validation or test split, or a program that the gym holds out, has its
id, its content, its group, or nearly its source. Asked both when a corpus is built and when it is read, for
a task may have changed its split in between.
"""

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from tokenize import TokenError

from pdb_agent.episode import Started
from pdb_agent.errors import TaskError
from pdb_agent.procedural.gym import GymTask, LabFamily, fingerprint_of, generate, held_out
from pdb_agent.reach import is_test_file
from pdb_agent.task import Split, Task
from pdb_agent.task_files import find_tasks_root, load_all
from pdb_agent.validation.originality import MOST_OVERLAP, jaccard, shingles

from pdb_trainer.errors import LeakageError

_WAY_ON = "leave it out of training, where tasks of the training split alone belong."
_GYM_STEM = "gym_"


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceTask:
    """What a corpus keeps of a task whose episodes it has."""

    id: str
    content_hash: str
    group: str
    """Tasks of one group are one template: never on both sides of a division."""
    split: str
    sources: Mapping[str, str]
    """Python files that are no tests, as the model found them."""
    program: str | None = None
    """Hash of the gym's fingerprint of the right program; None for tasks that the gym did not make."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Forbidden:
    id: str
    split: str
    content_hash: str
    group: str
    shingles: frozenset[int]


class LeakageGuard:
    """Knows the tasks that nothing may be learnt from."""

    def __init__(self, tasks: Iterable[Task], gym: Iterable[GymTask] = ()) -> None:
        """Of ``tasks``, those outside the training split are forbidden; of the gym, the programs given."""
        self._forbidden = [_forbidden(task) for task in tasks if task.split is not Split.TRAIN]
        kept = tuple(gym)
        self._right = {_hash(task.fingerprint): task.name for task in kept}
        self._programs = {program: task.name for task in kept for program in _programs(task)}

    def check(self, task: SourceTask) -> None:
        """Raise LeakageError, naming the task, when it must not enter training."""
        if objection := self.objection(task):
            raise LeakageError(f"{task.id} {objection}: {_WAY_ON}")

    def objection(self, task: SourceTask) -> str | None:
        """Why a task must not enter training, or None."""
        if task.split != Split.TRAIN:
            return f"is of the {task.split or 'nameless'} split"
        own = _shingles(tuple(source.encode() for source in task.sources.values()))
        for other in self._forbidden:
            if why := _likeness(task, own, other):
                return f"{why} {other.id}, which is of the {other.split} split"
        if (name := self._program_held_out(task)) is not None:
            return f"has the program of {name}, which the gym holds out"
        return None

    def allows(self, task: GymTask) -> bool:
        """Whether the gym's task is none of the programs held out, whatever its defect."""
        return _hash(task.fingerprint) not in self._right

    def _program_held_out(self, task: SourceTask) -> str | None:
        if task.program is not None:
            # Its own defect may happen to be what is right, or wrong, in another program.
            return self._right.get(task.program)
        prints = [_fingerprint(source) for source in task.sources.values()]
        return next((self._programs[one] for one in prints if one in self._programs), None)


def open_guard(root: Path | None = None, gym: Sequence[GymTask] | None = None) -> LeakageGuard:
    """The guard of a tasks folder and of the gym's programs held out; None takes those that there are.

    Where there is no tasks folder at all, as beside an installed package, the gym's alone are known;
    a task's own split is refused in any case. Raises TaskError for a folder that cannot be read.
    """
    try:
        root = root or find_tasks_root()
    except TaskError:
        tasks: tuple[Task, ...] = ()
    else:
        tasks = load_all(root)
    return LeakageGuard(tasks, held_out() if gym is None else gym)


def source_task(started: Started, group: str | None) -> SourceTask:
    """What to keep of an episode's task; ``group`` as its run tells it."""
    sources = {path: text for path, text in sorted(started.files.items()) if _is_source(path)}
    made = gym_task(started.task)
    if made and sources != {made.source_path: made.workspace[made.source_path].decode()}:
        made = None
    return SourceTask(
        id=started.task,
        content_hash=started.task_hash,
        group=f"gym_{made.shape}" if made else group or started.task,
        split=started.split,
        sources=sources,
        program=_hash(made.fingerprint) if made else None,
    )


def task_to_learn(task: Task) -> SourceTask:
    """What there is to check of a task before any episode."""
    sources = {path: content.decode("utf-8", "replace") for path, content in sorted(task.workspace.items())}
    return SourceTask(
        id=task.id,
        content_hash=task.content_hash,
        group=task.group,
        split=task.split,
        sources={path: text for path, text in sources.items() if _is_source(path)},
    )


@cache
def gym_task(name: str) -> GymTask | None:
    """The task of the gym with this name; None for other names and for those held out."""
    family, _, seed = name.removeprefix(_GYM_STEM).rpartition("_")
    if not name.startswith(_GYM_STEM) or family not in list(LabFamily) or not seed.isdecimal():
        return None
    return generate(LabFamily(family), int(seed))


def _forbidden(task: Task) -> _Forbidden:
    sources = tuple(content for path, content in sorted(task.workspace.items()) if _is_source(path))
    return _Forbidden(
        id=task.id,
        split=task.split,
        content_hash=task.content_hash,
        group=task.group,
        shingles=_shingles(sources),
    )


def _likeness(task: SourceTask, own: frozenset[int], other: _Forbidden) -> str | None:
    if task.id == other.id:
        return "has the name of"
    if task.content_hash == other.content_hash:
        return "has the content of"
    if task.group == other.group:
        return "is of the group of"
    return "has nearly the source of" if jaccard(own, other.shingles) >= MOST_OVERLAP else None


def _programs(task: GymTask) -> set[str]:
    """Fingerprints of a program: right, with its defect, and after each entry of the menu."""
    files = [task.workspace, *(entry.files for entry in task.edit_operations)]
    sources = {one[task.source_path] for one in files if task.source_path in one}
    prints = {task.fingerprint} | {fingerprint_of(source.decode()) for source in sources}
    return set(map(_hash, prints))


def _fingerprint(source: str) -> str | None:
    try:
        return _hash(fingerprint_of(source))
    except (SyntaxError, ValueError):
        return None  # no program of the gym


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def _shingles(sources: tuple[bytes, ...]) -> frozenset[int]:
    found: set[int] = set()
    for source in sources:
        try:
            found |= shingles((source,))
        except (TokenError, SyntaxError):
            continue  # a file that is no Python is like no other
    return frozenset(found)


def _is_source(path: str) -> bool:
    return path.endswith(".py") and not is_test_file(path)
