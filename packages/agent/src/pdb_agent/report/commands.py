"""``pdb-agent report`` and ``pdb-agent compare``."""

from collections.abc import Mapping, Sequence
from decimal import Decimal
from pathlib import Path
from typing import TextIO

from pdb_agent.comparison import Comparison, compare
from pdb_agent.episode_steps import Gold, gold_of
from pdb_agent.errors import TaskError
from pdb_agent.messages import Reply
from pdb_agent.policies.prices import cost
from pdb_agent.report.build import PAGE, build_report, told
from pdb_agent.report.collect import ReportError, Run, Sources, arms_of, read_run
from pdb_agent.report.comparisons import comparison_table
from pdb_agent.report.tables import Table
from pdb_agent.summary import EpisodeSummary
from pdb_agent.task_files import load_task, task_folders

Arms = Mapping[str, Sequence[EpisodeSummary]]


def write_report(
    run_folders: Sequence[Path], out_folder: Path, stream: TextIO, tasks: Path | None = None
) -> int:
    """Write the report of runs into a folder and say what it found; the exit status.

    ``tasks`` is the folder of the tasks, for what only their solutions and witnesses tell.
    Raises ReportError.
    """
    sources = Sources(gold=GoldBook(tasks), price=price_of) if tasks else Sources(price=price_of)
    report = build_report(run_folders, out_folder, sources)
    for sentence in told(report):
        stream.write(f"{sentence}\n")
    for run in report.runs:
        for path in run.unreadable:
            stream.write(f"{path} cannot be read and is left out.\n")
    stream.write(f"Open {(out_folder / PAGE).resolve().as_uri()}\n")
    return 0


def compare_runs(a: Path, b: Path, stream: TextIO) -> int:
    """Compare the arms of two runs that have equal names, or their only ones; the exit status.

    Twice the same run compares its arms among each other. Raises ReportError.
    """
    sources = Sources(price=price_of)
    first = read_run(a, sources)
    second = first if a.resolve() == b.resolve() else read_run(b, sources)
    comparisons = [
        found
        for early, late, names in _pairs(first, second)
        if (found := compare(early, late, names)) is not None
    ]
    if not comparisons:
        raise ReportError(f"No task of {a} is scored in {b} too: give runs over the same tasks.")
    for place, one in enumerate(comparisons):
        stream.write(("\n" if place else "") + in_columns(comparison_table([one])) + _left_out(one))
    return 0


def in_columns(table: Table) -> str:
    """A table for a terminal."""
    rows = [list(table.columns), *[list(row) for row in table.rows]]
    widths = [max(len(row[place]) for row in rows) for place in range(len(table.columns))]
    return "".join(
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() + "\n"
        for row in rows
    )


class GoldBook:
    """Where the causes of tasks are, looked up when first asked for."""

    def __init__(self, root: Path) -> None:
        self._folders = {folder.name: folder for folder in task_folders(root)}
        self._known: dict[str, tuple[str, Gold] | None] = {}

    def __call__(self, task: str, content_hash: str) -> Gold | None:
        """None for a task that is not there, cannot be read, or is no longer what the episode saw."""
        if task not in self._known:
            self._known[task] = self._read(task)
        known = self._known[task]
        return known[1] if known is not None and known[0] == content_hash else None

    def _read(self, name: str) -> tuple[str, Gold] | None:
        folder = self._folders.get(name)
        if folder is None:
            return None
        try:
            task = load_task(folder)
            return task.content_hash, gold_of(task)
        except TaskError:
            return None


def price_of(policy: str, reply: Reply) -> Decimal | None:
    """What a reply cost, by the dated table."""
    return cost(policy, reply.usage, reply.raw_usage)


def _pairs(
    first: Run, second: Run
) -> list[tuple[Sequence[EpisodeSummary], Sequence[EpisodeSummary], tuple[str, str]]]:
    early, late = arms_of([first]), arms_of([second])
    if first is second:
        names = list(early)
        if len(names) < 2:
            raise ReportError(f"{first.path} has one arm only: give a second run to compare it with.")
        return [(early[names[0]], early[name], (names[0], name)) for name in names[1:]]
    common = [name for name in early if name in late]
    if not common and len(early) == len(late) == 1:
        common_pair = (next(iter(early)), next(iter(late)))
        return [(early[common_pair[0]], late[common_pair[1]], common_pair)]
    if not common:
        raise ReportError(
            f"{first.path} has the arms {', '.join(early)}, and {second.path} {', '.join(late)}: "
            "give runs with an arm in common, or with one arm each."
        )
    return [
        (early[name], late[name], (f"{first.path.name}: {name}", f"{second.path.name}: {name}"))
        for name in common
    ]


def _left_out(one: Comparison) -> str:
    if not one.left_out:
        return ""
    return f"Left out, scored in one of them only: {', '.join(one.left_out)}\n"
