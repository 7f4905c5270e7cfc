"""``pdb-agent run``."""

import argparse
import sys
from pathlib import Path

from pdb_agent.command_lines.settings import add_settings, config_of, one_arm


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """What the command takes, and what it does."""
    parser.add_argument("id", help="task")
    parser.add_argument("--toolset", default="debug")
    parser.add_argument("--log", type=Path, help="new file for the episode's events")
    add_settings(parser)
    parser.set_defaults(run=_run)


def _run(arguments: argparse.Namespace) -> int:
    import anyio

    from pdb_agent import run_commands

    config = config_of(arguments, [f'tasks.ids=["{arguments.id}"]', one_arm(arguments.toolset)])
    task = run_commands.select_tasks(config)[0]

    async def run() -> int:
        return await run_commands.run_one(task, config, log_path=arguments.log, stream=sys.stdout)

    return anyio.run(run)
