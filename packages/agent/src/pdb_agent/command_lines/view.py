"""``pdb-agent view``."""

import argparse
import sys
from pathlib import Path


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """What the command takes, and what it does."""
    parser.add_argument(
        "episodes",
        nargs="+",
        type=Path,
        metavar="EPISODE",
        help="one file, two to see side by side, or a run",
    )
    parser.add_argument("--out", type=Path, required=True, help="page to write; of a run, a folder")
    parser.set_defaults(run=_view)


def _view(arguments: argparse.Namespace) -> int:
    from pdb_agent.viewer import commands

    return commands.view(arguments.episodes, arguments.out, sys.stdout)
