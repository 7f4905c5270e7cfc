"""The procedural gym: small programs with one defect each, as many as seeds.

A task is a function of a family and a seed. Its name is drawn from words that
have nothing to do with it, so only the program, its docstring and its tests say
what it does. Ten tasks are held out: neither they nor the same program under
other names, with whatever defect, come out of ``generate``.
"""

import ast
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import cache

from pdb_agent.patch_making import make_patch
from pdb_agent.procedural import list_shapes, loop_shapes
from pdb_agent.procedural.draw import Draw
from pdb_agent.procedural.gym_tests import GymTests, choose_tests
from pdb_agent.procedural.shape import Operation, Shape, Slot
from pdb_agent.procedural.words import function_name
from pdb_agent.task import Patch

_SHAPES = (
    loop_shapes.multiples,
    loop_shapes.product,
    loop_shapes.every_other,
    loop_shapes.rises,
    loop_shapes.grid,
    loop_shapes.capped_steps,
    loop_shapes.first_position,
    list_shapes.past_cutoff,
    list_shapes.furthest,
    list_shapes.clamped_sum,
    list_shapes.mean_past,
    list_shapes.share,
    list_shapes.longest_run,
    list_shapes.spread,
    list_shapes.portions,
    list_shapes.mean_step,
    list_shapes.closest,
    list_shapes.digits,
)
_ATTEMPTS = 500


class LabFamily(StrEnum):
    """What is amiss in a program of the gym."""

    MINMAX = "minmax"
    RANGE = "range"
    COMPARE = "compare"
    ZERO = "zero"
    INIT = "init"


_DEFECTS: Mapping[LabFamily, tuple[Operation, ...]] = {
    LabFamily.MINMAX: (Operation.MINMAX,),
    LabFamily.RANGE: (Operation.RANGE_START, Operation.RANGE_END),
    LabFamily.COMPARE: (Operation.COMPARE,),
    LabFamily.ZERO: (Operation.ZERO,),
    LabFamily.INIT: (Operation.INIT,),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class EditOperation:
    """One entry of the edit menu: a change of the untouched workspace that is written already."""

    operation: Operation
    files: Mapping[str, bytes]
    """The changed files, whole; empty when the operation finds nothing to change in this program."""

    @property
    def applies(self) -> bool:
        """Whether it changes anything."""
        return bool(self.files)


@dataclass(frozen=True, slots=True, kw_only=True)
class GymTask:
    """A task of the gym; ``gym_tasks.as_task`` makes a ``Task`` of it."""

    name: str
    family: LabFamily
    seed: int
    """Negative for those held out."""
    shape: str
    fingerprint: str
    """Names the program without its defect, whatever its functions and variables are called."""
    function: str
    workspace: Mapping[str, bytes]
    hidden: Mapping[str, bytes]
    tests: GymTests
    solution: Patch
    solution_line: str
    """The one line as it is after the solution."""
    edit_operations: tuple[EditOperation, ...]
    """The whole menu; the same operations in the same order for every task."""
    right_operation: Operation

    @property
    def source_path(self) -> str:
        """The one file to edit."""
        return f"{self.function}.py"

    @property
    def solved_source(self) -> bytes:
        """That file after the solution."""
        return next(
            entry.files[self.source_path]
            for entry in self.edit_operations
            if entry.operation is self.right_operation
        )


def generate(family: LabFamily, seed: int) -> GymTask:
    """The task of a family and a seed from 0 on, never one held out. Raises ValueError for other seeds."""
    if seed < 0:
        raise ValueError(f"seed is {seed}, and negative ones are held out: give one from 0 on.")
    return _first_task(family, seed, frozenset(task.fingerprint for task in held_out()))


@cache
def held_out() -> tuple[GymTask, ...]:
    """Ten fixed tasks that training never meets: two of each family, of different shapes."""
    tasks: list[GymTask] = []
    for family in LabFamily:
        first = _first_task(family, -1, frozenset())
        seed = -2
        while (second := _first_task(family, seed, frozenset())).shape == first.shape:
            seed -= 1
        tasks += (first, second)
    return tuple(tasks)


def _first_task(family: LabFamily, seed: int, excluded: frozenset[str]) -> GymTask:
    for attempt in range(_ATTEMPTS):
        task = _attempt(family, seed, Draw(f"{family}/{seed}/{attempt}"))
        if task is not None and task.fingerprint not in excluded:
            return task
    raise AssertionError(f"no program of {family} came out of seed {seed}")


def _attempt(family: LabFamily, seed: int, draw: Draw) -> GymTask | None:
    """A task, or None if the program drawn has no place for the defect or cannot be tested for it."""
    operation = draw.pick(_DEFECTS[family])
    shape = draw.pick(_SHAPES)(draw)
    slot = shape.slot(operation)
    if slot is None:
        return None
    function = function_name(draw)
    right = shape.source(function, {})
    defective = shape.source(function, {operation: slot.other})
    edits = {entry.operation: _edited(shape, function, slot, entry) for entry in shape.slots}
    others = tuple(source for edit, source in edits.items() if edit is not operation)
    tests = choose_tests(function, shape.inputs, right, (defective, *others), draw)
    if tests is None:
        return None
    path = f"{function}.py"
    return GymTask(
        name=f"gym_{family}_{seed}" if seed >= 0 else f"gym_{family}_held_{-seed}",
        family=family,
        seed=seed,
        shape=shape.name,
        fingerprint=fingerprint_of(right),
        function=function,
        workspace=_workspace(function, defective, tests),
        hidden={f"test_more_{function}.py": tests.hidden_module.encode()},
        tests=tests,
        solution=_line_patch(path, defective, right),
        solution_line=_changed_lines(defective, right)[1],
        edit_operations=tuple(_entry(name, path, edits.get(name)) for name in Operation),
        right_operation=operation,
    )


def _edited(shape: Shape, function: str, defect: Slot, edit: Slot) -> str:
    """The defective program after one operation: right, or with a second thing amiss."""
    if edit is defect:
        return shape.source(function, {})
    changes = {defect.operation: defect.other, edit.operation: edit.miss or edit.other}
    return shape.source(function, changes)


def _entry(operation: Operation, path: str, source: str | None) -> EditOperation:
    return EditOperation(operation=operation, files={} if source is None else {path: source.encode()})


def _workspace(function: str, source: str, tests: GymTests) -> dict[str, bytes]:
    return {
        "README.md": (
            f"# {function}\n\nOne function in `{function}.py`. Its tests: `python -m pytest`.\n"
        ).encode(),
        "pytest.ini": b"[pytest]\npythonpath = .\ntestpaths = tests\n",
        f"{function}.py": source.encode(),
        f"tests/test_{function}.py": tests.visible_module.encode(),
    }


def _line_patch(path: str, before: str, after: str) -> Patch:
    return make_patch("fix", {path: before.encode()}, {path: after.encode()})


def _changed_lines(before: str, after: str) -> tuple[str, str]:
    """The one line in which two programs differ, in both."""
    pairs = zip(before.splitlines(), after.splitlines(), strict=True)
    (changed,) = [pair for pair in pairs if pair[0] != pair[1]]
    return changed


def fingerprint_of(source: str) -> str:
    """The program's tree with its own names numbered, without docstrings. Raises SyntaxError."""
    tree = ast.parse(source)
    numbers: dict[str, str] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef):
            numbers[node.name] = "function"
            del node.body[0]
        if isinstance(node, ast.arg):
            numbers.setdefault(node.arg, f"name{len(numbers)}")
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            numbers.setdefault(node.id, f"name{len(numbers)}")
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef):
            node.name = numbers[node.name]
        if isinstance(node, ast.arg):
            node.arg = numbers[node.arg]
        if isinstance(node, ast.Name):
            node.id = numbers.get(node.id, node.id)
    return ast.dump(tree)
