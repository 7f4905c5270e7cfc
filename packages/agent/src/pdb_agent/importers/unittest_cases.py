"""Turns methods of ``unittest.TestCase`` into plain test functions."""

import ast
from collections.abc import Iterator

from pdb_agent.errors import ImportFormatError
from pdb_agent.importers.module_pieces import case, parse
from pdb_agent.importers.records import TestModule

_BINARY = {
    "assertEqual": ast.Eq,
    "assertEquals": ast.Eq,
    "assertListEqual": ast.Eq,
    "assertDictEqual": ast.Eq,
    "assertTupleEqual": ast.Eq,
    "assertSetEqual": ast.Eq,
    "assertNotEqual": ast.NotEq,
    "assertIn": ast.In,
    "assertNotIn": ast.NotIn,
    "assertIs": ast.Is,
    "assertIsNot": ast.IsNot,
    "assertGreater": ast.Gt,
    "assertGreaterEqual": ast.GtE,
    "assertLess": ast.Lt,
    "assertLessEqual": ast.LtE,
}
_OF_NONE = {"assertIsNone": ast.Is, "assertIsNotNone": ast.IsNot}
_HEAD = "from types import SimpleNamespace\n\nimport pytest"


def plain_module(name: str, text: str, origin: str) -> TestModule:
    """The module with a function for each test method; functions that are tests stay.

    Raises ImportFormatError naming the line for what has no plain form: ``setUpClass``, own methods,
    and assertions that are not listed here.
    """
    tree = parse(text, origin)
    head: list[str] = []
    cases: dict[str, str] = {}
    for node in tree.body:
        if isinstance(node, ast.FunctionDef) and node.name.startswith("test"):
            cases[node.name] = ast.unparse(node)
        elif isinstance(node, ast.ClassDef) and _is_test_case(node):
            cases |= dict(_methods(node, origin))
        elif not _runs_main(node):
            head.append(ast.unparse(node))
    needs = [_HEAD] if any("SimpleNamespace()" in text for text in cases.values()) else []
    return TestModule(name=name, head="\n".join([*needs, *head]), cases=cases)


def _methods(node: ast.ClassDef, origin: str) -> Iterator[tuple[str, str]]:
    start: list[ast.stmt] = ast.parse("self = SimpleNamespace()").body
    for part in node.body:
        if isinstance(part, ast.FunctionDef) and part.name == "setUp":
            start += part.body
        elif not (isinstance(part, ast.FunctionDef) and part.name.startswith("test")) and not _is_text(part):
            raise ImportFormatError(f"{origin}, line {part.lineno}: only setUp and test methods can be read.")
    for part in node.body:
        if isinstance(part, ast.FunctionDef) and part.name.startswith("test"):
            # Visited anew for each test: a tree belongs to one place.
            again = ast.parse("\n".join(map(ast.unparse, [*start, *part.body]))).body
            plain = [_Plain(f"{origin}, in {node.name}.{part.name}").visit(statement) for statement in again]
            yield part.name, case(part.name, plain)


class _Plain(ast.NodeTransformer):
    def __init__(self, place: str) -> None:
        self._place = place

    def visit_Expr(self, node: ast.Expr) -> ast.stmt:
        """A call of an assertion method as a statement of its own."""
        name = _method(node.value)
        if name is None or not isinstance(node.value, ast.Call):
            return node
        arguments = node.value.args
        if name in _BINARY:
            return _assertion(ast.Compare(arguments[0], [_BINARY[name]()], [arguments[1]]))
        if name in _OF_NONE:
            return _assertion(ast.Compare(arguments[0], [_OF_NONE[name]()], [ast.Constant(None)]))
        if name in ("assertTrue", "assertFalse"):
            test = arguments[0]
            return _assertion(test if name == "assertTrue" else ast.UnaryOp(ast.Not(), test))
        if name == "assertIsInstance":
            return _assertion(ast.Call(ast.Name("isinstance", ast.Load()), arguments[:2], []))
        if name == "assertAlmostEqual" and not node.value.keywords:
            text = f"assert round({ast.unparse(arguments[0])} - {ast.unparse(arguments[1])}, 7) == 0"
            return ast.parse(text).body[0]
        if name == "assertRaises" and len(arguments) > 1:
            call = ast.Call(arguments[1], arguments[2:], node.value.keywords)
            return ast.With([ast.withitem(_raises(arguments[0]))], [ast.Expr(call)])
        raise ImportFormatError(f"{self._place}: {name} has no plain form.")

    def visit_withitem(self, node: ast.withitem) -> ast.withitem:
        """``with self.assertRaises(…)``, with or without a name."""
        name = _method(node.context_expr)
        if name == "assertRaises" and isinstance(node.context_expr, ast.Call):
            return ast.withitem(_raises(node.context_expr.args[0]), node.optional_vars)
        if name is not None:
            raise ImportFormatError(f"{self._place}: {name} has no plain form.")
        return node


def _method(node: ast.expr) -> str | None:
    """The name of an assertion method of self that is called."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        owner, name = node.func.value, node.func.attr
        is_own = isinstance(owner, ast.Name) and owner.id == "self"
        return name if is_own and (name.startswith("assert") or name in ("fail", "subTest")) else None
    return None


def _assertion(test: ast.expr) -> ast.stmt:
    return ast.Assert(test, None)


def _raises(kind: ast.expr) -> ast.expr:
    call = ast.parse("pytest.raises(None)", mode="eval").body
    assert isinstance(call, ast.Call)
    call.args = [kind]
    return call


def _is_test_case(node: ast.ClassDef) -> bool:
    return any("TestCase" in ast.unparse(base) for base in node.bases)


def _is_text(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def _runs_main(node: ast.stmt) -> bool:
    return isinstance(node, ast.If) and "__main__" in ast.unparse(node.test)
