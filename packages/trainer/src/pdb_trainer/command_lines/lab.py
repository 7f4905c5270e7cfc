"""``pdb-trainer lab``."""

import argparse
import os
import sys
from pathlib import Path

from pdb_trainer.command_lines.settings import add_settings


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """What the command takes, and what it does."""
    commands = parser.add_subparsers(required=True, metavar="command")
    learn = commands.add_parser(
        "learn-smoke", help="base, SFT, GRPO of a small model; 1 unless the solve rate rises twice"
    )
    add_settings(learn)
    learn.add_argument("--out", type=Path, required=True, help="folder; one that was begun goes on")
    learn.add_argument("--seed", type=int, help="instead of the recipe's")
    learn.set_defaults(run=_learn_smoke)


def _learn_smoke(arguments: argparse.Namespace) -> int:
    from pdb_trainer.config_reading import read_table, tree_of
    from pdb_trainer.labs.settings import LabConfig

    config = tree_of(LabConfig, read_table(arguments.config, arguments.settings))
    os.environ.setdefault("OMP_NUM_THREADS", str(config.threads))  # read once, when torch is imported
    from pdb_trainer.labs.learn_smoke import learn_smoke

    if arguments.seed is not None:
        config = config.model_copy(update={"seed": arguments.seed})
    return learn_smoke(config, arguments.out, sys.stderr)
