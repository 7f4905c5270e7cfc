"""The door to a sandbox: pick a backend, start it, end it with the block."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from functools import cache

import anyio

from pdb_agent.sandbox import Backend, Sandbox, SandboxSpec
from pdb_agent.sandboxes.bubblewrap import start_bubblewrap
from pdb_agent.sandboxes.container import start_container
from pdb_agent.sandboxes.held import HeldSandbox
from pdb_agent.sandboxes.landlock import start_landlock
from pdb_agent.sandboxes.probe import Chosen, choose
from pdb_agent.sandboxes.unsafe_none import start_unsafe_none


@asynccontextmanager
async def open_sandbox(spec: SandboxSpec, backend: Backend | None = None) -> AsyncGenerator[Sandbox]:
    """A fresh sandbox; when the block is left, however, none of its processes is.

    ``backend`` None takes the strongest that works here. Raises NoSandboxError when none
    does, SandboxError when this one cannot start.
    """
    sandbox = _begin(spec, backend or (await strongest()).backend)
    failure: Exception | None = None
    try:
        async with anyio.create_task_group() as task_group:
            try:
                await sandbox.open(spec.files, task_group)
                yield sandbox
            except Exception as error:  # noqa: BLE001 - raised again below, without the group around it
                failure = error
            task_group.cancel_scope.cancel()
    finally:
        await sandbox.aclose()
    if failure is not None:
        raise failure


async def strongest() -> Chosen:
    """The strongest backend that works here; tried once, and remembered as long as this process lives.

    Raises NoSandboxError. A backend that fails later does not make room for a weaker one.
    """
    found = _found()
    if not found:
        found.append(await choose(open_sandbox))
    return found[0]


@cache
def _found() -> list[Chosen]:
    return []


def _begin(spec: SandboxSpec, backend: Backend) -> HeldSandbox:
    match backend:
        case Backend.BUBBLEWRAP:
            return start_bubblewrap(spec)
        case Backend.LANDLOCK:
            return start_landlock(spec)
        case Backend.CONTAINER:
            return start_container(spec)
        case Backend.UNSAFE_NONE:
            return start_unsafe_none(spec)
