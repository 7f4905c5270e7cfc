"""Where the tests of a task run: a sandbox with one version of its files at a time."""

from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path

from pdb_agent.patches import apply_patch
from pdb_agent.sandbox import Backend, Sandbox, SandboxSpec
from pdb_agent.sandboxes.opening import open_sandbox
from pdb_agent.task import Task
from pdb_agent.validation.suite import SuitePlace


class Place:
    """A sandbox whose workspace takes one version after the other."""

    def __init__(self, sandbox: Sandbox) -> None:
        self._sandbox = sandbox
        self._laid: dict[str, bytes] = {}
        self.suite = SuitePlace(
            launcher=sandbox.launcher,
            folder=str(sandbox.workspace),
            python=sandbox.python,
            environment=sandbox.environment,
        )

    async def lay(self, files: Mapping[str, bytes]) -> None:
        """Make the workspace hold these files, and no other that was laid before."""
        changed = {path: content for path, content in files.items() if self._laid.get(path) != content}
        await self._sandbox.remove(sorted(self._laid.keys() - files.keys()))
        await self._sandbox.put(changed)
        self._laid = dict(files)


@asynccontextmanager
async def open_place(python: Path, backend: Backend | None = None) -> AsyncGenerator[Place]:
    """A place with the given interpreter; leaving the block ends all that runs there."""
    async with open_sandbox(SandboxSpec(python=python), backend) as sandbox:
        yield Place(sandbox)


def versions_of_files(task: Task) -> dict[str, dict[str, bytes]]:
    """The files of each version of a task with all its tests: ``buggy``, ``fixed`` and the decoys.

    Raises TaskError when a patch does not apply.
    """
    hidden = {f"hidden/{path}": content for path, content in task.hidden.items()}
    fixed = apply_patch(task.solution, task.workspace) if task.solution.text.strip() else dict(task.workspace)
    sources = {"buggy": dict(task.workspace), "fixed": fixed}
    for decoy in task.decoys:
        sources[f"decoy {decoy.name}"] = apply_patch(decoy, task.workspace)
    return {name: files | hidden for name, files in sources.items()}
