"""What ``tasks import`` does."""

import argparse
from pathlib import Path
from typing import TextIO

import anyio

from pdb_agent.errors import AgentError, ImportFormatError
from pdb_agent.importers import git_pair, human_eval_fix, mini_nightmare, quixbugs
from pdb_agent.importers.records import ImportReport
from pdb_agent.importers.trial import Bench


def run(arguments: argparse.Namespace, out: TextIO) -> int:
    """Import a data set and tell what became of it; the exit status.

    ``arguments`` has kind, source and to; for git also buggy and fixed.
    """
    try:
        report = anyio.run(_import, arguments)
    except AgentError as error:
        out.write(f"{error}\n")
        return 1
    _tell(report, arguments.to, out)
    return 0 if report.tasks else 1


async def _import(arguments: argparse.Namespace) -> ImportReport:
    source, destination, bench = arguments.source, arguments.to, Bench()
    match arguments.kind:
        case quixbugs.KIND:
            return await quixbugs.import_tasks(source, destination, bench)
        case human_eval_fix.KIND:
            return await human_eval_fix.import_tasks(source, destination, bench)
        case mini_nightmare.KIND:
            return await mini_nightmare.import_tasks(source, destination, bench)
        case git_pair.KIND:
            if not arguments.buggy or not arguments.fixed:
                raise ImportFormatError("git needs two commits: give --buggy and --fixed.")
            return await git_pair.import_tasks(
                source, destination, bench, buggy=arguments.buggy, fixed=arguments.fixed
            )
        case kind:
            raise ImportFormatError(f"There is no importer {kind}: see `pdb-agent tasks import --help`.")


def _tell(report: ImportReport, destination: Path, out: TextIO) -> None:
    for task in report.tasks:
        out.write(f"{task.id}: rules that cannot apply: {', '.join(task.rules_not_applicable)}\n")
        out.writelines(f"  {note}\n" for note in task.notes)
    out.writelines(f"skipped {skipped.origin}: {skipped.reason}.\n" for skipped in report.skipped)
    out.write(
        f"{len(report.tasks)} tasks written to {destination}, {len(report.skipped)} skipped; "
        "import.toml says where each comes from.\n"
    )
