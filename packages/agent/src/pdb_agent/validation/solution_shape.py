"""V9 and V14: what a solution may change, and that all patches fit exactly."""

import ast
from collections.abc import Iterator
from fnmatch import fnmatchcase

from pdb_agent.errors import TaskError
from pdb_agent.grading.submission import is_editable
from pdb_agent.patches import apply_patch, changed_line_count, changed_paths, reverse_patch
from pdb_agent.reach import is_test_file, parse_module
from pdb_agent.task import Patch, Task
from pdb_agent.validation.rules import Complaint

MOST_CHANGED_LINES = 30
_Function = ast.FunctionDef | ast.AsyncFunctionDef


def check_patches(task: Task) -> list[Complaint]:
    """V14: complaints about patches that do not fit; the other rules need those that do."""
    complaints: list[Complaint] = []
    for patch in (task.solution, *task.decoys):
        try:
            if reverse_patch(patch, apply_patch(patch, task.workspace)) != dict(task.workspace):
                complaints.append(Complaint(rule="V14", text=f"Patch {patch.name} does not reverse exactly."))
        except TaskError as error:
            complaints.append(Complaint(rule="V14", text=str(error)))
    return complaints


def check_solution(task: Task) -> list[Complaint]:
    """V9: complaints about what is editable, and about the solution's places, size and signatures."""
    texts = [*_editable(task), *_places(task, task.solution), *_signatures(task)]
    count = changed_line_count(task.solution)
    if count > MOST_CHANGED_LINES:
        texts.append(f"The solution changes {count} lines, more than {MOST_CHANGED_LINES}: make it smaller.")
    for decoy in task.decoys:
        texts += _places(task, decoy)
    return [Complaint(rule="V9", text=text) for text in texts]


def _editable(task: Task) -> Iterator[str]:
    for path in filter(is_test_file, task.workspace):
        if any(fnmatchcase(path, glob) for glob in task.editable):
            yield f"editable matches the test file {path}: name sources only."
    if not any(is_editable(path, task) for path in task.workspace):
        yield "editable matches no source of the workspace: correct its globs."


def _places(task: Task, patch: Patch) -> Iterator[str]:
    for path in changed_paths(patch):
        if not is_editable(path, task):
            yield f"Patch {patch.name} changes {path}, which editable does not match: change sources only."


def _signatures(task: Task) -> Iterator[str]:
    after = apply_patch(task.solution, task.workspace)
    for path in changed_paths(task.solution):
        if not path.endswith(".py") or path not in task.workspace:
            continue
        old = public_signatures(path, task.workspace[path])
        new = public_signatures(path, after[path]) if path in after else {}
        for name, signature in old.items():
            if new.get(name) != signature:
                yield f"The solution changes the signature of {name} in {path}: keep {name}{signature}."


def public_signatures(path: str, content: bytes) -> dict[str, str]:
    """The signatures of a module's public functions and methods, and special methods, by qualified name."""
    return dict(_signatures_in(parse_module(path, content), ""))


def _signatures_in(node: ast.Module | ast.ClassDef, prefix: str) -> Iterator[tuple[str, str]]:
    for child in node.body:
        if not isinstance(child, ast.ClassDef | _Function) or _is_private(child.name):
            continue
        name = f"{prefix}{child.name}"
        if isinstance(child, ast.ClassDef):
            yield name, f"({', '.join(map(ast.unparse, child.bases))})"
            yield from _signatures_in(child, f"{name}.")
        else:
            result = f" -> {ast.unparse(child.returns)}" if child.returns else ""
            yield name, f"({ast.unparse(child.args)}){result}"


def _is_private(name: str) -> bool:
    return name.startswith("_") and not (name.startswith("__") and name.endswith("__"))
