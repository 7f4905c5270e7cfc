"""What importers hand on: programs with their tests, and what became of each."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field

from pdb_agent.task import TaskLimits

BUGGY_TESTS_PASS = "no test fails before the solution"


@dataclass(frozen=True, slots=True, kw_only=True)
class TestModule:
    """A test module in pieces, so that its tests can be dealt out."""

    __test__ = False

    name: str
    """test_<something>.py"""
    head: str
    """Imports and whatever else is no test."""
    cases: Mapping[str, str]
    """Name of each test function to its text."""

    def text(self, names: frozenset[str] | None = None) -> bytes:
        """The module with these tests, or with all."""
        kept = [text for name, text in self.cases.items() if names is None or name in names]
        return (
            "\n\n\n".join(part.strip("\n") for part in [self.head, *kept] if part.strip()) + "\n"
        ).encode()


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft:
    """A program that may become a task, before its tests were run."""

    id: str
    origin: str
    """Where it comes from: a path in the source, or a record's name."""
    summary: str
    """One sentence for the README of its workspace."""
    group: str
    before: Mapping[str, bytes]
    """Files without tests, with the defect."""
    after: Mapping[str, bytes] | None
    """The same after the solution; None when none is known."""
    modules: tuple[TestModule, ...]
    data: Mapping[str, bytes] = field(default_factory=dict[str, bytes])
    """Files below ``tests/`` that tests read."""
    licence: str
    limits: TaskLimits
    notes: tuple[str, ...] = ()
    """What was left out of it already, a sentence each."""

    def digest(self) -> str:
        """SHA-256 of all that came from the source."""
        digest = hashlib.sha256()
        tests = {f"tests/{module.name}": module.text() for module in self.modules}
        for files in (self.before, self.after or {}, tests, self.data):
            for path in sorted(files):
                digest.update(f"{path}\0{len(files[path])}\0".encode() + files[path])
        return digest.hexdigest()


@dataclass(frozen=True, slots=True, kw_only=True)
class Skipped:
    """Something that became no task."""

    origin: str
    reason: str
    """A sentence without its full stop; names the line where there is one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Imported:
    """A task that was written."""

    id: str
    origin: str
    digest: str
    """SHA-256 of what it was made of."""
    content_hash: str
    rules_not_applicable: tuple[str, ...]
    """Rules of validation that say nothing about it."""
    notes: tuple[str, ...]
    """What was left out, a sentence each."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportReport:
    """What became of a data set."""

    tasks: tuple[Imported, ...]
    skipped: tuple[Skipped, ...]
