"""A debuggee that was started ahead of time is as good as a fresh one, or is thrown away."""

import os
import signal
import sys
from dataclasses import replace
from pathlib import Path

import anyio
import anyio.lowlevel
import psutil
import pytest
from mcp_pdb import standby
from mcp_pdb.client import open_debugger
from mcp_pdb.launcher import CHANNEL_TOKEN, LaunchSpec, PlainLauncher, Process, debuggee_environment
from mcp_pdb.options import ServerOptions
from mcp_pdb.standby import StandbyLauncher

pytestmark = pytest.mark.anyio

PROGRAM = "import os, socket, sys; s = socket.socket(fileno=int(sys.argv[1])); s.sendall(b'up'); s.recv(1)"


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
def interpreter(tmp_path: Path) -> str:
    """An interpreter in an environment of its own, as far as the launcher can see."""
    (tmp_path / "env" / "bin").mkdir(parents=True)
    (tmp_path / "env" / "lib" / "python3.11" / "site-packages").mkdir(parents=True)
    link = tmp_path / "env" / "bin" / "python"
    link.symlink_to(sys.executable)
    return str(link)


@pytest.fixture
def spec(tmp_path: Path, interpreter: str) -> LaunchSpec:
    return LaunchSpec(
        argv=(interpreter, "-c", PROGRAM, CHANNEL_TOKEN),
        cwd=str(tmp_path),
        environment=debuggee_environment(),
        wants_channel=True,
    )


async def test_the_second_launch_gets_what_was_started_ahead(spec, monkeypatch):
    started: list[int] = []
    monkeypatch.setattr(standby, "SETTLE_SECONDS", 0)
    async with PlainLauncher() as plain, anyio.create_task_group() as group:
        launcher = StandbyLauncher(Counting(plain, started), group)
        launcher.prepare(spec, after_seconds=0)
        await until(lambda: launcher._ready is not None)
        first = await launcher.launch(spec)
        assert first.pid == started[0]
        assert first.channel is not None
        assert await first.channel.receive() == b"up"
        await first.aclose()
        group.cancel_scope.cancel()


@pytest.mark.parametrize("difference", ["cwd", "environment", "argv", "packages", "death"])
async def test_one_that_no_longer_fits_is_ended_and_a_fresh_one_started(spec, tmp_path, difference):
    started: list[int] = []
    async with PlainLauncher() as plain, anyio.create_task_group() as group:
        launcher = StandbyLauncher(Counting(plain, started), group)
        launcher.prepare(spec, after_seconds=0)
        await until(lambda: launcher._ready is not None)
        asked = spec
        match difference:
            case "cwd":
                asked = replace(spec, cwd=str(tmp_path / "env"))
            case "environment":
                asked = replace(spec, environment={**spec.environment, "NEW": "1"})
            case "argv":
                asked = replace(spec, argv=(*spec.argv, "more"))
            case "packages":
                (tmp_path / "env" / "lib" / "python3.11" / "site-packages" / "new.pth").touch()
            case _:
                os.kill(started[0], signal.SIGKILL)
                await until(lambda: not exists(started[0]))
        process = await launcher.launch(asked)
        assert process.pid == started[1] != started[0]
        await until(lambda: not exists(started[0]))
        await process.aclose()
        group.cancel_scope.cancel()


async def test_what_is_kept_ends_with_the_task_group(spec):
    started: list[int] = []
    async with PlainLauncher() as plain:
        async with anyio.create_task_group() as group:
            launcher = StandbyLauncher(Counting(plain, started), group)
            launcher.prepare(spec, after_seconds=0)
            await until(lambda: launcher._ready is not None)
            group.cancel_scope.cancel()
        assert not exists(started[0])


async def test_nothing_is_kept_where_packages_cannot_be_watched(spec, tmp_path):
    async with PlainLauncher() as plain, anyio.create_task_group() as group:
        launcher = StandbyLauncher(plain, group)
        launcher.prepare(replace(spec, argv=("/no/such/python", *spec.argv[1:])), after_seconds=0)
        launcher.prepare(replace(spec, wants_channel=False), after_seconds=0)
        assert not launcher._preparing


async def test_a_test_is_debugged_in_the_debuggee_that_waits_ready(tmp_path, monkeypatch):
    (tmp_path / "pytest.ini").write_text("[pytest]\n", encoding="utf-8")
    (tmp_path / "test_sum.py").write_text(
        "def test_sum():\n    total = 1 + 1\n    assert total == 3\n", encoding="utf-8"
    )
    monkeypatch.chdir(tmp_path)
    options = ServerOptions(standby=True, python=sys.executable)

    async with open_debugger(options=options) as client:
        ready: list[int] = []
        with anyio.fail_after(20):
            while not ready:
                await anyio.lowlevel.checkpoint()
                ready = debuggees()
        result = await client.call_tool("start_debugger", {"target": "test_sum.py::test_sum", "run": True})
        text = "\n".join(block.text for block in result.content if block.type == "text")
        assert f"pid {ready[0]}" in text
        assert "assert 2 == 3" in text
    assert debuggees() == []


def debuggees() -> list[int]:
    children = psutil.Process().children(recursive=True)
    return [child.pid for child in children if "traced_main.py" in " ".join(child.cmdline())]


class Counting:
    """A launcher that notes what it started."""

    def __init__(self, launcher: PlainLauncher, started: list[int]) -> None:
        self._launcher = launcher
        self._started = started

    async def launch(self, spec: LaunchSpec) -> Process:
        process = await self._launcher.launch(spec)
        self._started.append(process.pid)
        return process


async def until(holds) -> None:
    with anyio.fail_after(10):
        while not holds():
            await anyio.lowlevel.checkpoint()


def exists(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True
