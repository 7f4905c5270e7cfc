"""The door for programs that drive the debugger in their own process, such as an agent.

The client speaks to the very server that stdio and HTTP serve, so what a
program sees here is what a model sees there.
"""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from importlib.util import find_spec
from pathlib import Path

from mcp.client.client import Client

from mcp_pdb.launcher import Launcher
from mcp_pdb.options import ServerOptions
from mcp_pdb.server import create_server


@asynccontextmanager
async def open_debugger(
    *, launcher: Launcher | None = None, options: ServerOptions | None = None
) -> AsyncGenerator[Client]:
    """A connected MCP client; every session ends with the block.

    ``launcher`` says how debuggees start (inside a sandbox, for instance);
    None starts them plainly. What the block raises comes out as it is, in no group.
    """
    failure: Exception | None = None
    async with Client(create_server(options, launcher=launcher)) as client:
        try:
            yield client
        except Exception as error:  # noqa: BLE001 - raised again below
            failure = error
    if failure is not None:
        raise failure


def code_for_debuggees() -> tuple[Path, ...]:
    """Folders that must be readable, at these paths, wherever a launcher starts debuggees.

    They hold the code of both engines and the reaper's script.
    """
    debugpy = find_spec("debugpy")
    engines = [Path(debugpy.origin).parent] if debugpy is not None and debugpy.origin else []
    return (Path(__file__).parent, *engines)
