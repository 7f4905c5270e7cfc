"""A real MCP client debugs a failing test that ships with the package, and shows what a model would see."""

import importlib.util
import json
import shutil
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import anyio
import mcp_types as types
from mcp.client.client import Client
from mcp.client.stdio import StdioServerParameters

PROJECT = Path(__file__).parent / "demo_project"
PYTEST_TARGET = "test_prices.py::CheckoutTest::test_ten_per_cent_off"
UNITTEST_TARGET = "test_prices.CheckoutTest.test_ten_per_cent_off"

Echo = Callable[[str], object]


def demo(echo: Echo) -> int:
    """Print the whole conversation; the exit status says whether it went as it should."""
    return anyio.run(_demo, echo)


async def _demo(echo: Echo) -> int:
    with tempfile.TemporaryDirectory(prefix="mcp-pdb-demo-") as folder:
        # A copy: files inside an installed package do not count as the user's code.
        project = shutil.copytree(PROJECT, Path(folder) / "shop")
        server = StdioServerParameters(
            command=sys.executable, args=["-m", "mcp_pdb", "serve", "--python", sys.executable], cwd=project
        )
        async with Client(server) as client:
            return await _converse(client, echo)


async def _converse(client: Client, echo: Echo) -> int:
    has_pytest = importlib.util.find_spec("pytest") is not None
    target = PYTEST_TARGET if has_pytest else UNITTEST_TARGET
    steps: list[tuple[str, dict[str, Any]]] = [
        ("start_debugger", {"target": target, "run": True}),
        ("stop_debugger", {}),
        ("start_debugger", {"target": target}),
        ("add_breakpoint", {"at": "prices.py~return total - percent"}),
        ("continue_execution", {}),
        ("examine_locals", {}),
        ("run_expression", {"code": "total * (1 - percent / 100)"}),
        ("step_out", {}),
        ("stop_debugger", {}),
    ]
    tools = (await client.list_tools()).tools
    echo(f"{len(tools)} tools: {', '.join(tool.name for tool in tools)}")
    failures = 0
    for name, arguments in steps:
        echo(f"\n▶ {name}({', '.join(f'{key}={json.dumps(value)}' for key, value in arguments.items())})")
        result = await client.call_tool(name, arguments)
        failures += result.is_error
        echo(text_of(result))
    echo("\nSo discounted() subtracts the percentage itself: 23.5 - 10, where 23.5 * 0.9 was meant.")
    return 1 if failures else 0


def text_of(result: types.CallToolResult) -> str:
    """The text a model reads."""
    return "\n".join(block.text for block in result.content if isinstance(block, types.TextContent))
