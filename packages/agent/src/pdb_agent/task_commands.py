"""What the ``tasks`` commands do: each writes to a stream and returns an exit status."""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TextIO

import anyio

from pdb_agent.errors import AgentError
from pdb_agent.sandboxes.interpreters import task_interpreter
from pdb_agent.task_files import find_tasks_root, load_task
from pdb_agent.validation.measures import write_measures
from pdb_agent.validation.quick import check_runs, check_text, run_variants


async def check_task(folder: Path, out: TextIO, *, python: Path) -> int:
    """Write what is amiss with one task, as far as a few seconds show."""
    try:
        task = load_task(folder)
        complaints = check_text(task)
        if not any(complaint.rule == "V14" for complaint in complaints):
            runs = await run_variants(task, python)
            complaints += check_runs(task, runs)
            for variant, run in runs.items():
                failing = ", ".join(run.failing("tests") + run.failing("hidden")) or "nothing"
                out.write(f"{variant}: {len(run.outcomes)} tests in {run.seconds:.2f} s, fails: {failing}\n")
    except AgentError as error:
        out.write(f"{folder.name}: {error}\n")
        return 1
    for complaint in complaints:
        out.write(f"{folder.name}: {complaint.rule}: {complaint.text}\n")
    out.write(f"{folder.name}: {f'{len(complaints)} complaints' if complaints else 'good so far'}\n")
    return 1 if complaints else 0


def measure_tasks(folders: Sequence[Path], out: TextIO) -> int:
    """Write the measured keys of tasks into their files."""
    status = 0
    for folder in folders:
        try:
            task = write_measures(folder)
            out.write(f"{task.id}: {task.source_lines} lines in {task.source_files} files\n")
        except AgentError as error:
            out.write(f"{folder.name}: {error}\n")
            status = 1
    return status


def _main(command: str, ids: Sequence[str]) -> int:
    root = Path("tasks") if Path("tasks").is_dir() else find_tasks_root()
    folders = [root / name for name in ids]
    if command == "measure":
        return measure_tasks(folders, sys.stdout)
    return max(anyio.run(_check_all, folders))


async def _check_all(folders: Sequence[Path]) -> list[int]:
    return [await check_task(folder, sys.stdout, python=task_interpreter()) for folder in folders]


if __name__ == "__main__":
    sys.exit(_main(sys.argv[1], sys.argv[2:]))
