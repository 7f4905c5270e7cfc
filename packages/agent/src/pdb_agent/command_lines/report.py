"""``pdb-agent report``."""

import argparse
import sys
from pathlib import Path

from pdb_agent.errors import TaskError


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """What the command takes, and what it does."""
    parser.add_argument("runs", nargs="+", type=Path, metavar="RUN", help="folders of runs")
    parser.add_argument("--out", type=Path, required=True, help="folder for the report")
    parser.set_defaults(run=_report)


def _report(arguments: argparse.Namespace) -> int:
    from pdb_agent.report import commands
    from pdb_agent.task_files import find_tasks_root

    try:
        tasks = find_tasks_root()
    except TaskError:
        tasks = None
    return commands.write_report(arguments.runs, arguments.out, sys.stdout, tasks)
