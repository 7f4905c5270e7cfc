"""Debug the documentation's example for real, and show what a model asks and reads.

A page says where a transcript goes with ``<!-- transcript: NAME -->`` and
``<!-- /transcript -->``; the blocks below say what is asked in it. Whatever
differs from run to run or machine to machine is replaced by a fixed example.
"""

import os
import re
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Any

import anyio
from mcp.client.client import Client
from mcp.types import TextContent
from mcp_pdb.client import open_debugger

ROOT = Path(__file__).resolve().parent.parent
EXAMPLES = ROOT / "tests" / "programs"

Calls = tuple[tuple[str, dict[str, Any]], ...]

TARGET = {"target": "test_cart.py::test_total"}
BLOCKS: dict[str, Calls] = {
    "failure": (("start_debugger", TARGET | {"run": True}),),
    "look": (("where_am_i", {}), ("run_expression", {"code": "total([10, 20], discount=1)"})),
    "breakpoint": (
        ("stop_debugger", {}),
        ("start_debugger", TARGET),
        ("add_breakpoint", {"at": "cart.py~result = price"}),
        ("continue_execution", {}),
    ),
    "change": (("continue_execution", {}), ("examine_locals", {})),
    "hypothesis": (("run_expression", {"code": "result + price - discount"}), ("stop_debugger", {})),
    "readme": (
        ("start_debugger", TARGET | {"breakpoints": ["cart.py~result = price"], "run": True}),
        ("continue_execution", {}),
        ("run_expression", {"code": "sum(p - discount for p in prices)"}),
    ),
}
HANG: dict[str, Calls] = {
    "hang": (
        ("start_debugger", {"target": "test_ledger.py::test_close_day", "run": True, "timeout_seconds": 2}),
    ),
}
SESSIONS = (("cart", BLOCKS), ("deadlock", HANG))
"""Each with its example's folder; every one begins without a session."""
BLOCK = re.compile(r"(<!-- transcript: (\w+) -->\n).*?(<!-- /transcript -->)", flags=re.DOTALL)


def transcripts() -> dict[str, str]:
    """What every block looks like, by name."""
    found: dict[str, str] = {}
    for example, blocks in SESSIONS:
        with tempfile.TemporaryDirectory() as folder:
            project = shutil.copytree(EXAMPLES / example, Path(folder).resolve() / "shop")
            found |= anyio.run(debugged, project, blocks)
    return found


async def debugged(project: Path, blocks: dict[str, Calls]) -> dict[str, str]:
    """The blocks, asked one after the other of one server."""
    async with open_debugger() as client:
        return {
            name: "\n\n".join([await asked(client, project, *call) for call in calls])
            for name, calls in blocks.items()
        }


async def asked(client: Client, project: Path, tool: str, arguments: dict[str, Any]) -> str:
    """One call as its reader sees it: the call, then the answer."""
    told = (
        arguments | {"cwd": str(project), "python": sys.executable} if tool == "start_debugger" else arguments
    )
    answer = await client.call_tool(tool, told)
    text = "\n".join(part.text for part in answer.content if isinstance(part, TextContent))
    shown = ", ".join(f"{name}={value!r}" for name, value in arguments.items())
    return f"> {tool}({shown})\n{settled(text, project)}"


def settled(text: str, project: Path) -> str:
    """``text`` as it would be in a project with a .venv in /home/ada/shop."""
    for pattern, replacement in (
        (re.escape(str(project)), "/home/ada/shop"),
        (re.escape(os.path.realpath(sys.executable)), "/home/ada/shop/.venv/bin/python"),
        (re.escape(sys.executable), "/home/ada/shop/.venv/bin/python"),
        (r"dbg-[\w-]+", "dbg-7Kq2mXw1"),
        (r"pid \d+", "pid 4242"),
        (r"Python 3\.\d+\.\d+ \([^)]*\)", "Python 3.12.7 (.venv of the project)"),
        (r"in \d+\.\d+s", "in 0.05s"),
        (r"after \d+\.\d s", "after 2.0 s"),
    ):
        text = re.sub(pattern, replacement, text)
    return text


def filled(page: str, blocks: dict[str, str]) -> str:
    """``page`` with every marked place holding its transcript."""
    return BLOCK.sub(lambda found: f"{found[1]}```\n{blocks[found[2]]}\n```\n{found[3]}", page)
