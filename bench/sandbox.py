"""What a sandbox costs: its start, a command in it, many at once; against plain processes in the same run.

Run by ``python bench/sandbox.py [--rounds N]``. Prints medians and ratios; the bounds are
those that the project promises: start under 3x a bare ``python -c pass``, a command under 2x
a plain subprocess, a hundred at once with nothing left after their end.
"""

import argparse
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import AsyncExitStack
from pathlib import Path

import anyio
from mcp_pdb.launcher import LaunchSpec
from pdb_agent.sandbox import SandboxSpec
from pdb_agent.sandboxes.interpreters import task_interpreter
from pdb_agent.sandboxes.opening import open_sandbox

MODULES = {f"program/module_{number}.py": b"VALUE = 1\n" * 40 for number in range(9)}
FILES = MODULES | {"README.md": b"# Program\n"}
START_BOUND = 3.0
COMMAND_BOUND = 2.0
CROWD = 100
LEFT_SECONDS = 0.1


async def main() -> int:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--rounds", type=int, default=40)
    rounds = arguments.parse_args().rounds
    python = task_interpreter()
    spec = SandboxSpec(python=python, files=FILES)
    async with open_sandbox(spec):
        pass  # the first one mirrors and probes
    bare: list[float] = []
    starts: list[float] = []
    ends: list[float] = []
    plain: list[float] = []
    commands: list[float] = []
    command = (str(python), "-c", "pass")
    for _ in range(rounds):
        bare.append(plain_seconds(command))
        began = time.perf_counter()
        async with open_sandbox(spec):
            starts.append(time.perf_counter() - began)
            leaving = time.perf_counter()
        ends.append(time.perf_counter() - leaving)
    async with open_sandbox(spec) as sandbox:
        for _ in range(rounds):
            plain.append(plain_seconds(command))
            began = time.perf_counter()
            await sandbox.run(command, timeout_seconds=20)
            commands.append(time.perf_counter() - began)
    ok = row("start, ten files, agent up", starts, "bare python -c pass", bare, START_BOUND)
    ok &= row("python -c pass in it", commands, "plain subprocess", plain, COMMAND_BOUND)
    row("end", ends, "bare python -c pass", bare, None)
    return 0 if await crowd(spec) and ok else 1


def plain_seconds(command: tuple[str, ...]) -> float:
    began = time.perf_counter()
    subprocess.run(command, check=True, stdin=subprocess.DEVNULL, capture_output=True)
    return time.perf_counter() - began


def row(what: str, ours: list[float], floor_name: str, floor: list[float], bound: float | None) -> bool:
    ratio = statistics.median(ours) / statistics.median(floor)
    verdict = "" if bound is None else f"  bound {bound:g}x: {'held' if ratio < bound else 'MISSED'}"
    print(
        f"{what:28} {statistics.median(ours) * 1e3:7.1f} ms (least {min(ours) * 1e3:.1f})   {floor_name} "
        f"{statistics.median(floor) * 1e3:.1f} ms (least {min(floor) * 1e3:.1f})   {ratio:.2f}x{verdict}"
    )
    return bound is None or ratio < bound


async def crowd(spec: SandboxSpec) -> bool:
    """A hundred sandboxes at once, each with a program that has daemons; then none."""
    daemon = "import os,time\nif os.fork()==0:\n os.setsid()\n os.fork()\ntime.sleep(600)\n"
    began = time.perf_counter()
    async with AsyncExitStack() as stack:
        sandboxes = [await stack.enter_async_context(open_sandbox(spec)) for _ in range(CROWD)]
        up = time.perf_counter() - began
        for sandbox in sandboxes:
            await sandbox.launcher.launch(
                LaunchSpec(argv=(sandbox.python, "-c", daemon), cwd=str(sandbox.workspace))
            )
        children = len(list(below(os.getpid())))
        leaving = time.perf_counter()
        async with anyio.create_task_group() as tasks:
            for sandbox in sandboxes:
                tasks.start_soon(sandbox.aclose)
        gone = time.perf_counter() - leaving
        await anyio.sleep(LEFT_SECONDS)
        left = len(list(below(os.getpid())))
    print(f"{CROWD} at once: up in {up:.1f} s, {children} processes, ended in {gone:.2f} s, {left} left")
    return left == 0


def below(root: int) -> Iterator[int]:
    for thread in Path(f"/proc/{root}/task").iterdir():
        for child in map(int, (thread / "children").read_text(encoding="ascii").split()):
            yield child
            yield from below(child)


if __name__ == "__main__":
    sys.exit(anyio.run(main))
