"""Our tasks as rows for other harnesses, and one episode of one of them through our own loop."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pdb_agent.episode import Ended, Episode, EpisodeLog, assemble
from pdb_agent.exports.conversation import ExportError
from pdb_agent.limits import EpisodeLimits
from pdb_agent.loop import EpisodeSettings, run_episode
from pdb_agent.policy import Policy, Sampling
from pdb_agent.prompt import first_message, system_prompt
from pdb_agent.task import Split, Task
from pdb_agent.task_files import find_tasks_root, load_task, task_folders
from pdb_agent.toolsets import Toolset, ToolsetName


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskChoice:
    """Which tasks, and how they are run."""

    root: Path | None = None
    """Default: the nearest ``tasks`` folder from here up."""
    split: str | None = None
    ids: Sequence[str] = ()
    """Default: all of the split."""
    toolset: str = ToolsetName.DEBUG
    limits: EpisodeLimits = field(default_factory=EpisodeLimits)
    sampling: Sampling = field(default_factory=Sampling)

    def tasks(self) -> Iterator[Task]:
        """The tasks, in the order of their ids. Raises ExportError when there is none of them."""
        split = Split(self.split) if self.split is not None else None
        wanted, found = set(self.ids), 0
        for folder in task_folders(self.root or find_tasks_root()):
            if wanted and folder.name not in wanted:
                continue
            task = load_task(folder)
            if split is None or task.split == split:
                found += 1
                yield task
        if not found:
            raise ExportError("No task is of that split and those ids: `pdb-agent tasks list` shows all.")

    def settings(self) -> EpisodeSettings:
        """How each is run."""
        toolset = Toolset(name=ToolsetName(self.toolset))
        return EpisodeSettings(arm=toolset.name, toolset=toolset, limits=self.limits, sampling=self.sampling)

    def row(self, task: Task) -> dict[str, Any]:
        """What others may know of a task: its prompt, and nothing of how it is graded."""
        return {
            "task": task.id,
            "prompt": [
                {"role": "system", "content": system_prompt(task, self.settings().toolset)},
                {"role": "user", "content": first_message(task)},
            ],
            "info": {
                "split": str(task.split),
                "family": task.family,
                "difficulty": task.difficulty,
                "preference": str(task.preference),
                "content_hash": task.content_hash,
            },
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Finished:
    """An episode and its end."""

    episode: Episode
    ended: Ended


async def run_one(task: Task, policy: Policy, choice: TaskChoice) -> Finished:
    """Run one episode in memory. Raises ExportError when it ended by infrastructure: run it again."""
    with EpisodeLog(None) as log:
        ended = await run_episode(task, policy, choice.settings(), log)
    if ended.reason.is_infrastructure:
        raise ExportError(f"{task.id} ended by {ended.reason}: {ended.detail} Run it again.")
    return Finished(episode=assemble(log.events, task.id), ended=ended)
