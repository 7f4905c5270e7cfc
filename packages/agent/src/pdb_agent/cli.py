"""The command line: ``pdb-agent doctor`` and ``pdb-agent tasks``.

Heavy modules are imported once the arguments are known, so that ``--help`` is quick.
"""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from pdb_agent.errors import AgentError, TaskError
from pdb_agent.sandbox import Backend

INTERRUPTED = 130
IMPORT_KINDS = ("quixbugs", "humanevalfix", "git", "mini-nightmare")


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command; the exit status: 0 when all is well, 1 when not, 2 for what was asked wrongly."""
    arguments = _parser().parse_args(argv)
    try:
        return arguments.run(arguments)
    except AgentError as error:
        sys.stderr.write(f"pdb-agent: {error}\n")
        return 2
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:  # the reader of our output has left
        sys.stderr.close()
        return 1


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="pdb-agent",
        description="Bug tasks, sandboxes and honest grading for language models that debug Python.",
    )
    commands = parser.add_subparsers(required=True, metavar="command")
    doctor = commands.add_parser("doctor", help="check what this machine can hold in, by trying")
    doctor.add_argument(
        "--sandbox", action="store_true", help="run every attack against every sandbox that works here"
    )
    doctor.add_argument("--json", action="store_true", help="write the result as JSON")
    _add_backend(doctor)
    doctor.set_defaults(run=_doctor)
    _add_tasks(commands.add_parser("tasks", help="look at bug tasks, prove them valid, make and import some"))
    return parser


def _add_backend(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--backend",
        type=Backend,
        choices=list(Backend),
        metavar="NAME",
        help=f"sandbox to use: {', '.join(Backend)}; default: the strongest that works",
    )


def _add_tasks(parser: argparse.ArgumentParser) -> None:
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
    validate = commands.add_parser("validate", help="check every rule; a full check that passes is stamped")
    _add_ids(validate)
    validate.add_argument("--quick", action="store_true", help="one repeat on one Python")
    validate.add_argument(
        "--changed", action="store_true", help="in full only what has no valid stamp, quickly the rest"
    )
    validate.add_argument("--python", metavar="VERSION", help="one version instead of all, such as 3.12")
    validate.add_argument("--jobs", type=int, default=1, help="sandboxes at work at once")
    validate.add_argument("--json", action="store_true", help="write the report as JSON")
    _add_backend(validate)
    validate.set_defaults(run=_validate)
    measure = commands.add_parser("measure", help="write size and content hash into task.toml")
    _add_ids(measure)
    measure.set_defaults(run=_measure)
    witness = commands.add_parser("witness", help="look at the witness through the debugger, on both engines")
    _add_ids(witness)
    witness.set_defaults(run=_witness)
    new = commands.add_parser("new", help="write the skeleton of a task")
    new.add_argument("id")
    new.set_defaults(run=_new)
    bring = commands.add_parser("import", help="make tasks of a data set that you have in a folder")
    bring.add_argument("kind", choices=IMPORT_KINDS)
    bring.add_argument("source", type=Path, help="folder, or for humanevalfix the JSONL file")
    bring.add_argument("--to", type=Path, required=True, help="new folder for the tasks")
    bring.add_argument("--buggy", help="git: the commit with the defect")
    bring.add_argument("--fixed", help="git: the commit without it")
    bring.set_defaults(run=_import)


def _add_ids(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("ids", nargs="*", metavar="id", help="tasks; default: all")


def _doctor(arguments: argparse.Namespace) -> int:
    import anyio

    from pdb_agent import doctor

    return anyio.run(doctor.run, arguments)


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

    if arguments.jobs < 1:
        raise TaskError("--jobs has to be 1 or more.")
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


if __name__ == "__main__":
    sys.exit(main())
