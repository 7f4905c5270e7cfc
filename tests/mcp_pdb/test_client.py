"""The door for programs: the same answers as over a pipe, and debuggees that start where they are told."""

import re
import sys
from collections.abc import Sequence
from pathlib import Path

import anyio
import mcp_types as types
import pytest
from mcp.client.client import Client
from mcp.client.stdio import StdioServerParameters
from mcp_pdb.client import open_debugger
from mcp_pdb.launcher import CommandLauncher, PlainLauncher
from mcp_pdb.options import ServerOptions

from tests.mcp_pdb.conftest import LOOP, Debugging, processes_in, write_program

pytestmark = pytest.mark.anyio

CONVERSATION: Sequence[tuple[str, dict[str, object]]] = (
    ("start_debugger", {"target": "program.py", "breakpoints": ["program.py~total += number"], "run": True}),
    ("examine_locals", {}),
    ("step_over", {"count": 2}),
    ("run_expression", {"code": "totl"}),
    ("continue_execution", {"timeout": 3}),
    ("print_variable", {"path": "numbers"}),
    ("remove_breakpoint", {"id": "all"}),
    ("continue_execution", {}),
    ("stop_debugger", {}),
)


async def talk(client: Client, folder: Path) -> list[tuple[str, bool]]:
    """The conversation's answers, without what differs from one run to the next."""
    answers: list[tuple[str, bool]] = []
    for tool, arguments in CONVERSATION:
        place = {"cwd": str(folder)} if tool == "start_debugger" else {}
        result = await client.call_tool(tool, {**arguments, **place})
        (block,) = result.content
        assert isinstance(block, types.TextContent)
        answers.append((re.sub(r"dbg-[\w-]{8}|pid \d+", "…", block.text), result.is_error))
    return answers


async def test_an_agent_in_this_process_reads_what_a_client_of_the_command_reads(tmp_path: Path):
    write_program(tmp_path, LOOP)
    command = StdioServerParameters(
        command=sys.executable, args=["-m", "mcp_pdb", "serve", "--python", sys.executable]
    )
    with anyio.fail_after(60):
        async with open_debugger(options=ServerOptions(python=sys.executable)) as client:
            inside = await talk(client, tmp_path)
        async with Client(command) as client:
            outside = await talk(client, tmp_path)
    assert inside == outside
    assert [is_error for _, is_error in inside] == [
        False,
        False,
        False,
        True,
        True,
        False,
        False,
        False,
        False,
    ]
    assert processes_in(tmp_path) == []


async def test_debuggees_start_through_the_launcher_that_is_given(tmp_path: Path):
    write_program(tmp_path, "import os\nprint('inside', os.environ['SANDBOX'])\n")
    with anyio.fail_after(60):
        async with PlainLauncher() as plain:
            launcher = CommandLauncher(("env", "SANDBOX=yes"), plain)
            options = ServerOptions(python=sys.executable)
            async with open_debugger(launcher=launcher, options=options) as client:
                debugging = Debugging(client, tmp_path)
                text = await debugging.done(
                    "start_debugger", target="program.py", cwd=str(tmp_path), run=True
                )
                assert "| inside yes" in text
