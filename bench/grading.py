"""What honest grading costs over a bare exit code: ``python bench/grading.py [rounds]``.

Each round grades the solution of the cart task once in each way, one after the
other, so that all see the same load; on a busy machine the minima tell most.
"""

import statistics
import sys
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

import anyio
from pdb_agent.grading.grader import grade
from pdb_agent.grading.verdict import Tier
from pdb_agent.patches import apply_patch
from pdb_agent.sandbox import SandboxSpec
from pdb_agent.sandboxes.interpreters import task_interpreter
from pdb_agent.sandboxes.opening import open_sandbox
from pdb_agent.task_files import load_task

TASK = load_task(Path(__file__).parents[1] / "tests" / "programs" / "cart_task")
SOLVED = apply_patch(TASK.solution, TASK.workspace)


async def exit_code() -> bool:
    hidden = {f"tests/{path}": content for path, content in TASK.hidden.items()}
    async with open_sandbox(SandboxSpec(python=task_interpreter(), files={**SOLVED, **hidden})) as sandbox:
        argv = [sandbox.python, "-m", "pytest", "-q", "-p", "no:cacheprovider", "tests"]
        return (await sandbox.run(argv, timeout_seconds=60)).exit_code == 0


async def tier_a() -> bool:
    return (await grade(TASK, SOLVED, tier=Tier.SAME_PROCESS)).solved


async def tier_b() -> bool:
    return (await grade(TASK, SOLVED, tier=Tier.BOUNDARY)).solved


WAYS: dict[str, Callable[[], Awaitable[bool]]] = {"exit code": exit_code, "tier A": tier_a, "tier B": tier_b}


async def main(rounds: int) -> None:
    milliseconds: dict[str, list[float]] = {name: [] for name in WAYS}
    for _ in range(rounds):
        for name, way in WAYS.items():
            begin = time.monotonic()
            if not await way():
                raise SystemExit(f"{name} did not accept the solution.")
            milliseconds[name].append((time.monotonic() - begin) * 1000)
    print(f"{'way':<10} {'min ms':>8} {'median ms':>10}   ({rounds} rounds)")
    for name, taken in milliseconds.items():
        print(f"{name:<10} {min(taken):8.0f} {statistics.median(taken):10.0f}")


if __name__ == "__main__":
    anyio.run(main, int(sys.argv[1]) if len(sys.argv) > 1 else 15)
