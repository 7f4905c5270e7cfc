"""``pdb-trainer models``."""

import argparse
import sys
from pathlib import Path


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """What the command takes, and what it does."""
    commands = parser.add_subparsers(required=True, metavar="command")
    tiny = commands.add_parser("make-tiny", help="a tiny random model, for smoke runs")
    tiny.add_argument("folder", type=Path, help="new folder")
    tiny.add_argument("--seed", type=int, default=0)
    tiny.set_defaults(run=_make_tiny)


def _make_tiny(arguments: argparse.Namespace) -> int:
    from pdb_trainer.tiny_model import TinyModel, make_tiny_model

    make_tiny_model(arguments.folder, TinyModel(seed=arguments.seed))
    sys.stdout.write(f"{arguments.folder}: a tiny random model\n")
    return 0
