"""Debugger sessions inside a sandbox, on both engines, with no network."""

import os

import pytest
from mcp.client.client import Client
from mcp.types import TextContent
from pdb_agent.sandbox import SandboxSpec
from pdb_agent.sandboxes.debugging import open_debugger_in
from pdb_agent.sandboxes.interpreters import task_interpreter
from pdb_agent.sandboxes.opening import open_sandbox

pytestmark = pytest.mark.anyio
FILES = {
    "pytest.ini": b"[pytest]\npythonpath = .\n",
    "till/sums.py": (
        b"def total(prices):\n    result = 0\n    for price in prices:\n        result += price\n"
        b"    return result\n"
    ),
    "tests/test_sums.py": b"from till.sums import total\n\ndef test_two():\n    assert total([1, 2]) == 4\n",
}
HOSTILE = """
import socket
import os
def reach():
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", 22))
code = reach()
secret = os.environ.get("PDB_AGENT_TEST_SECRET")
keys = os.path.exists(os.path.expanduser("~root/.ssh"))
print("here")
"""


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


async def call(client: Client, tool: str, **arguments: object) -> str:
    result = await client.call_tool(tool, arguments)
    return "\n".join(block.text for block in result.content if isinstance(block, TextContent))


@pytest.mark.parametrize("engine", ["pdb", "debugpy"])
@pytest.mark.parametrize("version", ["3.10", "3.11", "3.12", "3.13"])
async def test_a_failing_test_is_debugged_inside(engine: str, version: str) -> None:
    spec = SandboxSpec(python=task_interpreter(version), files=FILES)
    async with open_sandbox(spec) as sandbox, open_debugger_in(sandbox) as client:
        started = await call(
            client,
            "start_debugger",
            target="tests/test_sums.py::test_two",
            engine=engine,
            breakpoints=["till/sums.py~return result"],
            run=True,
        )
        assert "breakpoint 1: till/sums.py:5 in total" in started
        assert await call(client, "run_expression", code="(result, prices)") == "(3, [1, 2])"
        beside = await sandbox.run(["grep", "-c", "price", "till/sums.py"], timeout_seconds=20)
        assert beside.output == "3\n"
        assert "returned: total() -> 3" in await call(client, "step_out")


@pytest.mark.parametrize("engine", ["pdb", "debugpy"])
async def test_a_debuggee_has_neither_network_nor_the_hosts_environment(engine: str) -> None:
    os.environ["PDB_AGENT_TEST_SECRET"] = "key"
    spec = SandboxSpec(python=task_interpreter(), files={"program.py": HOSTILE.encode()})
    async with open_sandbox(spec) as sandbox, open_debugger_in(sandbox) as client:
        await call(
            client,
            "start_debugger",
            target="program.py",
            engine=engine,
            breakpoints=["program.py~print("],
            run=True,
        )
        assert await call(client, "run_expression", code="(code, secret, keys)") == "(111, None, False)"


async def test_an_edit_moves_the_breakpoint_that_is_asked_for_next() -> None:
    async with (
        open_sandbox(SandboxSpec(python=task_interpreter(), files=FILES)) as sandbox,
        open_debugger_in(sandbox) as client,
    ):
        await sandbox.put({"till/sums.py": b"# prices\n\n" + FILES["till/sums.py"]})
        started = await call(
            client,
            "start_debugger",
            target="tests/test_sums.py",
            breakpoints=["till/sums.py~return result"],
            run=True,
        )
    assert "till/sums.py:7 in total" in started


@pytest.mark.parametrize("target", ["/etc/passwd", "../../../../etc/passwd"])
async def test_the_server_looks_at_nothing_of_the_host_but_the_workspace(target: str) -> None:
    async with (
        open_sandbox(SandboxSpec(python=task_interpreter(), files=FILES)) as sandbox,
        open_debugger_in(sandbox) as client,
    ):
        answer = await call(client, "start_debugger", target=target, kind="script")
        elsewhere = await call(client, "start_debugger", target="tests/test_sums.py", cwd="/etc")
    assert "outside the folders this server may debug in" in answer
    assert "outside the folders this server may debug in" in elsewhere
