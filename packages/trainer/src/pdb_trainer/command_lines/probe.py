"""``pdb-trainer probe``."""

import argparse
import sys
from pathlib import Path

from pdb_trainer.command_lines.settings import add_settings


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """What the command takes, and what it does."""
    add_settings(parser)
    parser.add_argument("--out", type=Path, required=True, help="folder of the tries; one begun goes on")
    parser.add_argument("--tries", type=int, default=4, help="episodes of each task")
    parser.add_argument("--anyway", action="store_true", help="succeed although the run looks hopeless")
    parser.set_defaults(run=_probe)


def _probe(arguments: argparse.Namespace) -> int:
    from pdb_trainer.config_reading import read_grpo
    from pdb_trainer.probing import probe_run

    return probe_run(
        read_grpo(arguments.config, arguments.settings),
        arguments.out,
        tries=arguments.tries,
        anyway=arguments.anyway,
        stream=sys.stdout,
        progress=sys.stderr,
    )
