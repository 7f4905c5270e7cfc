"""``pdb-trainer inspect``."""

import argparse
import sys
from pathlib import Path

PIPED_WIDTH = 200
"""Columns where no terminal says how many it has."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """What the command takes, and what it does."""
    parser.add_argument("folder", type=Path, metavar="RUN", help="folder of a run, or of stored rollouts")
    parser.add_argument("--step", help="folder or number of the step; default: the newest")
    parser.add_argument("--episode", metavar="ID", help="show a row of this episode, token by token")
    parser.add_argument(
        "--row", type=int, metavar="N", help="which row of the episode, or of the step; from 0"
    )
    parser.add_argument("--json", action="store_true", help="for programs")
    parser.set_defaults(run=_inspect)


def _inspect(arguments: argparse.Namespace) -> int:
    from rich.console import Console

    from pdb_trainer.inspecting import look_at_batch, look_at_row
    from pdb_trainer.inspection_json import batch_as_json, row_as_json
    from pdb_trainer.inspection_pages import batch_page, row_page

    run, step, episode, row = arguments.folder, arguments.step, arguments.episode, arguments.row
    if episode is None and row is None:
        batch = look_at_batch(run, step)
        shown = batch_as_json(batch) if arguments.json else batch_page(batch)
    else:
        view = look_at_row(run, episode=episode, row=row, step=step)
        shown = row_as_json(view) if arguments.json else row_page(view)
    if isinstance(shown, str):
        sys.stdout.write(f"{shown}\n")
    else:
        Console(file=sys.stdout, width=None if sys.stdout.isatty() else PIPED_WIDTH).print(shown)
    return 0
