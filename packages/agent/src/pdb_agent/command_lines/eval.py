"""``pdb-agent eval``."""

import argparse
import json
import sys
from pathlib import Path

from pdb_agent.command_lines.settings import add_settings, check_jobs, config_of


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """What the command takes, and what it does."""
    parser.add_argument(
        "--out", type=Path, required=True, help="folder of the run; an existing one is continued"
    )
    parser.add_argument("--split", choices=("train", "validation", "test"), help="tasks of one split")
    parser.add_argument("--tasks", metavar="ID,…", help="tasks by id; default: all")
    parser.add_argument("--arms", metavar="TOOLSET,…", help="arms by toolset, such as debug,no-debugger")
    parser.add_argument("--repetitions", type=int, metavar="N", help="episodes per task and arm; default 8")
    parser.add_argument("--jobs", type=int, default=1, help="episodes at once")
    add_settings(parser)
    parser.set_defaults(run=_evaluate)


def _evaluate(arguments: argparse.Namespace) -> int:
    import anyio

    from pdb_agent import run_commands

    check_jobs(arguments.jobs)
    config = config_of(arguments, _settings(arguments))

    async def evaluate() -> int:
        return await run_commands.evaluate(
            config, arguments.out, jobs=arguments.jobs, stream=sys.stdout, progress=sys.stderr
        )

    return anyio.run(evaluate)


def _settings(arguments: argparse.Namespace) -> list[str]:
    """The command's own options as settings of the run."""
    settings: list[str] = []
    if arguments.split:
        settings.append(f'tasks.split="{arguments.split}"')
    if arguments.tasks:
        settings.append(f"tasks.ids={json.dumps(arguments.tasks.split(','))}")
    if arguments.repetitions:
        settings.append(f"repetitions={arguments.repetitions}")
    if arguments.arms:
        arms = ", ".join(f'"{name}" = {{toolset = "{name}"}}' for name in arguments.arms.split(","))
        settings.append(f"arms={{{arms}}}")
    return settings
