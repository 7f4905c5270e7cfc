"""Which programs of the gym a lab reads, imitates, practises on and is measured on."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cache

from pdb_agent.procedural.gym import GymTask, LabFamily, generate, held_out
from pdb_agent.procedural.gym_tasks import as_task
from pdb_agent.task import Split, Task
from pdb_agent.tools.menu import Menu

from pdb_trainer.labs.settings import LabTasksConfig

HELD_OUT_SEEDS = 100_000
"""Seeds of the gym from here on are for measuring."""
_FAMILIES = tuple(LabFamily)


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskSets:
    """All of them."""

    primer: tuple[GymTask, ...]
    oracle: tuple[GymTask, ...]
    practice: tuple[GymTask, ...]
    held_out: tuple[GymTask, ...]
    fixed: tuple[GymTask, ...]
    """Those that the gym always holds out; reported apart."""


def task_sets(config: LabTasksConfig) -> TaskSets:
    """The sets of a lab; the same settings give the same sets."""
    met = [numbered(number) for number in range(max(config.primer, config.oracle + config.practice))]
    return TaskSets(
        primer=tuple(met[: config.primer]),
        oracle=tuple(met[: config.oracle]),
        practice=tuple(met[config.oracle : config.oracle + config.practice]),
        held_out=_apart(met, config.held_out),
        fixed=held_out()[: config.fixed],
    )


def numbered(number: int) -> GymTask:
    """A task by its place in the gym's order."""
    seed, turn = divmod(number, len(_FAMILIES))
    return _made(_FAMILIES[turn], seed)


def to_measure(task: GymTask) -> tuple[Task, Menu]:
    """A task of the test split with its edit menu."""
    menu = {str(entry.operation): entry.files for entry in task.edit_operations}
    return replace(as_task(task, Split.TEST), content_hash=task.name), menu


def shared_programs(some: Iterable[GymTask], others: Iterable[GymTask]) -> set[str]:
    """Programs that are in both, without regard to names and defects."""
    return {task.fingerprint for task in some} & {task.fingerprint for task in others}


def _apart(met: Sequence[GymTask], count: int) -> tuple[GymTask, ...]:
    """Tasks whose programs are none of those met, nor each other's."""
    seen = {task.fingerprint for task in (*met, *held_out())}
    found: list[GymTask] = []
    number = HELD_OUT_SEEDS * len(_FAMILIES)
    while len(found) < count:
        task = numbered(number)
        if task.fingerprint not in seen:
            seen.add(task.fingerprint)
            found.append(task)
        number += 1
    return tuple(found)


@cache
def _made(family: LabFamily, seed: int) -> GymTask:
    return generate(family, seed)
