"""``pdb-trainer grpo``."""

import argparse
import sys

from pdb_trainer.command_lines.settings import add_run, run_folder


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """What the command takes, and what it does."""
    add_run(parser)
    parser.set_defaults(run=_grpo)


def _grpo(arguments: argparse.Namespace) -> int:
    from pdb_trainer.config_reading import read_grpo

    config = read_grpo(arguments.config, arguments.settings)
    if arguments.dry_run:
        from pdb_trainer.dry_run import dry_run

        return dry_run(config, sys.stdout)
    folder = run_folder(arguments)
    from pdb_trainer import grpo
    from pdb_trainer.run_place import in_folder

    return in_folder(grpo.train, config, folder, sys.stderr)
