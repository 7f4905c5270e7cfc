"""Debuggees start behind a sandbox's command, over their inherited channel and with no network."""

import subprocess

import pytest
from mcp_pdb.client import open_debugger
from mcp_pdb.launcher import CommandLauncher, PlainLauncher

pytestmark = pytest.mark.anyio

NO_NETWORK = ("unshare", "--net")
PROGRAM = """
import socket

def reachable():
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", 9)) != 101  # ENETUNREACH: not even the loopback is up

answer = reachable()
print("reachable", answer)
"""


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
def no_network() -> tuple[str, ...]:
    if subprocess.run([*NO_NETWORK, "true"], capture_output=True, check=False).returncode:
        pytest.skip("this machine lets nobody make a network namespace")
    return NO_NETWORK


@pytest.mark.parametrize("engine", ["pdb", "debugpy"])
async def test_a_session_runs_in_a_namespace_without_any_network(tmp_path, no_network, engine):
    program = tmp_path / "program.py"
    program.write_text(PROGRAM, encoding="utf-8")

    async with PlainLauncher() as plain, open_debugger(launcher=CommandLauncher(no_network, plain)) as client:

        async def call(tool: str, **arguments: object) -> str:
            result = await client.call_tool(tool, arguments)
            text = "\n".join(block.text for block in result.content if block.type == "text")
            assert not result.is_error, text
            return text

        started = await call(
            "start_debugger",
            target=str(program),
            engine=engine,
            run=True,
            breakpoints=["program.py~print("],
        )
        assert "breakpoint 1" in started
        assert "False" in await call("run_expression", code="answer")
        assert "reachable False" in await call("continue_execution")
        await call("stop_debugger")
