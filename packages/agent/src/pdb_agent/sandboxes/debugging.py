"""The debugger server for one sandbox: what it may look at, and where its programs start."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Literal

from mcp.client.client import Client
from mcp_pdb.client import open_debugger
from mcp_pdb.options import ServerOptions

from pdb_agent.sandbox import Sandbox


@asynccontextmanager
async def open_debugger_in(
    sandbox: Sandbox, *, toolset: Literal["default", "all"] = "default"
) -> AsyncGenerator[Client]:
    """A client of the very server that people plug into their assistants, for this sandbox.

    Its programs start inside, with the sandbox's interpreter and environment and a channel
    that they inherit. On the host it looks at the copy of the workspace and at nothing else:
    that is its one root, and the default of ``cwd``. Sessions end with the block.
    """
    options = ServerOptions(toolset=toolset, python=sandbox.python, roots=(str(sandbox.workspace),))
    async with open_debugger(launcher=sandbox.launcher, options=options) as client:
        yield client
