"""What the ``tasks`` commands do: each writes to a stream and returns an exit status."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TextIO

import anyio

from pdb_agent.errors import AgentError, TaskError
from pdb_agent.sandbox import Backend
from pdb_agent.scaffold import write_skeleton
from pdb_agent.task import Task
from pdb_agent.task_files import load_all, load_task, task_folders
from pdb_agent.validation.depth import AT_ONCE, FULL, QUICK, Depth
from pdb_agent.validation.distribution import check_distribution, totals
from pdb_agent.validation.measures import write_measures
from pdb_agent.validation.reports import as_json, as_table
from pdb_agent.validation.stamp import read_stamp, write_stamp
from pdb_agent.validation.validating import Bench, TaskReport, validate_folder


@dataclass(frozen=True, slots=True, kw_only=True)
class ValidateOptions:
    """How ``tasks validate`` works."""

    depth: Depth = FULL
    unless_stamped: bool = False
    """Look quickly at tasks whose stamp is valid, in full at the others."""
    python: str | None = None
    """A version such as 3.12 to use alone."""
    jobs: int = 1
    """Sandboxes at work at once."""
    as_json: bool = False
    backend: Backend | None = None


def list_tasks(root: Path, out: TextIO, *, wants_distribution: bool = False) -> int:
    """Write a line for each task and the totals; with ``wants_distribution``, say what the set lacks."""
    tasks = load_all(root)
    width = max((len(task.id) for task in tasks), default=0)
    for task in tasks:
        out.write(
            f"{task.id:{width}}  {task.family:16} {task.preference:11} {task.difficulty}  {task.split:10} "
            f"{task.source_lines:4} lines in {task.source_files} files\n"
        )
    out.write(f"{len(tasks)} tasks\n")
    for kind, counts in totals(tasks).items():
        out.write(f"{kind}: {', '.join(f'{name} {count}' for name, count in counts.items())}\n")
    lacks = check_distribution(tasks) if wants_distribution else []
    out.writelines(f"{sentence}\n" for sentence in lacks)
    return 1 if lacks else 0


def show_task(folder: Path, out: TextIO) -> int:
    """Write what a task is, without its hidden tests and solution."""
    task = load_task(folder)
    stamp = read_stamp(task)
    if stamp is None:
        validity = "never validated in full"
    elif stamp.is_valid_for(task):
        validity = (
            f"valid on {', '.join(stamp.pythons)}, {stamp.repeats} repeats, graded by tier {stamp.tier}"
        )
    else:
        validity = "changed since it was validated, or not valid: validate it again"
    points = ", ".join(f"{name} {count}" for name, count in task.difficulty_points.items())
    rows = {
        "family": task.family,
        "debugger": f"{task.preference}: {task.preference_reason}",
        "difficulty": f"{task.difficulty} ({points})",
        "split": f"{task.split}, group {task.group}",
        "size": f"{task.source_lines} lines in {task.source_files} files",
        "target": task.target,
        "fail to pass": f"{len(task.fail_to_pass)} tests",
        "pass to pass": f"{len(task.pass_to_pass)} tests",
        "decoys": ", ".join(decoy.name for decoy in task.decoys) or "none",
        "witness": f"{len(task.witness.stops)} stops" if task.witness else "none",
        "validity": validity,
    }
    out.write(f"{task.id}, version {task.version}\n")
    out.writelines(f"  {name:12} {value}\n" for name, value in rows.items())
    return 0


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


def new_task(root: Path, task_id: str, out: TextIO) -> int:
    """Write the skeleton of a task, which is valid as it stands. Raises TaskError if it is there already."""
    folder = write_skeleton(root, task_id)
    out.write(f"Wrote {folder}: change its files, then run `pdb-agent tasks validate {task_id}`.\n")
    return 0


async def validate_tasks(
    folders: Sequence[Path], out: TextIO, progress: TextIO, options: ValidateOptions
) -> int:
    """Check tasks, write a report to ``out`` and a line for each step to ``progress``; stamp full checks."""

    def tell(step: str) -> None:
        progress.write(f"{step}\n")
        progress.flush()

    bench = Bench(limiter=anyio.CapacityLimiter(options.jobs), tell=tell, backend=options.backend)
    others = _readable_tasks({folder.parent for folder in folders})
    reports: dict[str, TaskReport] = {}

    async def validate(folder: Path) -> None:
        reports[folder.name] = await validate_folder(folder, others, bench, _depth(folder, options))
        _keep_stamp(folder, reports[folder.name])
        tell(f"{folder.name}: {'valid' if reports[folder.name].is_valid else 'not valid'}")

    async with anyio.create_task_group() as task_group:
        for folder in folders:
            task_group.start_soon(validate, folder)
    ordered = [reports[folder.name] for folder in folders]
    out.write(as_json(ordered) if options.as_json else as_table(ordered))
    return 0 if all(report.is_valid for report in ordered) else 1


async def check_tasks(folders: Sequence[Path], out: TextIO) -> int:
    """Say in seconds what is amiss with tasks that are being written, and which tests fail when."""
    status = 0
    bench = Bench(limiter=anyio.CapacityLimiter(1), tell=lambda step: None)
    for folder in folders:
        others = _readable_tasks({folder.parent})
        report = await validate_folder(folder, others, bench, AT_ONCE)
        for version, run in report.runs.items():
            failing = ", ".join(run.failing("tests") + run.failing("hidden")) or "nothing"
            out.write(f"{version}: {len(run.outcomes)} tests in {run.seconds:.2f} s, fails: {failing}\n")
        out.writelines(
            f"{report.id}: {complaint.rule}: {complaint.text}\n" for complaint in report.complaints
        )
        out.write(f"{report.id}: {'good so far' if report.is_valid else 'not valid yet'}\n")
        status |= not report.is_valid
    return status


def _depth(folder: Path, options: ValidateOptions) -> Depth:
    depth = options.depth
    if options.unless_stamped and _has_valid_stamp(folder):
        depth = QUICK
    return depth if options.python is None else replace(depth, pythons=(options.python,))


def _has_valid_stamp(folder: Path) -> bool:
    try:
        task = load_task(folder)
        stamp = read_stamp(task)
    except TaskError:
        return False
    return stamp is not None and stamp.is_valid_for(task)


def _keep_stamp(folder: Path, report: TaskReport) -> None:
    if report.stamp is not None:
        write_stamp(folder, report.stamp)


def _readable_tasks(roots: set[Path]) -> list[Task]:
    """All tasks that can be read; the others are complained about when it is their turn."""
    tasks: list[Task] = []
    for root in roots:
        for folder in task_folders(root):
            try:
                tasks.append(load_task(folder))
            except TaskError:
                continue
    return tasks
