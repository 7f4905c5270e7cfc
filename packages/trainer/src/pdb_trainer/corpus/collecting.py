"""Collects episodes of the training split: a run of the agent, which goes on where it was stopped."""

from collections.abc import Callable, Iterator
from contextlib import AsyncExitStack
from itertools import count, islice
from pathlib import Path
from typing import Any

from pdb_agent.batch import Plan, PolicyFor, Progress, run_batch
from pdb_agent.config import ArmConfig, GymConfig
from pdb_agent.config import RunConfig as AgentConfig
from pdb_agent.config import TasksConfig as AgentTasks
from pdb_agent.manifest import describe_tasks, make_manifest, tools_hash
from pdb_agent.run_commands import Policies, price_of
from pdb_agent.run_folder import RunFolder
from pdb_agent.sandbox import SandboxSpec
from pdb_agent.sandboxes.interpreters import task_interpreter
from pdb_agent.sandboxes.opening import open_sandbox, strongest
from pdb_agent.sandboxes.probe import choose
from pdb_agent.task import Split
from pdb_agent.task_choice import TaskChoice, choose_tasks
from pdb_agent.task_files import find_tasks_root, load_all
from pdb_agent.toolbox import open_toolbox
from pdb_agent.toolsets import ToolsetName
from pdb_agent.validation.stamp import tier_of

from pdb_trainer.config import GymTasksConfig
from pdb_trainer.corpus.leakage import LeakageGuard, gym_task, task_to_learn
from pdb_trainer.corpus.origin import Origin, write_origin
from pdb_trainer.corpus.settings import CollectConfig
from pdb_trainer.errors import ConfigError

_MOST_PASSED_OVER = 20
"""Tasks of the gym that may be held out for one that is not, before that is too many."""


async def collect(
    config: CollectConfig,
    out: Path,
    guard: LeakageGuard,
    *,
    jobs: int,
    policy_for: PolicyFor | None = None,
    origin: Origin | None = None,
    tell: Callable[[Progress], None] = lambda progress: None,
) -> int:
    """Run what is missing of a collection in ``out``; how many episodes are still without a valid end.

    ``policy_for`` gives the policies where ``config.policy`` is only their name for the record; ``origin``
    says what made them, None being a teacher. Raises LeakageError for a task that is not to be learnt
    from, and as ``pdb-agent eval`` does: ConfigError, RunFolderError, PolicyError, BatchError.
    """
    choice, tasks = choose_training_tasks(config, guard)
    plan = Plan(
        config=_agent_config(config, tasks),
        tasks=choice.tasks,
        tiers={task.id: tier_of(task) for task in choice.tasks},
        menus=choice.menus,
        price=price_of,
        jobs=jobs,
    )
    folder = RunFolder(out)
    with folder.locked():
        folder.claim(await _manifest(plan, choice), describe_tasks(choice.tasks))
        write_origin(out, origin or Origin())
        async with AsyncExitStack() as stack:
            policies = policy_for or Policies(stack, choice.right_operations)
            policies(config.policy, choice.tasks[0])  # a missing key is said before anything runs
            return await run_batch(plan, folder, policies, tell)


def refuse_changing_tools(config: CollectConfig) -> None:
    """Raise ConfigError for a toolset whose episodes are no examples."""
    if ToolsetName.UNLOCK_AFTER_EDITS in config.toolsets:
        raise ConfigError("Tools that appear on the way make no examples: leave out unlock-after-k.")


def choose_training_tasks(config: CollectConfig, guard: LeakageGuard) -> tuple[TaskChoice, AgentTasks]:
    """The tasks of a collection, and how a run's manifest names them.

    Programs that the guard holds out are passed over in the gym; a task of another split, or like one, is
    refused: LeakageError names it. Raises ConfigError where there are no tasks.
    """
    wanted = config.tasks
    if wanted.gym is not None:
        return _gym_tasks(config, wanted.gym, guard)
    if wanted.ids:  # a split alone would pass them over in silence
        for task in load_all(wanted.root or find_tasks_root(), ids=wanted.ids):
            guard.check(task_to_learn(task))
    tasks = AgentTasks(root=wanted.root, split=Split.TRAIN, ids=wanted.ids)
    choice = choose_tasks(_agent_config(config, tasks))
    for task in choice.tasks:
        guard.check(task_to_learn(task))
    return choice, tasks


def _gym_tasks(
    config: CollectConfig, gym: GymTasksConfig, guard: LeakageGuard
) -> tuple[TaskChoice, AgentTasks]:
    """The first ``gym.count`` tasks of the gym that are not held out, or those of them that have an id."""
    numbered = islice(_gym_names(gym), _MOST_PASSED_OVER * gym.count + _MOST_PASSED_OVER)
    allowed = list(islice((one for one in numbered if _may_be_learnt(one[1], guard)), gym.count))
    if len(allowed) < gym.count:
        raise ConfigError(f"The gym has no {gym.count} tasks beside those held out: ask for fewer.")
    names = [name for _, name in allowed]
    if unknown := [name for name in config.tasks.ids if name not in names]:
        raise ConfigError(f"{unknown[0]} is none of the {gym.count} tasks of the gym to learn from.")
    made = GymConfig(families=gym.families, count=allowed[-1][0] + 1, held_out=False)
    tasks = AgentTasks(gym=made, ids=config.tasks.ids or tuple(names))
    return choose_tasks(_agent_config(config, tasks)), tasks


def _gym_names(gym: GymTasksConfig) -> Iterator[tuple[int, str]]:
    """Names of the gym's tasks in the order in which it makes them, numbered."""
    for number in count():
        seed, turn = divmod(number, len(gym.families))
        yield number, f"gym_{gym.families[turn]}_{seed}"


def _may_be_learnt(name: str, guard: LeakageGuard) -> bool:
    task = gym_task(name)
    return task is not None and guard.allows(task)


def _agent_config(config: CollectConfig, tasks: AgentTasks) -> AgentConfig:
    edits = config.unlock_after_edits
    return AgentConfig(
        policy=config.policy,
        sampling=config.sampling,
        limits=config.limits,
        tasks=tasks,
        arms={str(name): ArmConfig(toolset=name, unlock_after_edits=edits) for name in config.toolsets},
        repetitions=config.repetitions,
        backend=config.backend,
    )


async def _manifest(plan: Plan, choice: TaskChoice) -> dict[str, Any]:
    wanted = plan.config.backend
    sandbox = await (strongest() if wanted is None else choose(open_sandbox, wanted=wanted))
    tools = {name: await _tools_of(arm, choice) for name, arm in plan.config.arms.items()}
    return make_manifest(plan.config, choice.tasks, sandbox=sandbox.as_dict(), tiers=plan.tiers, tools=tools)


async def _tools_of(arm: ArmConfig, choice: TaskChoice) -> str:
    """Tells versions of a toolset apart."""
    task = choice.tasks[0]
    spec = SandboxSpec(python=task_interpreter(), files=task.workspace)
    async with open_toolbox(task, arm.record(), spec=spec, menu=choice.menus.get(task.id)) as toolbox:
        return tools_hash(toolbox.all_specs)
