"""Run a command; if it fails, print the post-mortem report that a model would get."""

import shlex
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import anyio
import mcp_types as types
from mcp.client.client import Client

from mcp_pdb.client import open_debugger
from mcp_pdb.demo import text_of
from mcp_pdb.options import ServerOptions

USAGE = "diagnose takes a command: mcp-pdb diagnose -- pytest tests/test_x.py::test_y"
WAIT_SECONDS = 50

Echo = Callable[[str], object]


@dataclass(frozen=True, slots=True, kw_only=True)
class Command:
    """A command line as start_debugger takes it."""

    target: str
    args: tuple[str, ...] = ()
    kind: str = "auto"
    python: str | None = None

    def arguments(self) -> dict[str, object]:
        """Of a start_debugger call that runs to the failure."""
        found: dict[str, object] = {
            "target": self.target,
            "args": list(self.args),
            "kind": self.kind,
            "run": True,
            "timeout_seconds": WAIT_SECONDS,
        }
        return found if self.python is None else found | {"python": self.python}


def diagnose(words: Sequence[str], options: ServerOptions, echo: Echo) -> int:
    """0 when the command succeeds, 1 when it fails, 2 when it cannot be run."""
    if not words:
        echo(USAGE)
        return 2
    return anyio.run(_diagnose, understand(words), options, echo)


def understand(words: Sequence[str]) -> Command:
    """``pytest …``, ``python [-m module | -c code | script] …`` or a script."""
    program, *rest = words
    name = Path(program).name
    if name in ("pytest", "py.test"):
        return _pytest(rest, None)
    if not name.startswith("python"):
        return Command(target=program, args=tuple(rest), kind="script")
    python = program if "/" in program else None
    match rest:
        case ["-m", "pytest", *more]:
            return _pytest(more, python)
        case ["-m", "unittest", *more]:
            return Command(target=" ".join(more), kind="unittest", python=python)
        case ["-m", module, *more]:
            return Command(target=f"-m {module}", args=tuple(more), kind="module", python=python)
        case ["-c", code, *more]:
            return Command(target=code, args=tuple(more), kind="code", python=python)
        case [script, *more]:
            return Command(target=script, args=tuple(more), kind="script", python=python)
        case _:
            return Command(target="", kind="script", python=python)


def _pytest(words: Sequence[str], python: str | None) -> Command:
    ids = [word for word in words if not word.startswith("-") and ("::" in word or Path(word).exists())]
    args = tuple(word for word in words if word not in ids)
    return Command(target=shlex.join(ids), args=args, kind="pytest", python=python)


async def _diagnose(command: Command, options: ServerOptions, echo: Echo) -> int:
    async with open_debugger(options=options) as client:
        result = await client.call_tool("start_debugger", command.arguments())
        if result.is_error:
            echo(text_of(result))
            return 2
        while _state(result).get("state") == "running":
            result = await client.call_tool("continue_execution", {"timeout_seconds": WAIT_SECONDS})
        state = _state(result)
        echo(text_of(result))
        if state.get("state") == "stopped":
            await _look_around(client, echo)
            return 1
        return 0 if state.get("exit_code") == 0 else 1


async def _look_around(client: Client, echo: Echo) -> None:
    for name in ("where_am_i", "examine_locals"):
        echo(f"\n{name}:\n{text_of(await client.call_tool(name, {}))}")


def _state(result: types.CallToolResult) -> dict[str, object]:
    return (result.meta or {}).get("mcp-pdb", {})
