"""Turn one expectation of a test function into a false one, on its syntax tree.

Of all expectations the one is taken that is surest to be reached, says most,
and comes last: what stands before it then runs as in the true test.
"""

import ast
import random
from collections.abc import Iterator
from dataclasses import dataclass
from enum import IntEnum

from pdb_agent.grading.differing import differing

_SEED_LIMIT = 1 << 30
_OPPOSITES: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
}
_UNSURE = (ast.If, ast.IfExp, ast.ExceptHandler, ast.While, ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)


class _Kind(IntEnum):
    """What an expectation is, the most telling first."""

    EQUAL_TO_LITERAL = 0
    EQUAL_TO_EXPRESSION = 1
    MEMBERSHIP = 2
    IDENTITY = 3
    OTHER_CLAIM = 4
    RAISES = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Names:
    """What the helpers of ``pdb_agent.grading.differing`` are called in the test module."""

    differing: str
    never_raised: str


@dataclass(frozen=True, slots=True, kw_only=True)
class _Expectation:
    kind: _Kind
    is_unsure: bool
    line: int
    node: ast.Assert | ast.Call

    @property
    def rank(self) -> tuple[bool, int, int]:
        return self.is_unsure, self.kind, -self.line


def falsify(function: ast.FunctionDef, source: random.Random, names: Names) -> bool | None:
    """Falsify one expectation in place.

    True when the function now fails by its assertion wherever it passed before, False when it fails
    by whatever it expected to be raised, None when there is nothing to falsify.
    """
    expectations = list(_expectations(function, is_unsure=False))
    if not expectations:
        return None
    chosen = min(expectations, key=lambda expectation: expectation.rank).node
    if isinstance(chosen, ast.Call):
        chosen.args[0] = ast.Name(names.never_raised, ast.Load())
        return False
    chosen.test = _falsified(chosen.test, source, names)
    return True


def _expectations(node: ast.AST, *, is_unsure: bool) -> Iterator[_Expectation]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.Assert):
            kind = _kind(_last_clause(child.test))
            yield _Expectation(kind=kind, is_unsure=is_unsure, line=child.lineno, node=child)
        elif isinstance(child, ast.withitem) and _is_call_of(child.context_expr, "raises"):
            call = child.context_expr
            assert isinstance(call, ast.Call)
            if call.args:
                yield _Expectation(kind=_Kind.RAISES, is_unsure=is_unsure, line=call.lineno, node=call)
        else:
            yield from _expectations(child, is_unsure=is_unsure or isinstance(child, _UNSURE))


def _kind(claim: ast.expr) -> _Kind:
    match claim:
        case ast.Compare(left=left, ops=[ast.Eq()], comparators=[right]):
            is_literal = _is_literal(right) or _is_literal(left)
            return _Kind.EQUAL_TO_LITERAL if is_literal else _Kind.EQUAL_TO_EXPRESSION
        case ast.Compare(left=left, ops=[ast.In()]) if _is_literal(left):
            return _Kind.MEMBERSHIP
        case ast.Compare(ops=[ast.Is()]):
            return _Kind.IDENTITY
        case _:
            return _Kind.OTHER_CLAIM


def _falsified(claim: ast.expr, source: random.Random, names: Names) -> ast.expr:
    match claim:
        case ast.BoolOp(op=ast.And(), values=[*first, last]):
            return ast.BoolOp(ast.And(), [*first, _falsified(last, source, names)])
        case ast.Compare(left=left, ops=[ast.Eq()], comparators=[right]):
            if _is_literal(left) and not _is_literal(right):
                return ast.Compare(_changed(left, source, names), [ast.Eq()], [right])
            return ast.Compare(left, [ast.Eq()], [_changed(right, source, names)])
        case ast.Compare(left=left, ops=[ast.In()], comparators=[right]) if _is_literal(left):
            return ast.Compare(_far_off(left, source, names), [ast.In()], [right])
        case ast.Compare(left=left, ops=[operator], comparators=[right]) if type(operator) in _OPPOSITES:
            return ast.Compare(left, [_OPPOSITES[type(operator)]()], [right])
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            return operand
        case _:
            return ast.UnaryOp(ast.Not(), claim)


def _changed(expected: ast.expr, source: random.Random, names: Names) -> ast.expr:
    """An expression for a value unlike that of ``expected``."""
    seed = source.randrange(_SEED_LIMIT)
    if _is_call_of(expected, "approx"):
        assert isinstance(expected, ast.Call)
        if expected.args:
            first = _changed(expected.args[0], source, names)
            return ast.Call(expected.func, [first, *expected.args[1:]], expected.keywords)
    if _is_literal(expected):
        try:
            return ast.parse(repr(differing(ast.literal_eval(expected), seed)), mode="eval").body
        except SyntaxError:
            pass  # no literal stands for it: leave it to run time
    return ast.Call(ast.Name(names.differing, ast.Load()), [expected, ast.Constant(seed)], [])


def _far_off(member: ast.expr, source: random.Random, names: Names) -> ast.expr:
    """Unlike ``member`` and unlikely to be its neighbour in a collection."""
    value = ast.literal_eval(member)
    if type(value) is int:
        return ast.Constant(value + source.randrange(10_000, 20_000))
    if type(value) is str:
        return ast.Constant(value + "".join(source.choices("bcdfghjk", k=5)))
    return _changed(member, source, names)


def _last_clause(claim: ast.expr) -> ast.expr:
    """The last operand of ``and``: the only one that is evaluated after all others held."""
    while isinstance(claim, ast.BoolOp) and isinstance(claim.op, ast.And):
        claim = claim.values[-1]
    return claim


def _is_literal(node: ast.expr) -> bool:
    try:
        ast.literal_eval(node)
    except (ValueError, TypeError, SyntaxError):
        if _is_call_of(node, "approx"):
            return isinstance(node, ast.Call) and bool(node.args) and _is_literal(node.args[0])
        return False
    return True


def _is_call_of(node: ast.expr, name: str) -> bool:
    """Whether this is a call of ``name`` or of ``pytest.name``."""
    match node:
        case ast.Call(func=ast.Attribute(value=ast.Name(id="pytest"), attr=attribute)):
            return attribute == name
        case ast.Call(func=ast.Name(id=identifier)):
            return identifier == name
        case _:
            return False
