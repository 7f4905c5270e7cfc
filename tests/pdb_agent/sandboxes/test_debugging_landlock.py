"""A debugger session under Landlock: no network, no namespaces, and the channel is all it needs."""

import pytest
from mcp.types import TextContent
from pdb_agent.sandbox import Backend, SandboxSpec
from pdb_agent.sandboxes import landlock, landlock_exec
from pdb_agent.sandboxes.debugging import open_debugger_in
from pdb_agent.sandboxes.opening import open_sandbox

pytestmark = [
    pytest.mark.anyio,
    pytest.mark.slow,
    pytest.mark.skipif(landlock_exec.abi_version() < landlock.NEEDED_VERSION, reason="needs Landlock 3"),
]
PROGRAM = b"""
def total(prices):
    result = 0
    for price in prices:
        result += price
    return result


print(total([1, 2]))
"""


@pytest.fixture
def anyio_backend():
    return "asyncio"


async def call(client, tool, **arguments):
    result = await client.call_tool(tool, arguments)
    return "\n".join(block.text for block in result.content if isinstance(block, TextContent))


async def test_a_program_is_debugged_inside(open_python):
    spec = SandboxSpec(python=open_python, files={"program.py": PROGRAM})
    async with open_sandbox(spec, Backend.LANDLOCK) as sandbox, open_debugger_in(sandbox) as client:
        started = await call(
            client,
            "start_debugger",
            target="program.py",
            breakpoints=["program.py~return result"],
            run=True,
        )
        assert "program.py:6 in total" in started
        assert await call(client, "run_expression", code="(result, prices)") == "(3, [1, 2])"
        assert "returned: total() -> 3" in await call(client, "step_out")
