"""``pdb-agent demo``."""

import argparse
import sys
from pathlib import Path


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """What the command takes, and what it does."""
    parser.add_argument("--out", type=Path, default=Path("out/demo"), help="folder for it; default: out/demo")
    parser.set_defaults(run=_demo)


def _demo(arguments: argparse.Namespace) -> int:
    from pdb_agent.demo import demo

    return demo(arguments.out, sys.stdout)
