"""Takes test modules apart: what is a test, and what all tests share."""

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from pdb_agent.errors import ImportFormatError
from pdb_agent.importers.records import TestModule

_Function = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True, slots=True, kw_only=True)
class TakenApart:
    """A test module in pieces, and what of it is no test function."""

    __test__ = False

    module: TestModule
    notes: tuple[str, ...]


def parse(text: str, origin: str) -> ast.Module:
    """The tree of a module. Raises ImportFormatError naming file and line."""
    try:
        return ast.parse(text)
    except (SyntaxError, ValueError) as error:
        line = getattr(error, "lineno", None) or 1
        raise ImportFormatError(f"{origin}, line {line} is not Python: leave it out.") from None


def take_apart(name: str, text: str, origin: str) -> TakenApart:
    """The tests of a module, which are its functions ``test…``; classes of tests are left out with a note.

    Raises ImportFormatError when it is not Python.
    """
    lines = text.split("\n")
    head, cases, notes = list(lines), dict[str, str](), list[str]()
    for node in parse(text, origin).body:
        if isinstance(node, _Function) and node.name.startswith("test"):
            cases[node.name] = _cut(head, lines, node)
        elif isinstance(node, ast.ClassDef) and node.name.startswith("Test"):
            _cut(head, lines, node)
            notes.append(f"{origin}, line {node.lineno}: tests in the class {node.name} are left out")
    kept = "\n".join(line for line in head if line is not _GONE)
    return TakenApart(module=TestModule(name=name, head=kept, cases=cases), notes=tuple(notes))


def case(name: str, statements: list[ast.stmt]) -> str:
    """The text of a test function without arguments."""
    function = ast.parse(f"def {name}(): pass").body[0]
    assert isinstance(function, ast.FunctionDef)
    function.body = statements
    return ast.unparse(ast.fix_missing_locations(function))


def substituted(node: ast.stmt, values: Mapping[str, ast.expr]) -> ast.stmt:
    """A statement with names replaced by expressions."""
    changed = _Substitution(values).visit(ast.parse(ast.unparse(node)).body[0])
    assert isinstance(changed, ast.stmt)
    return ast.fix_missing_locations(changed)


def names_in(node: ast.AST) -> Iterator[str]:
    """All names that are read below a node."""
    return (child.id for child in ast.walk(node) if isinstance(child, ast.Name))


class _Substitution(ast.NodeTransformer):
    def __init__(self, values: Mapping[str, ast.expr]) -> None:
        self._values = values

    def visit_Name(self, node: ast.Name) -> ast.expr:
        return self._values.get(node.id, node)

    def visit_Call(self, node: ast.Call) -> ast.expr:
        """``f(*[1, 2])`` reads better as ``f(1, 2)``."""
        self.generic_visit(node)
        if len(node.args) == 1 and isinstance(node.args[0], ast.Starred):
            spread = node.args[0].value
            node.args = spread.elts if isinstance(spread, ast.List) else node.args
        return node


_GONE = "\0"


def _cut(head: list[str], lines: list[str], node: _Function | ast.ClassDef) -> str:
    """A definition's text with its decorators, which is marked as gone in ``head``."""
    first = min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)]) - 1
    last = node.end_lineno or node.lineno
    head[first:last] = [_GONE] * (last - first)
    return "\n".join(lines[first:last])
