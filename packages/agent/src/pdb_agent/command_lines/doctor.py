"""``pdb-agent doctor``."""

import argparse

from pdb_agent.command_lines.settings import add_backend


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """What the command takes, and what it does."""
    parser.add_argument(
        "--sandbox", action="store_true", help="run every attack against every sandbox that works here"
    )
    parser.add_argument("--json", action="store_true", help="write the result as JSON")
    add_backend(parser)
    parser.set_defaults(run=_doctor)


def _doctor(arguments: argparse.Namespace) -> int:
    import anyio

    from pdb_agent import doctor

    return anyio.run(doctor.run, arguments)
