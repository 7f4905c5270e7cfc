"""What this machine can debug: interpreters, what is installed in them, and a trial of each engine."""

import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import anyio

from mcp_pdb.client import open_debugger
from mcp_pdb.demo import text_of
from mcp_pdb.errors import DebuggerError
from mcp_pdb.interpreters import find_interpreter
from mcp_pdb.options import ServerOptions
from mcp_pdb.project_files import project_root

Echo = Callable[[str], object]
TRIAL = "total = 0\nfor number in range(3):\n    total += number\n"
PROBE_SECONDS = 20
PROBE = """\
import importlib.util as u, sys
found = [name for name in ("pytest", "debugpy") if u.find_spec(name)]
print("%d.%d.%d" % sys.version_info[:3], *found)
"""


def doctor(options: ServerOptions, echo: Echo) -> int:
    """Print every check and its advice; 0 when programs can be debugged."""
    here = Path.cwd()
    root = project_root(here) or here
    echo(f"server: Python {sys.version.split()[0]} at {sys.executable}")
    echo(f"project: {root}")
    try:
        interpreter = find_interpreter(options.python, here, root)
    except DebuggerError as error:
        echo(f"interpreter: {error}")
        return 1
    if not _probe(str(interpreter.path), interpreter.source, echo):
        return 1
    return anyio.run(_try_engines, options, echo)


def _probe(python: str, source: str, echo: Echo) -> bool:
    try:
        done = subprocess.run(
            [python, "-c", PROBE], capture_output=True, text=True, timeout=PROBE_SECONDS, check=True
        )
    except (OSError, subprocess.SubprocessError) as error:
        echo(f"interpreter: {python} ({source}) does not run: {error}")
        return False
    version, *packages = done.stdout.split()
    echo(f"interpreter: Python {version} at {python} ({source})")
    for package, use in (("pytest", "pytest targets"), ("debugpy", "attach; else the server lends its own")):
        state = "installed" if package in packages else f"not installed: {python} -m pip install {package}"
        echo(f"  {package} (for {use}): {state}")
    return True


async def _try_engines(options: ServerOptions, echo: Echo) -> int:
    works = 0
    for engine in ("pdb", "debugpy"):
        async with open_debugger(options=options) as client:
            began = time.perf_counter()
            result = await client.call_tool(
                "start_debugger", {"target": TRIAL, "kind": "code", "engine": engine}
            )
            milliseconds = 1000 * (time.perf_counter() - began)
            if result.is_error:
                echo(f"engine {engine}: does not work: {text_of(result)}")
                continue
            works += 1
            echo(f"engine {engine}: works, {milliseconds:.0f} ms to the first stop")
    return 0 if works == 2 else 1
