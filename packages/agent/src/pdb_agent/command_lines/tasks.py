"""``pdb-agent tasks``: list, show, check, validate, measure, witness, new and import."""

import argparse
import sys
from pathlib import Path

from pdb_agent.command_lines.settings import add_backend, check_jobs
from pdb_agent.errors import TaskError

IMPORT_KINDS = ("quixbugs", "humanevalfix", "git", "mini-nightmare")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """What the commands take, and what they do."""
    parser.add_argument(
        "--root", type=Path, help="folder of the tasks; default: the nearest tasks/ from here up"
    )
    commands = parser.add_subparsers(required=True, metavar="command")
    listing = commands.add_parser("list", help="one line per task, and the totals")
    listing.add_argument(
        "--check-distribution",
        action="store_true",
        help="fail unless families, sizes and splits are as meant",
    )
    listing.set_defaults(run=_list)
    show = commands.add_parser("show", help="what a task is, without its hidden tests and solution")
    show.add_argument("id")
    show.set_defaults(run=_show)
    check = commands.add_parser("check", help="in seconds, for a task that is being written")
    _add_ids(check)
    check.set_defaults(run=_check)
    _add_validate(
        commands.add_parser("validate", help="check every rule; a full check that passes is stamped")
    )
    measure = commands.add_parser("measure", help="write size and content hash into task.toml")
    _add_ids(measure)
    measure.set_defaults(run=_measure)
    witness = commands.add_parser("witness", help="look at the witness through the debugger, on both engines")
    _add_ids(witness)
    witness.set_defaults(run=_witness)
    new = commands.add_parser("new", help="write the skeleton of a task")
    new.add_argument("id")
    new.set_defaults(run=_new)
    _add_import(commands.add_parser("import", help="make tasks of a data set that you have in a folder"))


def _add_validate(validate: argparse.ArgumentParser) -> None:
    _add_ids(validate)
    validate.add_argument("--quick", action="store_true", help="one repeat on one Python")
    validate.add_argument(
        "--changed", action="store_true", help="in full only what has no valid stamp, quickly the rest"
    )
    validate.add_argument("--python", metavar="VERSION", help="one version instead of all, such as 3.12")
    validate.add_argument("--jobs", type=int, default=1, help="sandboxes at work at once")
    validate.add_argument("--json", action="store_true", help="write the report as JSON")
    add_backend(validate)
    validate.set_defaults(run=_validate)


def _add_import(bring: argparse.ArgumentParser) -> None:
    bring.add_argument("kind", choices=IMPORT_KINDS)
    bring.add_argument("source", type=Path, help="folder, or for humanevalfix the JSONL file")
    bring.add_argument("--to", type=Path, required=True, help="new folder for the tasks")
    bring.add_argument("--buggy", help="git: the commit with the defect")
    bring.add_argument("--fixed", help="git: the commit without it")
    bring.set_defaults(run=_import)


def _add_ids(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("ids", nargs="*", metavar="id", help="tasks; default: all")


def _root(arguments: argparse.Namespace) -> Path:
    from pdb_agent.task_files import find_tasks_root

    return arguments.root if arguments.root is not None else find_tasks_root()


def _folders(arguments: argparse.Namespace) -> list[Path]:
    """The folders of the tasks asked for. Raises TaskError for an id that is none."""
    from pdb_agent.task_files import task_folders

    root = _root(arguments)
    there = {folder.name: folder for folder in task_folders(root)}
    for name in arguments.ids:
        if name not in there:
            raise TaskError(
                f"There is no task {name} in {root}: `pdb-agent tasks list` shows those there are."
            )
    return [there[name] for name in arguments.ids or there]


def _list(arguments: argparse.Namespace) -> int:
    from pdb_agent import task_commands

    return task_commands.list_tasks(
        _root(arguments), sys.stdout, wants_distribution=arguments.check_distribution
    )


def _show(arguments: argparse.Namespace) -> int:
    from pdb_agent import task_commands

    arguments.ids = [arguments.id]
    return task_commands.show_task(_folders(arguments)[0], sys.stdout)


def _check(arguments: argparse.Namespace) -> int:
    import anyio

    from pdb_agent import task_commands

    return anyio.run(task_commands.check_tasks, _folders(arguments), sys.stdout)


def _validate(arguments: argparse.Namespace) -> int:
    import anyio

    from pdb_agent import task_commands
    from pdb_agent.validation.depth import FULL, QUICK

    check_jobs(arguments.jobs)
    options = task_commands.ValidateOptions(
        depth=QUICK if arguments.quick else FULL,
        unless_stamped=arguments.changed,
        python=arguments.python,
        jobs=arguments.jobs,
        as_json=arguments.json,
        backend=arguments.backend,
    )
    return anyio.run(task_commands.validate_tasks, _folders(arguments), sys.stdout, sys.stderr, options)


def _measure(arguments: argparse.Namespace) -> int:
    from pdb_agent import task_commands

    return task_commands.measure_tasks(_folders(arguments), sys.stdout)


def _witness(arguments: argparse.Namespace) -> int:
    import anyio

    from pdb_agent import witness

    return anyio.run(witness.report, _folders(arguments), sys.stdout)


def _new(arguments: argparse.Namespace) -> int:
    from pdb_agent import task_commands

    return task_commands.new_task(_root(arguments), arguments.id, sys.stdout)


def _import(arguments: argparse.Namespace) -> int:
    from pdb_agent.importers import commands

    return commands.run(arguments, sys.stdout)
