"""``pdb-trainer export``."""

import argparse
import sys
from pathlib import Path

KINDS = ("peft", "vllm", "merged")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """What the command takes, and what it does."""
    parser.add_argument("kind", choices=KINDS)
    parser.add_argument(
        "adapter", type=Path, metavar="RUN", help="folder of a run (its newest checkpoint) or of an adapter"
    )
    parser.add_argument("--out", type=Path, required=True, help="new folder")
    parser.add_argument("--base", type=Path, help="folder of the base model; default: the run's")
    parser.set_defaults(run=_export)


def _export(arguments: argparse.Namespace) -> int:
    from pdb_trainer.export import export

    return export(arguments.kind, arguments.adapter, arguments.out, arguments.base, sys.stdout)
