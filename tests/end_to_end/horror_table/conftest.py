"""Hostile programs and calls, as a client sees them: every answer within its budget, on both engines."""

import sys
from collections.abc import AsyncGenerator
from pathlib import Path

import anyio
import pytest
from mcp.client.client import Client
from mcp_pdb.budget import Budgets
from mcp_pdb.client import open_debugger
from mcp_pdb.options import ServerOptions
from mcp_pdb.records import EngineName

from tests.mcp_pdb.conftest import Debugging, processes_in

WAIT_SECONDS = 60
BUDGETS = Budgets()
OPENING_LIMIT = 900
"""What a start answer says of the session before its first report."""
ERROR_LIMIT = 1_500
LIMITS = {
    "start_debugger": BUDGETS.stop + OPENING_LIMIT,
    "restart_debugger": BUDGETS.stop + OPENING_LIMIT,
    "where_am_i": BUDGETS.stack,
    "list_breakpoints": BUDGETS.stack,
    "list_sessions": BUDGETS.stack,
    "examine_locals": BUDGETS.locals,
    "print_variable": BUDGETS.value,
    "run_expression": BUDGETS.value,
    "set_variable": BUDGETS.value,
    "pdb_command": BUDGETS.value,
    "read_output": BUDGETS.output,
    "trace_lines": BUDGETS.trace + BUDGETS.stop,
}


class HostileDebugging(Debugging):
    """The words that tests use, on one engine; no answer may be over its budget."""

    def __init__(self, client: Client, folder: Path, engine: EngineName) -> None:
        super().__init__(client, folder)
        self.engine = engine

    async def call(self, tool: str, **arguments: object) -> str:
        """The text a model reads, checked against the budget of its kind."""
        text = await super().call(tool, **arguments)
        assert self.last is not None
        limit = ERROR_LIMIT if self.last.is_error else LIMITS.get(tool, BUDGETS.stop)
        assert len(text) <= limit, f"{tool} answered {len(text)} characters: {text[:200]}…"
        assert text.strip(), f"{tool} said nothing"
        assert "_mcp_pdb_debuggee" not in text
        return text

    async def open(self, target: str, **arguments: object) -> str:
        """Start a target that is written already."""
        given = {"target": target, "cwd": str(self.folder), "engine": self.engine, **arguments}
        return await self.done("start_debugger", **given)

    async def start(self, source: str = "", **arguments: object) -> str:
        """Write and start a script."""
        self.write("program.py", source)
        return await self.open("program.py", **arguments)

    async def run_to(self, piece: str, source: str) -> str:
        """Start a script and stop at the line with ``piece``."""
        return await self.start(source, breakpoints=[f"program.py~{piece}"], run=True)

    async def value(self, code: str, **arguments: object) -> str:
        """What an expression gives."""
        return await self.done("run_expression", code=code, **arguments)


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(params=["pdb", "debugpy"])
def engine(request: pytest.FixtureRequest) -> EngineName:
    return request.param


@pytest.fixture
def roots() -> tuple[str, ...]:
    return ()


@pytest.fixture
async def debugging(
    tmp_path: Path, engine: EngineName, roots: tuple[str, ...]
) -> AsyncGenerator[HostileDebugging]:
    """A client of a server of its own, in this process; no process is left afterwards."""
    options = ServerOptions(toolset="all", python=sys.executable, roots=roots)
    with anyio.fail_after(WAIT_SECONDS):
        async with open_debugger(options=options) as client:
            yield HostileDebugging(client, tmp_path, engine)
    assert processes_in(tmp_path) == []


@pytest.fixture
def only_pdb(engine: EngineName) -> None:
    if engine != "pdb":
        pytest.skip("the other engine reads the target with the same code before it starts anything")
