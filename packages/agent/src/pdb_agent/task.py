"""A bug task: what lies in ``tasks/<id>/``, read and checked.

Only ``workspace`` is ever shown to a model. Hidden tests, the solution and the
decoys stay on the host, and grading takes them from here.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path


class Preference(StrEnum):
    """Whether a debugger is worth its turns here."""

    RECOMMENDED = "recommended"
    OPTIONAL = "optional"
    AVOID = "avoid"


class Split(StrEnum):
    """Which part of the data a task belongs to."""

    TRAIN = "train"
    VALIDATION = "validation"
    TEST = "test"


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskLimits:
    """Seconds of wall clock."""

    test_seconds: float = 20.0
    """One test."""
    suite_seconds: float = 60.0
    """One run of all tests."""
    episode_seconds: float = 1800.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Patch:
    """A change of the workspace, as a unified diff with a/ and b/ prefixes."""

    name: str
    text: str
    reason: str = ""
    """For a decoy: why somebody would write it, and why it does not do."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WitnessValue:
    """An expression at a stop and what it shows, as the debugger prints it."""

    expression: str
    buggy: str
    fixed: str


@dataclass(frozen=True, slots=True, kw_only=True)
class WitnessStop:
    """A place where the cause can be seen. Exactly one of ``function`` and ``line`` is given."""

    file: str
    function: str | None
    """Name, or Class.method: the stop is at its first line."""
    line: str | None
    """A piece of the line's text that occurs once in the file, before and after the solution."""
    condition: str | None
    hit: int
    """1 for the first time the condition holds there."""
    values: tuple[WitnessValue, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Witness:
    """Proof that a debugger settles the task: stops reached from ``target``."""

    target: str
    stops: tuple[WitnessStop, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """A bug task, whole."""

    id: str
    version: int
    group: str
    """Template family; the splits never divide one."""
    family: str
    preference: Preference
    preference_reason: str
    difficulty: int
    """1 to 5."""
    difficulty_points: Mapping[str, int]
    """files, distance, decoys, fix_size, obvious_wrong_fix."""
    split: Split
    python_min: str
    python_max: str
    target: str
    """The test to hand the debugger: file::test."""
    fail_to_pass: tuple[str, ...]
    """Ids of visible tests that fail before the solution, as pytest prints them."""
    pass_to_pass: tuple[str, ...]
    editable: tuple[str, ...]
    """Globs, relative to the workspace, of the files that grading takes from a submission."""
    limits: TaskLimits
    source_lines: int
    """Lines of source reachable from the target by import: no tests, comments or blank lines."""
    source_files: int
    licence: str
    content_hash: str
    workspace: Mapping[str, bytes]
    hidden: Mapping[str, bytes]
    """Hidden test files, relative to ``hidden/``."""
    solution: Patch
    decoys: tuple[Patch, ...]
    witness: Witness | None
    folder: Path
