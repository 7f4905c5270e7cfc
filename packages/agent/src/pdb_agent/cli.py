"""The command line: ``pdb-agent run | eval | tasks | doctor``.

Heavy modules are imported once the arguments are known, so that ``--help`` is quick.
"""

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from pdb_agent.errors import AgentError, TaskError
from pdb_agent.sandbox import Backend

if TYPE_CHECKING:
    from pdb_agent.config import RunConfig

INTERRUPTED = 130
EXPORT_KINDS = ("atif", "sft", "openai-chat")
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
    demo = commands.add_parser("demo", help="one real bug, repaired and graded, with pages to open")
    demo.add_argument("--out", type=Path, default=Path("out/demo"), help="folder for it; default: out/demo")
    demo.set_defaults(run=_demo)
    _add_run(commands.add_parser("run", help="one episode, shown as it happens"))
    _add_eval(commands.add_parser("eval", help="many episodes: tasks × arms × repetitions; continues a run"))
    _add_fix(commands.add_parser("fix", help="let a model repair your own project, in a copy"))
    _add_reading(
        commands.add_parser("report", help="figures and tables of runs, as pages to open"),
        commands.add_parser("compare", help="two runs, arm by arm, task by task"),
        commands.add_parser("view", help="watch an episode again, or two side by side"),
    )
    export = commands.add_parser("export", help="a run's episodes in a format that others read")
    export.add_argument("kind", choices=EXPORT_KINDS)
    export.add_argument("folder", type=Path, metavar="RUN", help="folder of the run")
    export.add_argument("--out", type=Path, required=True, help="file to write; for atif a folder")
    export.set_defaults(run=_export)
    _add_tasks(commands.add_parser("tasks", help="look at bug tasks, prove them valid, make and import some"))
    return parser


def _add_eval(evaluate: argparse.ArgumentParser) -> None:
    evaluate.add_argument(
        "--out", type=Path, required=True, help="folder of the run; an existing one is continued"
    )
    evaluate.add_argument("--split", choices=("train", "validation", "test"), help="tasks of one split")
    evaluate.add_argument("--tasks", metavar="ID,…", help="tasks by id; default: all")
    evaluate.add_argument("--arms", metavar="TOOLSET,…", help="arms by toolset, such as debug,no-debugger")
    evaluate.add_argument("--repetitions", type=int, metavar="N", help="episodes per task and arm; default 8")
    evaluate.add_argument("--jobs", type=int, default=1, help="episodes at once")
    _add_settings(evaluate)
    evaluate.set_defaults(run=_eval)


def _add_run(run: argparse.ArgumentParser) -> None:
    run.add_argument("id", help="task")
    run.add_argument("--toolset", default="debug")
    run.add_argument("--log", type=Path, help="new file for the episode's events")
    _add_settings(run)
    run.set_defaults(run=_run)


def _add_fix(fix: argparse.ArgumentParser) -> None:
    fix.add_argument(
        "tests", nargs="+", metavar="TEST", help="failing tests, such as tests/test_x.py::test_y"
    )
    fix.add_argument("--project", type=Path, default=Path(), help="its folder; default: this one")
    fix.add_argument("--python", type=Path, help="its Python; default: that of its .venv, or the active one")
    fix.add_argument("--apply", action="store_true", help="write the changes into the project")
    fix.add_argument(
        "--leave-out", action="append", default=[], metavar="NAME", help="files or folders not to copy"
    )
    fix.add_argument(
        "--suite",
        action="append",
        default=[],
        metavar="PATH",
        help="tests that must go on passing; default: all",
    )
    fix.add_argument("--suite-seconds", type=float, default=300.0, help="time for all of them; default 300")
    fix.add_argument("--test-seconds", type=float, default=60.0, help="time for the failing ones; default 60")
    fix.add_argument("--toolset", default="debug")
    _add_settings(fix)
    fix.set_defaults(run=_fix)


def _add_reading(
    report: argparse.ArgumentParser, compare: argparse.ArgumentParser, view: argparse.ArgumentParser
) -> None:
    report.add_argument("runs", nargs="+", type=Path, metavar="RUN", help="folders of runs")
    report.add_argument("--out", type=Path, required=True, help="folder for the report")
    report.set_defaults(run=_report)
    compare.add_argument("runs", nargs=2, type=Path, metavar="RUN", help="twice the same: its arms")
    compare.set_defaults(run=_compare)
    view.add_argument(
        "episodes",
        nargs="+",
        type=Path,
        metavar="EPISODE",
        help="one file, two to see side by side, or a run",
    )
    view.add_argument("--out", type=Path, required=True, help="page to write; of a run, a folder")
    view.set_defaults(run=_view)


def _add_settings(parser: argparse.ArgumentParser) -> None:
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
    _add_backend(parser)


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


def _config(arguments: argparse.Namespace, more: Sequence[str] = ()) -> "RunConfig":
    """The tree of a file, options and -s. Raises ConfigError."""
    from pdb_agent.config import read_config

    given = {
        "policy.name": arguments.policy,
        "policy.base_url": arguments.base_url,
        "backend": arguments.backend,
    }
    options = [f"{name}={json.dumps(str(value))}" for name, value in given.items() if value is not None]
    return read_config(arguments.config, [*options, *more, *arguments.settings])


def _eval(arguments: argparse.Namespace) -> int:
    import anyio

    from pdb_agent import run_commands

    if arguments.jobs < 1:
        raise TaskError("--jobs has to be 1 or more.")
    more: list[str] = []
    if arguments.split:
        more.append(f'tasks.split="{arguments.split}"')
    if arguments.tasks:
        more.append(f"tasks.ids={json.dumps(arguments.tasks.split(','))}")
    if arguments.repetitions:
        more.append(f"repetitions={arguments.repetitions}")
    if arguments.arms:
        arms = ", ".join(f'"{name}" = {{toolset = "{name}"}}' for name in arguments.arms.split(","))
        more.append(f"arms={{{arms}}}")
    config = _config(arguments, more)

    async def evaluate() -> int:
        return await run_commands.evaluate(
            config, arguments.out, jobs=arguments.jobs, stream=sys.stdout, progress=sys.stderr
        )

    return anyio.run(evaluate)


def _run(arguments: argparse.Namespace) -> int:
    import anyio

    from pdb_agent import run_commands

    arm = f'arms={{"{arguments.toolset}" = {{toolset = "{arguments.toolset}"}}}}'
    config = _config(arguments, [f'tasks.ids=["{arguments.id}"]', arm])
    task = run_commands.select_tasks(config)[0]

    async def run() -> int:
        return await run_commands.run_one(task, config, log_path=arguments.log, stream=sys.stdout)

    return anyio.run(run)


def _fix(arguments: argparse.Namespace) -> int:
    import anyio

    from pdb_agent import fix_commands
    from pdb_agent.fixing import FixRequest

    arm = f'arms={{"{arguments.toolset}" = {{toolset = "{arguments.toolset}"}}}}'
    config = _config(arguments, [arm])
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


def _demo(arguments: argparse.Namespace) -> int:
    from pdb_agent.demo import demo

    return demo(arguments.out, sys.stdout)


def _report(arguments: argparse.Namespace) -> int:
    from pdb_agent.report import commands
    from pdb_agent.task_files import find_tasks_root

    try:
        tasks = find_tasks_root()
    except TaskError:
        tasks = None
    return commands.write_report(arguments.runs, arguments.out, sys.stdout, tasks)


def _compare(arguments: argparse.Namespace) -> int:
    from pdb_agent.report import commands

    return commands.compare_runs(arguments.runs[0], arguments.runs[1], sys.stdout)


def _export(arguments: argparse.Namespace) -> int:
    from pdb_agent.exports import commands

    return commands.export(arguments.kind, arguments.folder, arguments.out, sys.stdout)


def _view(arguments: argparse.Namespace) -> int:
    from pdb_agent.viewer import commands

    return commands.view(arguments.episodes, arguments.out, sys.stdout)


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
