"""``pdb-agent compare``."""

import argparse
import sys
from pathlib import Path


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """What the command takes, and what it does."""
    parser.add_argument("runs", nargs=2, type=Path, metavar="RUN", help="twice the same: its arms")
    parser.set_defaults(run=_compare)


def _compare(arguments: argparse.Namespace) -> int:
    from pdb_agent.report import commands

    return commands.compare_runs(arguments.runs[0], arguments.runs[1], sys.stdout)
