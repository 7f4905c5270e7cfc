"""Grade the solution and the null attacks of every task again and again: no verdict may differ.

``python tools/grade_repeatedly.py [--repeats 20] [--jobs 2] [ID …]``: exit code 0 when every solution is
solved every time, and no null attack ever.
"""

import argparse
import sys
import time
from collections import Counter
from collections.abc import Mapping

import anyio
from pdb_agent.grading.grader import grade
from pdb_agent.patches import apply_patch
from pdb_agent.task import Task
from pdb_agent.task_files import find_tasks_root, load_all
from pdb_agent.validation.null_attacks import null_submissions
from pdb_agent.validation.stamp import tier_of


async def main() -> int:
    """Look at every task; the exit status."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=20)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("ids", nargs="*")
    arguments = parser.parse_args()
    limiter = anyio.CapacityLimiter(arguments.jobs)
    failures: list[str] = []

    async def look_at(task: Task) -> None:
        async with limiter:
            began = time.monotonic()
            solution = await verdicts(task, apply_patch(task.solution, task.workspace), arguments.repeats)
            nulls = null_submissions(task)
            bought = [name for name, files in nulls.items() if (await verdicts(task, files, 1))["solved"]]
        print(
            f"{task.id} (tier {tier_of(task)}): solved {solution['solved']} of {arguments.repeats}, null "
            f"attacks solved {len(bought)} of {len(nulls)}, {time.monotonic() - began:.0f} s",
            flush=True,
        )
        if solution["solved"] != arguments.repeats or bought:
            failures.append(f"{task.id}: {dict(solution)} {bought}")

    async with anyio.create_task_group() as tasks:
        for task in load_all(find_tasks_root(), ids=arguments.ids):
            tasks.start_soon(look_at, task)
    print("\n".join(failures) or "no verdict differed")
    return 1 if failures else 0


async def verdicts(task: Task, files: Mapping[str, bytes], repeats: int) -> Counter[str]:
    """How often a submission was solved, and the reasons when it was not."""
    found: Counter[str] = Counter()
    for _ in range(repeats):
        verdict = await grade(task, files, tier=tier_of(task))
        found["solved" if verdict.solved else verdict.reason] += 1
    return found


if __name__ == "__main__":
    sys.exit(anyio.run(main))
