"""What kinds of tasks there are, in numbers, and whether the set is as balanced as it has to be."""

import statistics
from collections import Counter
from collections.abc import Iterator, Sequence

from pdb_agent.task import Task
from pdb_agent.task_schema import FAMILIES

LEAST_MEDIAN_LINES = 120
MOST_MEDIAN_LINES = 145
MEDIAN_FILES = 3


def totals(tasks: Sequence[Task]) -> dict[str, dict[str, int]]:
    """Counts by family, preference, difficulty and split."""
    families = Counter(task.family for task in tasks)
    return {
        "family": {family: families[family] for family in FAMILIES if families[family]},
        "preference": dict(sorted(Counter(str(task.preference) for task in tasks).items())),
        "difficulty": dict(sorted(Counter(str(task.difficulty) for task in tasks).items())),
        "split": dict(sorted(Counter(str(task.split) for task in tasks).items())),
    }


def check_distribution(tasks: Sequence[Task]) -> list[str]:
    """What the set of all tasks lacks, in sentences."""
    return [*_families(tasks), *_sizes(tasks), *_groups(tasks)]


def _families(tasks: Sequence[Task]) -> Iterator[str]:
    present = {task.family for task in tasks}
    if missing := [family for family in FAMILIES if family not in present]:
        yield f"No task is of the family {', '.join(missing)}: write one of each."


def _sizes(tasks: Sequence[Task]) -> Iterator[str]:
    if not tasks:
        return
    lines = statistics.median(task.source_lines for task in tasks)
    if not LEAST_MEDIAN_LINES <= lines <= MOST_MEDIAN_LINES:
        yield (
            f"The median of source_lines is {lines:g}, outside {LEAST_MEDIAN_LINES} to {MOST_MEDIAN_LINES}: "
            "balance small and large tasks."
        )
    files = statistics.median(task.source_files for task in tasks)
    if files != MEDIAN_FILES:
        yield f"The median of source_files is {files:g}, not {MEDIAN_FILES}: balance small and large tasks."


def _groups(tasks: Sequence[Task]) -> Iterator[str]:
    for group in sorted({task.group for task in tasks}):
        splits = sorted({str(task.split) for task in tasks if task.group == group})
        if len(splits) > 1:
            yield f"The group {group} is divided between {' and '.join(splits)}: move it into one split."
