"""``pdb-agent fix``."""

import argparse
import sys
from pathlib import Path

from pdb_agent.command_lines.settings import add_settings, config_of, one_arm


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """What the command takes, and what it does."""
    parser.add_argument(
        "tests", nargs="+", metavar="TEST", help="failing tests, such as tests/test_x.py::test_y"
    )
    parser.add_argument("--project", type=Path, default=Path(), help="its folder; default: this one")
    parser.add_argument(
        "--python", type=Path, help="its Python; default: that of its .venv, or the active one"
    )
    parser.add_argument("--apply", action="store_true", help="write the changes into the project")
    parser.add_argument(
        "--leave-out", action="append", default=[], metavar="NAME", help="files or folders not to copy"
    )
    parser.add_argument(
        "--suite",
        action="append",
        default=[],
        metavar="PATH",
        help="tests that must go on passing; default: all",
    )
    parser.add_argument(
        "--suite-seconds", type=float, default=300.0, help="time for all of them; default 300"
    )
    parser.add_argument(
        "--test-seconds", type=float, default=60.0, help="time for the failing ones; default 60"
    )
    parser.add_argument("--toolset", default="debug")
    add_settings(parser)
    parser.set_defaults(run=_fix)


def _fix(arguments: argparse.Namespace) -> int:
    import anyio

    from pdb_agent import fix_commands
    from pdb_agent.fixing import FixRequest

    config = config_of(arguments, [one_arm(arguments.toolset)])
    request = FixRequest(
        tests=tuple(arguments.tests),
        root=arguments.project.resolve(),
        python=arguments.python,
        leave_out=tuple(arguments.leave_out),
        suite=tuple(arguments.suite),
        suite_seconds=arguments.suite_seconds,
        test_seconds=arguments.test_seconds,
    )

    async def fix() -> int:
        return await fix_commands.fix(
            config, request, wants_apply=arguments.apply, stream=sys.stdout, progress=sys.stderr
        )

    return anyio.run(fix)
