"""Options that several commands have, and the settings of a run that they amount to."""

import argparse
import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from pdb_agent.errors import TaskError
from pdb_agent.sandbox import Backend

if TYPE_CHECKING:
    from pdb_agent.config import RunConfig


def add_settings(parser: argparse.ArgumentParser) -> None:
    """--config, --policy, --base-url, -s and --backend, which ``config_of`` reads."""
    parser.add_argument("--config", type=Path, help="TOML file; options below and -s go before it")
    parser.add_argument(
        "--policy", help="oracle, or provider/model: anthropic, openai, openrouter, vllm, compatible"
    )
    parser.add_argument("--base-url", help="address of the policy's server, ending in /v1")
    parser.add_argument(
        "-s",
        dest="settings",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="such as limits.turns=30",
    )
    add_backend(parser)


def add_backend(parser: argparse.ArgumentParser) -> None:
    """--backend."""
    parser.add_argument(
        "--backend",
        type=Backend,
        choices=list(Backend),
        metavar="NAME",
        help=f"sandbox to use: {', '.join(Backend)}; default: the strongest that works",
    )


def config_of(arguments: argparse.Namespace, more: Sequence[str] = ()) -> "RunConfig":
    """The tree of a file, options, ``more`` and -s, the later before the earlier. Raises ConfigError."""
    from pdb_agent.config import read_config

    given = {
        "policy.name": arguments.policy,
        "policy.base_url": arguments.base_url,
        "backend": arguments.backend,
    }
    options = [f"{name}={json.dumps(str(value))}" for name, value in given.items() if value is not None]
    return read_config(arguments.config, [*options, *more, *arguments.settings])


def one_arm(toolset: str) -> str:
    """The setting of a run that has a single arm."""
    return f'arms={{"{toolset}" = {{toolset = "{toolset}"}}}}'


def check_jobs(jobs: int) -> None:
    """Raise TaskError for a number of jobs that is none."""
    if jobs < 1:
        raise TaskError("--jobs has to be 1 or more.")
