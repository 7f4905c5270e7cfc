"""V7: nothing reaches beyond the standard library, pytest and the temporary folder."""

import ast
import sys
from collections.abc import Iterator, Mapping, Sequence

from pdb_agent.reach import parse_module
from pdb_agent.task import Task
from pdb_agent.validation.rules import Complaint
from pdb_agent.validation.suite import SuiteRun

LONGEST_SLEEP_SECONDS = 0.05


def check_imports(task: Task) -> list[Complaint]:
    """Complaints about imports and sleeps."""
    own = {path.partition("/")[0].removesuffix(".py") for path in task.workspace if path.endswith(".py")}
    allowed = own | sys.stdlib_module_names | {"pytest"}
    hidden = {f"hidden/{path}": content for path, content in task.hidden.items()}
    texts: list[str] = []
    for path, content in {**task.workspace, **hidden}.items():
        if path.endswith(".py"):
            tree = parse_module(path, content)
            texts += _foreign_imports(path, tree, allowed)
            texts += _long_sleeps(path, tree)
    return [Complaint(rule="V7", text=text) for text in texts]


def check_reach_of_runs(runs: Mapping[str, Sequence[SuiteRun]]) -> list[Complaint]:
    """Complaints about what the runs of each version wrote or connected to."""
    texts: list[str] = []
    for version, of_version in runs.items():
        network = next((run.network for run in of_version if run.network), ())
        written = next((run.written for run in of_version if run.written), ())
        if network:
            texts.append(f"A test uses the network ({version}: {', '.join(network)}): pass a stand-in.")
        if written:
            texts.append(
                f"A test writes outside the temporary folder ({version}: {', '.join(written[:3])}): "
                "use tmp_path."
            )
    return [Complaint(rule="V7", text=text) for text in texts]


def _foreign_imports(path: str, tree: ast.Module, allowed: set[str]) -> Iterator[str]:
    for node in ast.walk(tree):
        names: list[str] = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and not node.level:
            names = [node.module or ""]
        for name in names:
            if name.partition(".")[0] not in allowed:
                yield f"{path} imports {name}: use the standard library, pytest and the program itself only."


def _long_sleeps(path: str, tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and ast.unparse(node.func) in ("time.sleep", "sleep") and node.args:
            seconds = node.args[0]
            if (
                isinstance(seconds, ast.Constant)
                and isinstance(seconds.value, int | float)
                and seconds.value > LONGEST_SLEEP_SECONDS
            ):
                yield (
                    f"{path}, line {node.lineno} sleeps for {seconds.value} s: wait for an event, or take "
                    "a clock that the test moves."
                )
