"""Counterfactual twins: beside each test one with a false expectation, which must fail.

A submission that makes tests pass by other means than right answers, such as
results equal to everything or patched reports, makes its twins pass as well.
Names are random and the order is shuffled, anew for each run.
"""

import ast
import copy
import random
from collections.abc import Mapping
from dataclasses import dataclass

from pdb_agent.errors import TaskError
from pdb_agent.grading.falsify import Names, falsify
from pdb_agent.grading.suite import HIDDEN_FOLDER, Suite

_NAME_BITS = 48


@dataclass(frozen=True, slots=True, kw_only=True)
class Twin:
    """A test that must fail wherever its original passes."""

    original: str
    """The original's id in the run."""
    by_assertion: bool
    """It must fail by its assertion; otherwise by any exception."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TwinnedSuite:
    """Test modules rewritten for one run, and what each test in them is."""

    modules: Mapping[str, str]
    """Path to source."""
    originals: Mapping[str, str]
    """Id in the run, without parameters, to the id in the suite."""
    twins: Mapping[str, Twin]
    """By the twin's id in the run, without parameters."""
    untwinned: tuple[str, ...]
    """Ids of visible tests that have nothing to falsify."""


def twin_suite(suite: Suite, seed: int) -> TwinnedSuite:
    """Rewrite a suite's modules with twins.

    Raises TaskError when a hidden test has no expectation that could be falsified.
    """
    source = random.Random(seed)
    modules: dict[str, str] = {}
    originals: dict[str, str] = {}
    twins: dict[str, Twin] = {}
    untwinned: list[str] = []
    for path, text in suite.modules.items():
        writer = _ModuleWriter(path, source)
        modules[path] = writer.rewrite(text)
        originals |= writer.originals
        twins |= writer.twins
        untwinned += writer.untwinned
    for test in untwinned:
        if test.startswith(f"{HIDDEN_FOLDER}/"):
            raise TaskError(
                f"{test} has no expectation that could be falsified: end it in an assert on a plain value."
            )
    return TwinnedSuite(modules=modules, originals=originals, twins=twins, untwinned=tuple(untwinned))


class _ModuleWriter:
    """Rewrites one test module."""

    def __init__(self, path: str, source: random.Random) -> None:
        self._path = path
        self._source = source
        self._names = Names(differing=self._fresh("_"), never_raised=self._fresh("_"))
        self.originals: dict[str, str] = {}
        self.twins: dict[str, Twin] = {}
        self.untwinned: list[str] = []

    def rewrite(self, text: str) -> str:
        module = ast.parse(text)
        tests = [
            node for node in module.body if isinstance(node, ast.FunctionDef) and node.name.startswith("test")
        ]
        rest = [node for node in module.body if node not in tests]
        functions = [function for test in tests for function in self._pair(test)]
        self._source.shuffle(functions)
        module.body = [*rest, *self._imports(), *functions]
        return ast.unparse(ast.fix_missing_locations(module))

    def _pair(self, test: ast.FunctionDef) -> list[ast.FunctionDef]:
        original, twin = copy.deepcopy(test), copy.deepcopy(test)
        original.name, twin.name = self._fresh("test_"), self._fresh("test_")
        self.originals[f"{self._path}::{original.name}"] = f"{self._path}::{test.name}"
        by_assertion = falsify(twin, self._source, self._names)
        if by_assertion is None:
            self.untwinned.append(f"{self._path}::{test.name}")
            return [original]
        self.twins[f"{self._path}::{twin.name}"] = Twin(
            original=f"{self._path}::{original.name}", by_assertion=by_assertion
        )
        return [original, twin]

    def _imports(self) -> list[ast.stmt]:
        aliases = [
            ast.alias("differing", self._names.differing),
            ast.alias("NeverRaised", self._names.never_raised),
        ]
        return [ast.ImportFrom("pdb_agent.grading.differing", aliases, 0)]

    def _fresh(self, prefix: str) -> str:
        return f"{prefix}{self._source.getrandbits(_NAME_BITS):012x}"
