"""Which tasks a run is about, and what goes with each: its edit menu, and which entry is right."""

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

from pdb_agent.config import ConfigError, GymConfig, RunConfig
from pdb_agent.procedural.gym import GymTask, generate, held_out
from pdb_agent.procedural.gym_tasks import as_task
from pdb_agent.task import Split, Task
from pdb_agent.task_files import find_tasks_root, load_all
from pdb_agent.tools.menu import Menu
from pdb_agent.toolsets import ToolsetName

GYM_COUNT = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskChoice:
    """The tasks of a run."""

    tasks: tuple[Task, ...]
    menus: Mapping[str, Menu] = field(default_factory=dict[str, Menu])
    """By id, for tasks that have one."""
    right_operations: Mapping[str, str] = field(default_factory=dict[str, str])
    """For the oracle, of the same tasks."""


def choose_tasks(config: RunConfig) -> TaskChoice:
    """The tasks of a run. Raises ConfigError when there are none, or an arm that none of them suits."""
    wanted = config.tasks
    if wanted.gym is not None:
        return _gym_choice(wanted.gym, wanted.ids)
    menu_arms = [name for name, arm in config.arms.items() if arm.toolset is ToolsetName.EDIT_MENU]
    if menu_arms:
        raise ConfigError(
            f"The arm {menu_arms[0]} needs tasks with an edit menu: set tasks.gym, or take another toolset."
        )
    tasks = load_all(wanted.root or find_tasks_root(), split=wanted.split, ids=wanted.ids)
    if not tasks:
        raise ConfigError("No task is in that split: `pdb-agent tasks list` shows what there is.")
    return TaskChoice(tasks=tasks)


def _gym_choice(gym: GymConfig, ids: tuple[str, ...]) -> TaskChoice:
    made = list(_gym_tasks(gym))
    there = {task.name for task in made}
    if unknown := [name for name in ids if name not in there]:
        raise ConfigError(
            f"The gym makes no task {unknown[0]} of these: there are {', '.join(sorted(there))}."
        )
    chosen = [task for task in made if not ids or task.name in ids]
    split = Split.TEST if gym.held_out else Split.TRAIN
    return TaskChoice(
        tasks=tuple(_with_hash(as_task(task, split)) for task in chosen),
        menus={
            task.name: {str(entry.operation): entry.files for entry in task.edit_operations}
            for task in chosen
        },
        right_operations={task.name: str(task.right_operation) for task in chosen},
    )


def _gym_tasks(gym: GymConfig) -> Iterator[GymTask]:
    if gym.held_out:
        kept = [task for task in held_out() if task.family in gym.families]
        by_turn = sorted(kept, key=lambda task: (-task.seed, gym.families.index(task.family)))
        yield from by_turn[: gym.count]
        return
    for number in range(gym.count or GYM_COUNT):
        seed, turn = divmod(number, len(gym.families))
        yield generate(gym.families[turn], seed)


def _with_hash(task: Task) -> Task:
    """A task that is made has no folder to take its hash from."""
    digest = hashlib.sha256()
    for kind, files in (("workspace", task.workspace), ("hidden", task.hidden)):
        for path, content in sorted(files.items()):
            digest.update(f"{kind}/{path}\0{len(content)}\0".encode() + content)
    return replace(task, content_hash=digest.hexdigest())
