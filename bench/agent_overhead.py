"""What our loop and tools cost beside the commands and debugger calls of an episode; and a crowd of episodes.

Run by ``python bench/agent_overhead.py [--rounds N] [--crowd N]``. A scripted episode of 30 turns is run
through the whole loop; then the same shell commands, test runs and debugger calls are made directly in a
sandbox of the same kind. Bound: loop and tools at most 2x the direct calls, in the same run.
"""

import argparse
import statistics
import sys
import time
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any

import anyio
from mcp.client.client import Client
from pdb_agent.episode import Ended, EpisodeLog
from pdb_agent.limits import EpisodeLimits
from pdb_agent.loop import EpisodeSettings, run_episode
from pdb_agent.policies.scripted import ScriptedPolicy, scripted_call
from pdb_agent.sandbox import Sandbox, SandboxSpec
from pdb_agent.sandboxes.debugging import open_debugger_in
from pdb_agent.sandboxes.interpreters import task_interpreter
from pdb_agent.sandboxes.opening import open_sandbox
from pdb_agent.task import Task
from pdb_agent.task_files import load_task

TASK = Path(__file__).resolve().parents[1] / "tasks" / "undo_history_snapshots"
BOUND = 2.0
CROWD = 100


def steps(task: Task) -> list[tuple[str, Mapping[str, Any]]]:
    """The 30 calls of the episode."""
    source = next(path for path in sorted(task.workspace) if path.endswith(".py") and "tests" not in path)
    looking = [("bash", {"command": f"grep -n def {path}"}) for path in sorted(task.workspace)[:6]]
    return [
        ("bash", {"command": "ls -R"}),
        ("run_tests", {"tests": [task.target]}),
        *looking,
        ("bash", {"command": f"sed -n 1,40p {source}"}),
        ("start_debugger", {"target": task.target}),
        *[("step_over", {"count": count}) for count in range(1, 11)],
        *[("examine_locals", {"frame": frame}) for frame in range(2)],
        *[("run_expression", {"code": f"{number} + 1"}) for number in range(4)],
        ("stop_debugger", {}),
        ("bash", {"command": f"python -m pyflakes {source} || python -m py_compile {source}"}),
        ("run_tests", {}),
    ][:30]


async def through_the_loop(task: Task) -> Ended:
    turns = [[scripted_call(name, **arguments)] for name, arguments in steps(task)]
    policy = ScriptedPolicy([*turns, [scripted_call("done")]])
    limits = EpisodeLimits(turns=60, context_tokens=10_000_000, idle_turns=99, debugger_streak=99)
    return await run_episode(task, policy, EpisodeSettings(limits=limits), EpisodeLog(None))


async def directly(task: Task) -> float:
    """Seconds of the same calls without loop and tools."""
    spec = SandboxSpec(python=task_interpreter(), files=task.workspace)
    async with open_sandbox(spec) as sandbox, open_debugger_in(sandbox) as client:
        began = time.perf_counter()
        for name, arguments in steps(task):
            await call_of(name, arguments, sandbox, client)()
        return time.perf_counter() - began


def call_of(
    name: str, arguments: Mapping[str, Any], sandbox: Sandbox, client: Client
) -> Callable[[], Awaitable[object]]:
    match name:
        case "bash":
            return lambda: sandbox.run(["bash", "-c", arguments["command"]], timeout_seconds=30)
        case "run_tests":
            tests = arguments.get("tests", [])
            command = [sandbox.python, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--tb=short", *tests]
            return lambda: sandbox.run(command, timeout_seconds=60)
        case _:
            return lambda: client.call_tool(name, dict(arguments))


async def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--crowd", type=int, default=CROWD)
    arguments = parser.parse_args()
    task = load_task(TASK)
    await directly(task)  # the first sandbox of a process probes
    ours: list[float] = []
    floor: list[float] = []
    for _ in range(arguments.rounds):
        clock = (await through_the_loop(task)).clock
        ours.append(clock.total - clock.sandbox - clock.grading - clock.model)
        floor.append(await directly(task))
    ratio = statistics.median(ours) / statistics.median(floor)
    print(
        f"30 turns: loop and tools {statistics.median(ours):.2f} s (least {min(ours):.2f}), direct calls "
        f"{statistics.median(floor):.2f} s (least {min(floor):.2f}): {ratio:.2f}x, bound {BOUND:g}x: "
        f"{'held' if ratio <= BOUND else 'MISSED'}"
    )
    bad = await crowd(task, arguments.crowd)
    return 0 if ratio <= BOUND and not bad else 1


async def crowd(task: Task, count: int) -> int:
    """Many episodes at once, all with their sandbox open at the same time; how many ended badly."""
    ends: list[Ended] = []
    began = time.perf_counter()
    turns = [[scripted_call("bash", command="ls")], [scripted_call("done")]]

    async def one() -> None:
        ends.append(await run_episode(task, ScriptedPolicy(turns), EpisodeSettings(), EpisodeLog(None)))

    async with anyio.create_task_group() as tasks:
        for _ in range(count):
            tasks.start_soon(one)
    bad = sum(end.reason.is_infrastructure for end in ends)
    print(
        f"{count} episodes at once: {time.perf_counter() - began:.1f} s, {bad} with an infrastructure error"
    )
    return bad


if __name__ == "__main__":
    sys.exit(anyio.run(main))
