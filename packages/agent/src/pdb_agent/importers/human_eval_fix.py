"""HumanEvalFix: functions with a planted defect, one JSON object a line.

Fields read: ``task_id``, ``prompt`` (or ``declaration``), ``canonical_solution``, ``buggy_solution``,
``test`` (a function ``check`` and a call of it) and ``entry_point``. Each assertion of ``check`` becomes
a test; what else it holds becomes one test together.
"""

import ast
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import cast

from pdb_agent.errors import ImportFormatError
from pdb_agent.importers.finishing import finish_all
from pdb_agent.importers.module_pieces import case, names_in, parse, substituted
from pdb_agent.importers.provenance import check_destination, licence_name, write_record
from pdb_agent.importers.records import Draft, ImportReport, Skipped, TestModule
from pdb_agent.importers.trial import Bench
from pdb_agent.task import TaskLimits

KIND = "humanevalfix"
_HANGS = frozenset({"Python/10", "Python/156", "Python/160"})
"""Records whose defect never ends."""
_ENDLESS = "infinite loop"
"""What ``failure_symptoms`` says of more of them."""
_HANG_LIMITS = TaskLimits(test_seconds=3.0, suite_seconds=60.0)
_LIMITS = TaskLimits(test_seconds=10.0, suite_seconds=60.0)
_FIELDS = ("task_id", "canonical_solution", "buggy_solution", "test", "entry_point")


async def import_tasks(source: Path, destination: Path, bench: Bench) -> ImportReport:
    """Write a task for each line of a JSONL file that holds a Python function and its check.

    Raises ImportFormatError when ``source`` is no file, or ``destination`` will not do.
    """
    check_destination(destination)
    tasks, skipped = await finish_all(_drafts(source), destination, bench)
    report = ImportReport(tasks=tuple(tasks), skipped=tuple(skipped))
    write_record(KIND, source, destination, report)
    return report


def _drafts(source: Path) -> list[Draft | Skipped]:
    if not source.is_file():
        raise ImportFormatError(f"{source} is no file: give the JSONL file of HumanEvalFix for Python.")
    licence = licence_name(source)
    lines = source.read_text("utf-8", "replace").split("\n")
    return [
        _draft(line, f"{source.name}, line {number}", licence)
        for number, line in enumerate(lines, start=1)
        if line.strip()
    ]


def _draft(line: str, place: str, licence: str) -> Draft | Skipped:
    try:
        record = _record(line, place)
        name = record["entry_point"]
        start = record.get("prompt") or record.get("declaration") or ""
        before, after = start + record["buggy_solution"], start + record["canonical_solution"]
        module = _tests(record["test"], name, parse(after, place), place)
    except ImportFormatError as error:
        return Skipped(origin=place, reason=str(error).rstrip("."))
    path = f"{name}.py"
    is_endless = record["task_id"] in _HANGS or record.get("failure_symptoms") == _ENDLESS
    return Draft(
        id=f"humanevalfix_{''.join(part if part.isalnum() else '_' for part in record['task_id']).lower()}",
        origin=f"{place}, {record['task_id']}",
        summary=f"One function in `{path}`.",
        group="humanevalfix",
        before={path: _ended(before)},
        after={path: _ended(after)},
        modules=(module,),
        licence=licence,
        limits=_HANG_LIMITS if is_endless else _LIMITS,
    )


def _record(line: str, place: str) -> Mapping[str, str]:
    try:
        record = json.loads(line)
    except ValueError as error:
        raise ImportFormatError(f"{place} is not JSON ({error}).") from None
    if not isinstance(record, dict):
        raise ImportFormatError(f"{place} is not an object.")
    fields = cast("dict[str, object]", record)
    texts = {key: value for key, value in fields.items() if isinstance(value, str)}
    if missing := [name for name in _FIELDS if not texts.get(name)]:
        raise ImportFormatError(f"{place} lacks {', '.join(missing)}.")
    if not texts["entry_point"].isidentifier():
        raise ImportFormatError(f"{place}: entry_point {texts['entry_point']!r} is no name of a function.")
    return texts


def _tests(test: str, name: str, program: ast.Module, place: str) -> TestModule:
    tree = parse(test, f"{place}, test")
    check = next((node for node in tree.body if _is_check(node)), None)
    if not isinstance(check, ast.FunctionDef) or len(check.args.args) != 1:
        raise ImportFormatError(f"{place}: test has no function check with one argument.")
    called = {check.args.args[0].arg: ast.Name(id=name, ctx=ast.Load())}
    rest = [node for node in tree.body if node is not check and not _calls_check(node)]
    offered = {node.name for node in program.body if isinstance(node, ast.FunctionDef | ast.ClassDef)}
    used = {name} | (offered & {used for node in (check, *rest) for used in names_in(node)})
    head = [f"from {name} import {', '.join(sorted(used))}", *(ast.unparse(node) for node in rest)]
    return TestModule(name=f"test_{name}.py", head="\n".join(head), cases=dict(_cases(check.body, called)))


def _cases(body: list[ast.stmt], called: Mapping[str, ast.expr]) -> Iterator[tuple[str, str]]:
    """Assertions one by one, as long as nothing else stands among them that they may need."""
    statements = [substituted(node, called) for node in body if not _says_nothing(node)]
    alone = all(isinstance(node, ast.Assert) for node in statements)
    first_other = next(
        (place for place, node in enumerate(statements) if not isinstance(node, ast.Assert)), len(statements)
    )
    for number, node in enumerate(statements[:first_other], start=1):
        yield f"test_case_{number}", case(f"test_case_{number}", [node])
    if not alone:
        yield "test_the_rest", case("test_the_rest", statements[first_other:])


def _says_nothing(node: ast.stmt) -> bool:
    """A docstring, or an assertion of a constant."""
    if isinstance(node, ast.Assert):
        return isinstance(node.test, ast.Constant)
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def _is_check(node: ast.stmt) -> bool:
    return isinstance(node, ast.FunctionDef) and node.name == "check"


def _calls_check(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and "check" in names_in(node)


def _ended(text: str) -> bytes:
    return (text.strip("\n") + "\n").encode()
