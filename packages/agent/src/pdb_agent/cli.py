"""The command ``pdb-agent``: which commands there are; ``command_lines/`` has a module for each.

Heavy modules are imported once the arguments are known, so that ``--help`` is quick.
"""

import argparse
import sys
from collections.abc import Sequence

from pdb_agent.command_ending import run_to_its_end
from pdb_agent.command_lines import compare, demo, doctor, export, fix, report, run, tasks, view
from pdb_agent.command_lines import eval as evaluate
from pdb_agent.errors import AgentError


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command; the exit status: 0 when all is well, 1 when not, 2 for what was asked wrongly."""
    arguments = _parser().parse_args(argv)
    return run_to_its_end("pdb-agent", lambda: arguments.run(arguments), (AgentError,))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="pdb-agent",
        description="Bug tasks, sandboxes and honest grading for language models that debug Python.",
    )
    commands = parser.add_subparsers(required=True, metavar="command")
    for name, module, words in (
        ("doctor", doctor, "check what this machine can hold in, by trying"),
        ("demo", demo, "one real bug, repaired and graded, with pages to open"),
        ("run", run, "one episode, shown as it happens"),
        ("eval", evaluate, "many episodes: tasks × arms × repetitions; continues a run"),
        ("fix", fix, "let a model repair your own project, in a copy"),
        ("report", report, "figures and tables of runs, as pages to open"),
        ("compare", compare, "two runs, arm by arm, task by task"),
        ("view", view, "watch an episode again, or two side by side"),
        ("export", export, "a run's episodes in a format that others read"),
        ("tasks", tasks, "look at bug tasks, prove them valid, make and import some"),
    ):
        module.add_arguments(commands.add_parser(name, help=words))
    return parser


if __name__ == "__main__":
    sys.exit(main())
