"""V13: what does nothing for the defect is not graded as a solution; and which tier can grade the task."""

import ast
from collections.abc import Mapping
from pathlib import Path

from pdb_agent.errors import TaskError
from pdb_agent.grading.grader import grade
from pdb_agent.grading.submission import is_editable
from pdb_agent.grading.verdict import Tier, Verdict
from pdb_agent.patches import apply_patch
from pdb_agent.reach import parse_module
from pdb_agent.sandbox import Backend
from pdb_agent.task import Task
from pdb_agent.validation.rules import Complaint


async def check_grading(
    task: Task, *, python: Path, backend: Backend | None
) -> tuple[list[Complaint], Tier | None]:
    """Complaints about verdicts, and the strongest tier that takes the solution for one."""
    try:
        tier, verdict = await find_tier(task, python=python, backend=backend)
    except TaskError as error:
        return [Complaint(rule="V13", text=str(error))], None
    if tier is None:
        text = f"The grader does not take the solution for one: {verdict.reason}"
        return [Complaint(rule="V13", text=text)], None
    complaints: list[Complaint] = []
    decoys = {
        f"changed by the decoy {decoy.name}": apply_patch(decoy, task.workspace) for decoy in task.decoys
    }
    for name, files in (null_submissions(task) | decoys).items():
        verdict = await grade(task, files, python=python, backend=backend, tier=tier)
        if verdict.solved:
            text = f"The workspace is graded as solved when it is {name}: test what is missing then."
            complaints.append(Complaint(rule="V13", text=text))
    return complaints, tier


async def find_tier(task: Task, *, python: Path, backend: Backend | None) -> tuple[Tier | None, Verdict]:
    """The strongest tier that takes the solution for one, and its verdict.

    Tier A has to, for it grades what has no stamp; None with its verdict when it does not.
    """
    fixed = apply_patch(task.solution, task.workspace)
    in_one = await grade(task, fixed, python=python, backend=backend, tier=Tier.SAME_PROCESS)
    if not in_one.solved:
        return None, in_one
    across = await grade(task, fixed, python=python, backend=backend, tier=Tier.BOUNDARY)
    return (Tier.BOUNDARY, across) if across.solved else (Tier.SAME_PROCESS, in_one)


def null_submissions(task: Task) -> dict[str, Mapping[str, bytes]]:
    """Workspaces in which nobody has repaired anything, each under the words for its state."""
    target = task.target.partition("::")[0]
    editable = [path for path in task.workspace if is_editable(path, task) and path.endswith(".py")]
    return {
        "untouched": task.workspace,
        "emptied": {**task.workspace, **dict.fromkeys(editable, b"")},
        "hollowed": {**task.workspace, **{path: hollow(path, task.workspace[path]) for path in editable}},
        "without the failing test": {
            path: content for path, content in task.workspace.items() if path != target
        },
    }


def hollow(path: str, content: bytes) -> bytes:
    """A module whose functions do nothing."""
    tree = parse_module(path, content)
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            node.body = [ast.Pass()]
    return ast.unparse(ast.fix_missing_locations(tree)).encode()
