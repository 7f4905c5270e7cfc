"""debug-gym's mini_nightmare: a folder for each program, with ``<name>_code.py`` and ``test.py``.

There are no solutions, so a task is graded by its own tests: they are visible and hidden alike. Hints
lie in a Markdown file beside the folders, which is never read; nor are files whose name begins with a dot.
"""

from pathlib import Path

from pdb_agent.errors import ImportFormatError
from pdb_agent.importers.finishing import finish_all
from pdb_agent.importers.provenance import check_destination, licence_name, write_record
from pdb_agent.importers.records import Draft, ImportReport, Skipped
from pdb_agent.importers.trial import Bench
from pdb_agent.importers.unittest_cases import plain_module
from pdb_agent.task import TaskLimits

KIND = "mini-nightmare"
_TESTS = "test.py"
_KINDS_OF_FILE = frozenset({".py", ".txt", ".csv", ".json"})
_NO_SOLUTION = "no solution is known: graded by its own tests"


async def import_tasks(source: Path, destination: Path, bench: Bench) -> ImportReport:
    """Write a task for each folder that has a program and ``test.py``.

    Raises ImportFormatError when ``source`` has none, or ``destination`` will not do.
    """
    check_destination(destination)
    tasks, skipped = await finish_all(_drafts(source), destination, bench)
    report = ImportReport(tasks=tuple(tasks), skipped=tuple(skipped))
    write_record(KIND, source, destination, report)
    return report


def _drafts(source: Path) -> list[Draft | Skipped]:
    folders = sorted(path.parent for path in source.glob(f"*/{_TESTS}"))
    if not folders:
        raise ImportFormatError(f"{source} has no folders with {_TESTS}: give the folder mini_nightmare.")
    licence = licence_name(source)
    return [_draft(folder, licence) for folder in folders]


def _draft(folder: Path, licence: str) -> Draft | Skipped:
    name = folder.name
    try:
        text = (folder / _TESTS).read_text("utf-8")
        module = plain_module(f"test_{name}.py", text, f"{name}/{_TESTS}")
        files = {
            path.name: path.read_bytes()
            for path in sorted(folder.iterdir())
            if path.is_file() and path.suffix in _KINDS_OF_FILE and path.name != _TESTS
        }
    except (ImportFormatError, OSError, UnicodeDecodeError) as error:
        return Skipped(origin=name, reason=str(error).rstrip("."))
    return Draft(
        id=f"mini_nightmare_{name}",
        origin=name,
        summary=f"A program in `{name}_code.py` that does not behave as its tests say.",
        group="mini_nightmare",
        before=files,
        after=None,
        modules=(module,),
        licence=licence,
        limits=TaskLimits(test_seconds=10.0, suite_seconds=60.0),
        notes=(_NO_SOLUTION,),
    )
