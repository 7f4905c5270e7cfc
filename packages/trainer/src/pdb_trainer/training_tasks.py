"""Which tasks a run learns from, in which order, and which ones it is measured on."""

import random
from collections.abc import Iterator
from pathlib import Path

from pdb_agent.config import ArmConfig, GymConfig
from pdb_agent.config import RunConfig as AgentConfig
from pdb_agent.config import TasksConfig as AgentTasks
from pdb_agent.task import Split, Task
from pdb_agent.task_choice import TaskChoice, choose_tasks
from pdb_agent.task_files import find_tasks_root, load_all

from pdb_trainer.config import TasksConfig, ToolsetConfig
from pdb_trainer.corpus.leakage import open_guard, task_to_learn


def training_tasks(tasks: TasksConfig, toolset: ToolsetConfig) -> TaskChoice:
    """Tasks of the training split, with their menus.

    Raises LeakageError for one of another split, and AgentError where there are none.
    """
    gym = None
    if tasks.gym is not None:
        gym = GymConfig(families=tasks.gym.families, count=tasks.gym.count, held_out=False)
    elif tasks.ids:  # else one of another split would just not be there
        _refuse_others(load_all(tasks.root or find_tasks_root(), ids=tasks.ids), tasks.root)
    split = Split.TRAIN if gym is None else None
    chosen = AgentTasks(root=tasks.root, split=split, ids=tasks.ids, gym=gym)
    choice = choose_tasks(_agent_config(chosen, toolset))
    if gym is None:  # those of the gym are never held out
        _refuse_others(choice.tasks, tasks.root)
    return choice


def measuring_tasks(tasks: TasksConfig, count: int | None) -> AgentTasks:
    """What an evaluation during training looks at: tasks held out by the gym, or the validation split."""
    if tasks.gym is not None:
        return AgentTasks(gym=GymConfig(families=tasks.gym.families, count=count, held_out=True))
    validation = load_all(tasks.root or find_tasks_root(), split=Split.VALIDATION, ids=())
    return AgentTasks(root=tasks.root, ids=tuple(task.id for task in validation[:count]))


def endless(count: int, seed: int, position: int) -> Iterator[int]:
    """Indices below ``count``, each pass in an order of its own, from ``position`` on; fixed by the seed."""
    while True:
        lap, start = divmod(position, count)
        order = list(range(count))
        random.Random(f"{seed}/{lap}").shuffle(order)
        for index in order[start:]:
            position += 1
            yield index


def _agent_config(tasks: AgentTasks, toolset: ToolsetConfig) -> AgentConfig:
    arm = ArmConfig(toolset=toolset.name, unlock_after_edits=toolset.unlock_after_edits)
    return AgentConfig(tasks=tasks, arms={"policy": arm}, backend=toolset.backend)


def _refuse_others(tasks: tuple[Task, ...], root: Path | None) -> None:
    """Raise LeakageError for the first one that must not be learned from."""
    guard = open_guard(root)
    for task in tasks:
        guard.check(task_to_learn(task))
