"""Which engine debugs a program."""

from collections.abc import Callable

from anyio.abc import TaskGroup

from mcp_pdb.backend import Backend
from mcp_pdb.records import EngineName

BackendFactory = Callable[[EngineName, TaskGroup], Backend]


def create_backend(engine: EngineName, task_group: TaskGroup) -> Backend:
    """A fresh engine whose own tasks live in ``task_group``; imported only when used."""
    match engine:
        case "pdb":
            from mcp_pdb.pdb_backend import PdbBackend

            return PdbBackend(task_group)
        case "debugpy":
            from mcp_pdb.debugpy_backend import DebugpyBackend

            return DebugpyBackend(task_group)
