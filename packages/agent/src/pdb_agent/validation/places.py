"""Where the tests of a task run: a workspace with one variant of its files at a time."""

import tempfile
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path

from mcp_pdb.launcher import PlainLauncher

from pdb_agent.patches import apply_patch
from pdb_agent.task import Task
from pdb_agent.validation.suite import SuitePlace


class PlainPlace:
    """A temporary folder on this machine."""

    def __init__(self, place: SuitePlace) -> None:
        self.suite = place
        self._laid: set[str] = set()

    async def lay(self, files: Mapping[str, bytes]) -> None:
        """Make the workspace hold exactly these files."""
        folder = Path(self.suite.folder)
        for path in self._laid - files.keys():
            (folder / path).unlink(missing_ok=True)
        for path, content in files.items():
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            (folder / path).write_bytes(content)
        self._laid = set(files)


@asynccontextmanager
async def open_place(python: Path) -> AsyncIterator[PlainPlace]:
    """A place with the given interpreter; leaving the block ends all that runs there."""
    with tempfile.TemporaryDirectory(prefix="task-") as folder:
        environment = {"PATH": "/usr/bin:/bin", "HOME": folder, "LANG": "C.UTF-8"}
        async with PlainLauncher() as launcher:
            yield PlainPlace(
                SuitePlace(launcher=launcher, folder=folder, python=str(python), environment=environment)
            )


def variants(task: Task) -> dict[str, dict[str, bytes]]:
    """The files of each version of a task with all its tests: ``buggy``, ``fixed`` and the decoys.

    Raises TaskError when a patch does not apply.
    """
    hidden = {f"hidden/{path}": content for path, content in task.hidden.items()}
    sources = {"buggy": dict(task.workspace), "fixed": apply_patch(task.solution, task.workspace)}
    for decoy in task.decoys:
        sources[f"decoy {decoy.name}"] = apply_patch(decoy, task.workspace)
    return {name: files | hidden for name, files in sources.items()}
