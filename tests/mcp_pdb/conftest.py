"""A client of the real server with real programs, for tests of what a model sees."""

import sys
import textwrap
from collections.abc import AsyncGenerator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import anyio
import mcp_types as types
import psutil
import pytest
from mcp.client.client import Client
from mcp_pdb.engines import BackendFactory, create_backend
from mcp_pdb.options import ServerOptions
from mcp_pdb.server import create_server

WAIT_SECONDS = 60
ALL_TOOLS = ServerOptions(toolset="all", python=sys.executable)

LOOP = """
    def total_of(numbers):
        total = 0
        for number in numbers:
            total += number
        return total


    print("begin")
    result = total_of([3, 5, 7])
    print("end", result)
"""

ASKING = """
    def ask():
        return input()


    answer = ask()
    print("got", answer)
"""
"""Runs until it is sent a line: a program that is busy for exactly as long as a test wants."""


class Debugging:
    """A connected client with the words that tests use."""

    def __init__(self, client: Client, folder: Path) -> None:
        self.client = client
        self.folder = folder
        self.last: types.CallToolResult | None = None

    async def call(self, tool: str, **arguments: object) -> str:
        """The text a model reads."""
        self.last = await self.client.call_tool(tool, arguments)
        assert self.last.structured_content is None
        return "\n".join(block.text for block in self.last.content if isinstance(block, types.TextContent))

    async def refused(self, tool: str, **arguments: object) -> str:
        """The text of an answer that must be an error."""
        text = await self.call(tool, **arguments)
        assert self.last is not None
        assert self.last.is_error, f"{tool} should have been refused, and said: {text}"
        return text

    async def done(self, tool: str, **arguments: object) -> str:
        """The text of an answer that must not be an error."""
        text = await self.call(tool, **arguments)
        assert self.last is not None
        assert not self.last.is_error, text
        return text

    @property
    def machine(self) -> dict[str, Any]:
        """The machine fields of the last answer."""
        assert self.last is not None
        return (self.last.meta or {})["mcp-pdb"]

    def write(self, name: str, source: str) -> None:
        write_program(self.folder, source, name)

    async def start(self, source: str = LOOP, **arguments: object) -> str:
        self.write("program.py", source)
        return await self.done("start_debugger", target="program.py", cwd=str(self.folder), **arguments)


def write_program(folder: Path, source: str, name: str = "program.py") -> None:
    (folder / name).write_text(textwrap.dedent(source).lstrip("\n"), encoding="utf-8")


Connect = Callable[..., AbstractAsyncContextManager[Debugging]]


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
def connect(tmp_path: Path) -> Connect:
    """``async with connect(…) as debugging``: a client of a server of its own; nothing is left afterwards."""

    @asynccontextmanager
    async def connected(
        *,
        mode: str = "auto",
        options: ServerOptions = ALL_TOOLS,
        make_backend: BackendFactory = create_backend,
        wait_seconds: float = WAIT_SECONDS,
        **changes: Any,
    ) -> AsyncGenerator[Debugging]:
        server = create_server(replace(options, **changes), make_backend=make_backend)
        with anyio.fail_after(wait_seconds):
            async with Client(server, mode=mode) as client:
                yield Debugging(client, tmp_path)
        assert processes_in(tmp_path) == []

    return connected


def processes_in(folder: Path) -> list[int]:
    """Processes whose working directory lies below ``folder``."""
    found: list[int] = []
    for process in psutil.process_iter():
        try:
            if process.cwd().startswith(str(folder)):
                found.append(process.pid)
        except psutil.Error:
            continue
    return found


async def until_gone(folder: Path) -> None:
    """Wait until no process is left there; the caller's deadline bounds it."""
    while processes_in(folder):  # noqa: ASYNC110 - what another process does sets no event of ours
        await anyio.sleep(0.02)
