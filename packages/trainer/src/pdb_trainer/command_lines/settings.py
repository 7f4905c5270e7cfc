"""Options of commands that take a recipe."""

import argparse
from pathlib import Path

from pdb_trainer.errors import ConfigError


def add_settings(parser: argparse.ArgumentParser) -> None:
    """--config and --set."""
    parser.add_argument("--config", type=Path, metavar="TOML", help="recipe; --set goes before it")
    parser.add_argument(
        "--set",
        dest="settings",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="such as run.steps=20; without a value the default; may be given again",
    )


def add_run(parser: argparse.ArgumentParser) -> None:
    """What sft and grpo have in common."""
    add_settings(parser)
    parser.add_argument("--out", type=Path, help="folder of the run; one that was begun goes on")
    parser.add_argument("--dry-run", action="store_true", help="say what would run, and run nothing")


def run_folder(arguments: argparse.Namespace) -> Path:
    """What --out says. Raises ConfigError without it, before anything heavy is imported."""
    if arguments.out is None:
        raise ConfigError("A run needs a folder: give --out.")
    return arguments.out
