"""``pdb-trainer dry-run``."""

import argparse
import sys
from pathlib import Path


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """What the command takes, and what it does."""
    parser.add_argument("config", type=Path, metavar="TOML", help="recipe of either kind")
    parser.add_argument("--set", dest="settings", action="append", default=[], metavar="NAME=VALUE")
    parser.set_defaults(run=_dry_run)


def _dry_run(arguments: argparse.Namespace) -> int:
    from pdb_trainer.config_reading import read_either
    from pdb_trainer.dry_run import dry_run

    return dry_run(read_either(arguments.config, arguments.settings), sys.stdout)
