"""``pdb-agent export``."""

import argparse
import sys
from pathlib import Path

KINDS = ("atif", "sft", "openai-chat")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """What the command takes, and what it does."""
    parser.add_argument("kind", choices=KINDS)
    parser.add_argument("folder", type=Path, metavar="RUN", help="folder of the run")
    parser.add_argument("--out", type=Path, required=True, help="file to write; for atif a folder")
    parser.set_defaults(run=_export)


def _export(arguments: argparse.Namespace) -> int:
    from pdb_agent.exports import commands

    return commands.export(arguments.kind, arguments.folder, arguments.out, sys.stdout)
