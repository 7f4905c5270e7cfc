"""A pair of commits of a repository: one with a defect, one without.

The workspace holds the sources of the first; the solution is what the second changes outside of tests;
tests are those of the second, so far as they are functions. ``src/`` is taken off paths, and a folder
``test/`` becomes ``tests/``.
"""

from collections.abc import Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from pathlib import Path, PurePosixPath

from pdb_agent.errors import ImportFormatError
from pdb_agent.importers.finishing import finish_all
from pdb_agent.importers.git_files import changed_paths, files_at, resolve
from pdb_agent.importers.module_pieces import take_apart
from pdb_agent.importers.provenance import check_destination, licence_name, write_record
from pdb_agent.importers.records import Draft, ImportReport, Skipped, TestModule
from pdb_agent.importers.trial import Bench
from pdb_agent.sandbox import MEBIBYTE
from pdb_agent.task import TaskLimits

KIND = "git"
_TEST_FOLDERS = ("tests/", "test/")
_LIMIT_BYTES = MEBIBYTE
_NOT_FOR_THE_MODEL = frozenset({"CHANGELOG.md", "CHANGELOG.rst", "CHANGES.md", "CHANGES.rst", "HISTORY.rst"})
"""What tells of changes, and so perhaps of the solution."""
_OWN = frozenset({"conftest.py", "pytest.ini", "task.toml"})
"""Names that runs of tests and tasks give a meaning of their own."""


async def import_tasks(
    source: Path,
    destination: Path,
    bench: Bench,
    *,
    buggy: str,
    fixed: str,
    tests: Sequence[str] = (),
) -> ImportReport:
    """Write the task of a pair of commits.

    ``tests`` are globs of test modules; by default those that change between the commits, or all if none
    does. Raises ImportFormatError when ``source`` lacks a commit, or ``destination`` will not do.
    """
    check_destination(destination)
    before, after = resolve(source, buggy), resolve(source, fixed)
    draft = _draft(source, (before, after), tests)
    imported, skipped = await finish_all([draft], destination, bench)
    report = ImportReport(tasks=tuple(imported), skipped=tuple(skipped))
    write_record(KIND, source, destination, report, commit=after)
    return report


def _draft(source: Path, commits: tuple[str, str], globs: Sequence[str]) -> Draft | Skipped:
    before, after = (files_at(source, commit, _LIMIT_BYTES) for commit in commits)
    name = source.resolve().name.removesuffix(".git")
    origin = f"{name} {commits[0][:10]}..{commits[1][:10]}"
    changed = changed_paths(source, *commits)
    notes: list[str] = []
    try:
        modules = list(_modules(after, globs, changed, notes))
    except ImportFormatError as error:
        return Skipped(origin=origin, reason=str(error).rstrip("."))
    if not modules:
        return Skipped(origin=origin, reason="it has no test modules with functions: name some")
    sources = _sources(before)
    solved = sources | {path: text for path, text in _sources(after).items() if _is_change(path, changed)}
    for path in sources:
        if _is_change(path, changed) and path not in _sources(after):
            del solved[path]
    return Draft(
        id=f"git_{_identifier(name)}_{commits[1][:10]}",
        origin=origin,
        summary=f"The sources of {name}.",
        group=f"git_{_identifier(name)}",
        before=sources,
        after=solved,
        modules=tuple(modules),
        data=_data(after),
        licence=licence_name(source),
        limits=TaskLimits(test_seconds=20.0, suite_seconds=300.0),
        notes=tuple(notes),
    )


def _modules(
    after: Mapping[str, bytes], globs: Sequence[str], changed: frozenset[str], notes: list[str]
) -> Iterator[TestModule]:
    modules = [path for path in sorted(after) if _is_test_module(path)]
    chosen = [path for path in modules if any(fnmatchcase(path, glob) for glob in globs)]
    if not globs:
        chosen = [path for path in modules if path in changed] or modules
    for path in chosen:
        taken = take_apart(_below_tests(path), after[path].decode("utf-8", "replace"), path)
        notes += taken.notes
        if taken.module.cases:
            yield taken.module


def _sources(files: Mapping[str, bytes]) -> dict[str, bytes]:
    return {
        path.removeprefix("src/"): content
        for path, content in files.items()
        if not _is_of_tests(path) and not _is_left_out(path)
    }


def _data(files: Mapping[str, bytes]) -> dict[str, bytes]:
    """What tests may read, or import from beside them."""
    return {
        _below_tests(path): content
        for path, content in files.items()
        if path.startswith(_TEST_FOLDERS) and not _is_test_module(path) and not _is_left_out(path)
    }


def _is_change(path: str, changed: frozenset[str]) -> bool:
    return path in changed or f"src/{path}" in changed


def _is_of_tests(path: str) -> bool:
    return path.startswith(_TEST_FOLDERS) or _is_test_module(path)


def _is_test_module(path: str) -> bool:
    name = PurePosixPath(path).name
    return name.endswith(".py") and (name.startswith("test_") or name.endswith("_test.py"))


def _is_left_out(path: str) -> bool:
    parts = PurePosixPath(path).parts
    return parts[-1] in _OWN | _NOT_FOR_THE_MODEL or any(part.startswith(".") for part in parts)


def _below_tests(path: str) -> str:
    """A path relative to ``tests/``; a module's name begins with ``test_``."""
    for folder in _TEST_FOLDERS:
        path = path.removeprefix(folder)
    folder, _, name = path.rpartition("/")
    if name.endswith("_test.py"):
        name = f"test_{name.removesuffix('_test.py')}.py"
    return f"{folder}/{name}" if folder else name


def _identifier(name: str) -> str:
    return "".join(letter if letter.isascii() and letter.isalnum() else "_" for letter in name).lower()
