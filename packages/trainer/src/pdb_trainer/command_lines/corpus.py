"""``pdb-trainer corpus``."""

import argparse
import sys
from pathlib import Path

from pdb_trainer.command_lines.settings import add_settings


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """What the command takes, and what it does."""
    commands = parser.add_subparsers(required=True, metavar="command")
    collect = commands.add_parser("collect", help="run a policy on tasks of the training split")
    add_settings(collect)
    collect.add_argument("--out", type=Path, required=True, help="folder of the run; one begun goes on")
    collect.add_argument("--jobs", type=int, default=2, help="episodes at once")
    collect.set_defaults(run=_collect)
    harvest = commands.add_parser("harvest", help="run the policy that a recipe begins with, likewise")
    add_settings(harvest)
    harvest.add_argument("--out", type=Path, required=True, help="folder of the run; one begun goes on")
    harvest.add_argument(
        "--generation", type=int, required=True, help="rounds of training that made it, from 1"
    )
    harvest.add_argument("--repetitions", type=int, default=1, help="episodes of each task")
    harvest.set_defaults(run=_harvest)
    build = commands.add_parser("build", help="make a corpus of runs: check, cut, tokenise, choose")
    build.add_argument("runs", type=Path, nargs="+", help="folders of runs")
    build.add_argument("--out", type=Path, required=True, help="folder of the corpus; one there is replaced")
    build.add_argument("--model", type=Path, required=True, help="folder of the model that is to learn it")
    build.add_argument("--renderer", help="chat template by name; default: the one that fits the model's")
    build.add_argument("--tasks", type=Path, help="tasks folder whose splits hold; default: the checkout's")
    add_settings(build)
    build.set_defaults(run=_build)
    show = commands.add_parser("show", help="one example, with what of it is trained")
    show.add_argument("folder", type=Path)
    show.add_argument("number", type=int, nargs="?", default=1, help="line of examples.jsonl, from 1")
    show.set_defaults(run=_show)
    stats = commands.add_parser("stats", help="counts by kind, policy and reason; damaged lines")
    stats.add_argument("folder", type=Path)
    stats.set_defaults(run=_stats)


def _collect(arguments: argparse.Namespace) -> int:
    from pdb_trainer.config_reading import read_table, tree_of
    from pdb_trainer.corpus.commands import collect_run
    from pdb_trainer.corpus.settings import CollectConfig

    config = tree_of(CollectConfig, read_table(arguments.config, arguments.settings))
    return collect_run(config, arguments.out, jobs=arguments.jobs, stream=sys.stdout, progress=sys.stderr)


def _harvest(arguments: argparse.Namespace) -> int:
    from pdb_trainer.config_reading import read_either
    from pdb_trainer.harvesting import Harvested, harvest_run

    harvested = Harvested(generation=arguments.generation, repetitions=arguments.repetitions)
    config = read_either(arguments.config, arguments.settings)
    return harvest_run(config, arguments.out, harvested, sys.stdout, sys.stderr)


def _build(arguments: argparse.Namespace) -> int:
    from pdb_trainer.config_reading import read_table, tree_of
    from pdb_trainer.corpus.commands import BuildRequest, build
    from pdb_trainer.corpus.settings import CorpusSettings

    request = BuildRequest(
        runs=arguments.runs,
        out=arguments.out,
        model=arguments.model,
        renderer=arguments.renderer,
        tasks_root=arguments.tasks,
    )
    settings = tree_of(CorpusSettings, read_table(arguments.config, arguments.settings))
    return build(settings, request, sys.stdout, sys.stderr)


def _show(arguments: argparse.Namespace) -> int:
    from pdb_trainer.corpus.commands import show

    return show(arguments.folder, arguments.number, sys.stdout)


def _stats(arguments: argparse.Namespace) -> int:
    from pdb_trainer.corpus.commands import stats

    return stats(arguments.folder, sys.stdout)
