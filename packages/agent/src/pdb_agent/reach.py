"""How much source a test reaches by import, found without running anything."""

import ast
import io
import tokenize
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import PurePosixPath

from pdb_agent.errors import TaskError

_NO_SOURCE = frozenset(
    {
        tokenize.COMMENT,
        tokenize.NL,
        tokenize.NEWLINE,
        tokenize.INDENT,
        tokenize.DEDENT,
        tokenize.ENCODING,
        tokenize.ENDMARKER,
    }
)
_Documented = ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True, slots=True, kw_only=True)
class Reach:
    """The modules that a test reaches, tests left out."""

    lines_by_file: Mapping[str, int]
    """Lines of source: without comments, docstrings and blank lines; files with none are left out."""

    @property
    def lines(self) -> int:
        """All of them together."""
        return sum(self.lines_by_file.values())

    @property
    def files(self) -> int:
        """How many files hold a line of source."""
        return len(self.lines_by_file)


def measure_reach(workspace: Mapping[str, bytes], target: str) -> Reach:
    """What the test module of ``target`` (file::test) reaches by import inside the workspace.

    Imports count wherever they stand, but not those for type checkers alone.
    Raises TaskError when a file on the way is missing or is not Python.
    """
    first = target.partition("::")[0]
    if first not in workspace:
        raise TaskError(f"The target's file {first} is not in the workspace: correct target in task.toml.")
    reached = _closure(workspace, first)
    counts = {path: count_lines(path, workspace[path]) for path in sorted(reached) if not is_test_file(path)}
    return Reach(lines_by_file={path: count for path, count in counts.items() if count})


def is_test_file(path: str) -> bool:
    """Whether a file of a workspace belongs to its tests."""
    return PurePosixPath(path).parts[0] == "tests" or PurePosixPath(path).name == "conftest.py"


def count_lines(path: str, content: bytes) -> int:
    """Lines that hold source: no comments, docstrings or blank lines. Raises TaskError if not Python."""
    docstrings = [(node.lineno, node.end_lineno or node.lineno) for node in docstring_nodes(path, content)]
    lines: set[int] = set()
    for token in tokenize.tokenize(io.BytesIO(content).readline):
        if token.type in _NO_SOURCE:
            continue
        first, last = token.start[0], token.end[0]
        if token.type == tokenize.STRING and any(begin <= first and last <= end for begin, end in docstrings):
            continue
        lines.update(range(first, last + 1))
    text = content.splitlines()
    return sum(bool(text[line - 1].strip()) for line in lines)


def docstring_nodes(path: str, content: bytes) -> Iterator[ast.Constant]:
    """The docstrings of a module and of all its classes and functions."""
    for node in ast.walk(parse_module(path, content)):
        if isinstance(node, _Documented) and node.body:
            first = node.body[0]
            if (
                isinstance(first, ast.Expr)
                and isinstance(first.value, ast.Constant)
                and isinstance(first.value.value, str)
            ):
                yield first.value


def parse_module(path: str, content: bytes) -> ast.Module:
    """The syntax tree of a file. Raises TaskError naming the line that is not Python."""
    try:
        return ast.parse(content, path)
    except (SyntaxError, ValueError) as error:
        line = getattr(error, "lineno", None)
        raise TaskError(f"{path}, line {line or 1} is not Python: {error}.") from None


def imported_names(tree: ast.Module, package: str) -> Iterator[str]:
    """Dotted names that a module of ``package`` imports, also the names it takes from modules."""
    for node in _running_nodes(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = _absolute(node, package)
            yield base
            yield from (f"{base}.{alias.name}" for alias in node.names)


def _closure(workspace: Mapping[str, bytes], first: str) -> set[str]:
    reached: set[str] = set()
    waiting = [first]
    while waiting:
        path = waiting.pop()
        if path in reached:
            continue
        reached.add(path)
        package = ".".join(PurePosixPath(path).parent.parts)
        for name in imported_names(parse_module(path, workspace[path]), package):
            waiting.extend(_files_of(workspace, name))
    return reached


def _files_of(workspace: Mapping[str, bytes], dotted: str) -> Iterator[str]:
    """The files that importing a dotted name runs: its packages' and its own."""
    parts = dotted.split(".")
    for count in range(1, len(parts) + 1):
        stem = "/".join(parts[:count])
        yield from (path for path in (f"{stem}/__init__.py", f"{stem}.py") if path in workspace)


def _absolute(node: ast.ImportFrom, package: str) -> str:
    if not node.level:
        return node.module or ""
    parts = package.split(".") if package else []
    kept = parts[: len(parts) - node.level + 1]
    return ".".join([*kept, *([node.module] if node.module else [])])


def _running_nodes(node: ast.AST) -> Iterator[ast.AST]:
    """All nodes below, but for what stands under ``if TYPE_CHECKING``."""
    for child in ast.iter_child_nodes(node):
        yield child
        if isinstance(child, ast.If) and _is_for_checkers(child.test):
            for other in child.orelse:
                yield other
                yield from _running_nodes(other)
        else:
            yield from _running_nodes(child)


def _is_for_checkers(test: ast.expr) -> bool:
    return getattr(test, "id", None) == "TYPE_CHECKING" or getattr(test, "attr", None) == "TYPE_CHECKING"
