"""The command ``pdb-trainer``: which commands there are; ``command_lines/`` has a module for each.

Heavy modules are imported once the arguments are known, so that ``--help`` is quick.
"""

import argparse
import os
import sys
from collections.abc import Sequence

from pdb_agent.command_ending import run_to_its_end
from pdb_agent.errors import AgentError

from pdb_trainer.command_lines import corpus, dry_run, export, grpo, inspect, lab, models, probe, sft
from pdb_trainer.errors import TrainerError


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command; the exit status: 0 when all is well, 1 when not, 2 for what was asked wrongly."""
    arguments = _parser().parse_args(argv)
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")  # sandboxes are forked beside it
    os.environ.setdefault("HF_HUB_DISABLE_PROGRESS_BARS", "1")  # ours say more
    return run_to_its_end("pdb-trainer", lambda: arguments.run(arguments), (TrainerError, AgentError))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="pdb-trainer",
        description="Teaches language models to debug: SFT and GRPO on token-exact episodes.",
    )
    commands = parser.add_subparsers(required=True, metavar="command")
    for name, module, words in (
        ("sft", sft, "imitate a corpus; goes on where it was stopped"),
        ("grpo", grpo, "learn from rewards of episodes in the sandbox; goes on where it was stopped"),
        ("corpus", corpus, "collect episodes to imitate, and build, show and count a corpus of them"),
        ("probe", probe, "try a recipe's tasks a few times, and say whether there is anything to learn from"),
        ("dry-run", dry_run, "say what a recipe would run and what it needs, and run nothing"),
        ("inspect", inspect, "what a run learned from: groups with rewards, rows token by token"),
        ("export", export, "a run's adapter for PEFT or vLLM, or merged into its base"),
        ("lab", lab, "see whether a policy learns at all, from nothing to GRPO"),
        ("models", models, "fetch a small real model, or make a tiny one"),
    ):
        module.add_arguments(commands.add_parser(name, help=words))
    return parser


if __name__ == "__main__":
    sys.exit(main())
