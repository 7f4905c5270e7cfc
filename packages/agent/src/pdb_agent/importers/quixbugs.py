"""QuixBugs: one-line defects in small algorithms, with tests in JSON lines or as functions.

Layout: ``python_programs/``, ``correct_python_programs/``, ``python_testcases/test_*.py`` and
``json_testcases/*.json``, whose lines are a list of arguments and the answer. A test of JSON cases has
one parametrized function; its body becomes one function for each line.
"""

import ast
import json
from collections.abc import Iterator
from pathlib import Path
from typing import cast

from pdb_agent.errors import ImportFormatError
from pdb_agent.importers.finishing import finish_all
from pdb_agent.importers.module_pieces import case, parse, substituted, take_apart
from pdb_agent.importers.provenance import check_destination, licence_name, write_record
from pdb_agent.importers.records import Draft, ImportReport, Skipped, TestModule
from pdb_agent.importers.trial import Bench
from pdb_agent.task import TaskLimits

KIND = "quixbugs"
_HANGS = frozenset({"bitcount", "find_first_in_sorted", "sqrt"})
"""Programs whose defect never ends."""
_HANG_LIMITS = TaskLimits(test_seconds=3.0, suite_seconds=60.0)
_LIMITS = TaskLimits(test_seconds=20.0, suite_seconds=120.0)
_NODE = "node.py"


async def import_tasks(source: Path, destination: Path, bench: Bench) -> ImportReport:
    """Write a task for each program that has a corrected one and tests.

    Raises ImportFormatError when ``source`` has not the layout, or ``destination`` will not do.
    """
    check_destination(destination)
    programs = source / "python_programs"
    if not programs.is_dir() or not (source / "python_testcases").is_dir():
        raise ImportFormatError(
            f"{source} has no python_programs/ and python_testcases/: give QuixBugs' folder."
        )
    licence = licence_name(source)
    names = sorted(path.stem for path in programs.glob("*.py") if _is_program(path))
    drafts = [_draft(source, name, licence) for name in names]
    tasks, skipped = await finish_all(drafts, destination, bench)
    report = ImportReport(tasks=tuple(tasks), skipped=tuple(skipped))
    write_record(KIND, source, destination, report)
    return report


def _is_program(path: Path) -> bool:
    return path.name not in (_NODE, "__init__.py") and not path.stem.endswith("_test")


def _draft(source: Path, name: str, licence: str) -> Draft | Skipped:
    origin = f"python_programs/{name}.py"
    try:
        module = _tests(source, name)
        before = _program(source / "python_programs", name)
        after = _program(source / "correct_python_programs", name)
        if any("import Node" in text for text in (module.head, before[origin].decode())):
            before[_NODE] = _read(source / "python_programs" / _NODE).encode()
    except ImportFormatError as error:
        return Skipped(origin=origin, reason=str(error).rstrip("."))
    return Draft(
        id=f"quixbugs_{name}",
        origin=origin,
        summary=f"One algorithm in `python_programs/{name}.py`.",
        group="quixbugs",
        before=before,
        # What differs is the program; the data that both need is the same.
        after=before | {origin: after[origin]},
        modules=(module,),
        licence=licence,
        limits=_HANG_LIMITS if name in _HANGS else _LIMITS,
    )


def _program(folder: Path, name: str) -> dict[str, bytes]:
    """The program at its path in a workspace."""
    return {
        "python_programs/__init__.py": b"",
        f"python_programs/{name}.py": _read(folder / f"{name}.py").encode(),
    }


def _tests(source: Path, name: str) -> TestModule:
    path = source / "python_testcases" / f"test_{name}.py"
    origin = f"python_testcases/test_{name}.py"
    text = _read(path)
    tree = parse(text, origin)
    function = next((node for node in tree.body if _is_parametrized(node)), None)
    head = [node for node in tree.body if not _is_test(node)]
    if function is None:
        pieces = take_apart(path.name, text, origin).module
        return TestModule(name=path.name, head=_head(head), cases=pieces.cases)
    assert isinstance(function, ast.FunctionDef)
    rows = _rows(source / "json_testcases" / f"{name}.json")
    cases = _json_cases(function, list(rows), _maps_to_tuples(head), origin)
    shown = [node for node in head if not isinstance(node, ast.Assign) and not _loads_data(node)]
    return TestModule(name=path.name, head=_head(shown), cases=cases)


def _json_cases(
    function: ast.FunctionDef, rows: list[tuple[object, object]], tuples: bool, origin: str
) -> dict[str, str]:
    *skips, last = function.body
    if not isinstance(last, ast.Assert) or len(function.args.args) != 2:
        raise ImportFormatError(f"{origin}, line {function.lineno}: not one assertion about two arguments.")
    given, expected = (argument.arg for argument in function.args.args)
    left_out = [value for skip in skips for value in _compared_lists(skip)]
    cases: dict[str, str] = {}
    for number, (arguments, answer) in enumerate(rows, start=1):
        if arguments not in left_out:
            shown = _with_tuples(answer) if tuples else answer
            values = {given: _literal(arguments), expected: _literal(shown)}
            cases[f"test_case_{number}"] = case(f"test_case_{number}", [substituted(last, values)])
    return cases


def _compared_lists(node: ast.stmt) -> Iterator[object]:
    """The inputs that a test leaves out because they take minutes."""
    for child in ast.walk(node):
        if isinstance(child, ast.Compare):
            for side in child.comparators:
                if isinstance(side, ast.List):
                    yield ast.literal_eval(side)


def _rows(path: Path) -> Iterator[tuple[object, object]]:
    for number, line in enumerate(_read(path).splitlines(), start=1):
        if line.strip():
            try:
                given, expected = json.loads(line)
            except (ValueError, TypeError):
                raise ImportFormatError(
                    f"json_testcases/{path.name}, line {number} is not a list of two: leave it out."
                ) from None
            yield given, expected


def _read(path: Path) -> str:
    try:
        return path.read_text("utf-8")
    except FileNotFoundError:
        raise ImportFormatError(f"{path.parent.name}/{path.name} is missing.") from None
    except (OSError, UnicodeDecodeError) as error:
        raise ImportFormatError(f"{path.parent.name}/{path.name} cannot be read ({error}).") from None


def _is_test(node: ast.stmt) -> bool:
    return isinstance(node, ast.FunctionDef) and node.name.startswith("test")


def _is_parametrized(node: ast.stmt) -> bool:
    return isinstance(node, ast.FunctionDef) and _is_test(node) and bool(node.decorator_list)


def _loads_data(node: ast.stmt) -> bool:
    return isinstance(node, ast.ImportFrom) and node.module == "load_testdata"


def _maps_to_tuples(head: list[ast.stmt]) -> bool:
    """Whether a test makes tuples of what JSON has as lists."""
    return any("tuple(" in ast.unparse(node) for node in head if isinstance(node, ast.Assign))


def _with_tuples(answer: object) -> object:
    return [tuple(item) for item in cast("list[list[object]]", answer)]


def _literal(value: object) -> ast.expr:
    return ast.parse(repr(value), mode="eval").body


def _head(nodes: list[ast.stmt]) -> str:
    """Statements as text; of a choice between two versions, the second one, which is the defective."""
    kept: list[ast.stmt] = []
    for node in nodes:
        is_choice = isinstance(node, ast.If) and "use_correct" in ast.unparse(node.test)
        kept += node.orelse if is_choice and isinstance(node, ast.If) else [node]
    return "\n".join(ast.unparse(node) for node in kept)
