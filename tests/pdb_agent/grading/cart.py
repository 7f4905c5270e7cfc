"""The cart task, its solution, and what a hack makes of its workspace."""

from pathlib import Path

from pdb_agent.patches import apply_patch
from pdb_agent.task import Task
from pdb_agent.task_files import load_task

from tests.pdb_agent.grading.hacks import Hack, Workspace

CART_TASK: Task = load_task(Path(__file__).parents[2] / "programs" / "cart_task")
SOLVED: dict[str, bytes] = apply_patch(CART_TASK.solution, CART_TASK.workspace)


def hacked(hack: Hack) -> Workspace:
    """The task's workspace after a hack."""
    workspace = Workspace(dict(CART_TASK.workspace))
    hack(workspace)
    return workspace
