"""What may stand in ``task.toml`` and ``witness.toml``; unknown keys are refused."""

from typing import Annotated, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from pdb_agent.task import Preference, Split

FAMILIES = (
    "aliasing",
    "shared_state",
    "caching",
    "serialisation",
    "locks",
    "interleavings",
    "queues",
    "asyncio",
    "resources",
    "context_managers",
    "iterators",
    "closures",
    "inheritance",
    "descriptors",
    "events",
    "weakrefs",
    "equality",
    "numeric",
    "dates",
    "parsing",
    "configuration",
    "control_flow",
)
"""Kinds of defect, in the order in which tables show them."""
MOST_POINTS = {"files": 3, "distance": 3, "decoys": 2, "fix_size": 2, "obvious_wrong_fix": 1}
"""The rubric of difficulty: the most points each part can give."""

TASK_ID = r"^[a-z][a-z0-9_]*$"

TaskId = Annotated[str, Field(pattern=TASK_ID)]
TestId = Annotated[str, Field(pattern=r"^[\w./-]+\.py::\w+(\[.*\])?$")]
PythonVersion = Annotated[str, Field(pattern=r"^3\.\d+$")]
Seconds = Annotated[float, Field(gt=0, strict=False)]
Sentence = Annotated[str, Field(min_length=20)]


def difficulty_of(points: int) -> int:
    """The difficulty, 1 to 5, that a sum of the rubric's points stands for."""
    return 1 if points <= 2 else 2 if points == 3 else 3 if points <= 5 else 4 if points <= 7 else 5


class _Table(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


class LimitsTable(_Table):
    """``[limits]``, in seconds."""

    test_seconds: Seconds = 20.0
    suite_seconds: Seconds = 60.0
    episode_seconds: Seconds = 1800.0


class PointsTable(_Table):
    """``[difficulty_points]``."""

    files: Annotated[int, Field(ge=1, le=MOST_POINTS["files"])]
    distance: Annotated[int, Field(ge=0, le=MOST_POINTS["distance"])]
    decoys: Annotated[int, Field(ge=0, le=MOST_POINTS["decoys"])]
    fix_size: Annotated[int, Field(ge=0, le=MOST_POINTS["fix_size"])]
    obvious_wrong_fix: Annotated[int, Field(ge=0, le=MOST_POINTS["obvious_wrong_fix"])]


class TaskTable(_Table):
    """``task.toml``, whole."""

    id: TaskId
    version: Annotated[int, Field(ge=1)]
    group: TaskId
    family: Literal[FAMILIES]  # type: ignore[valid-type]
    preference: Annotated[Preference, Field(strict=False)]
    preference_reason: str
    difficulty: Annotated[int, Field(ge=1, le=5)]
    split: Annotated[Split, Field(strict=False)]
    python_min: PythonVersion
    python_max: PythonVersion
    target: TestId
    fail_to_pass: Annotated[list[TestId], Field(min_length=1)]
    pass_to_pass: list[TestId]
    editable: Annotated[list[str], Field(min_length=1)]
    licence: str
    source_lines: int = 0
    source_files: int = 0
    content_hash: str = ""
    declared_errors: list[str] = []
    """Names of exceptions, beside a failing assertion, by which a test may fail before the solution."""
    difficulty_points: PointsTable
    limits: LimitsTable = LimitsTable()

    @model_validator(mode="after")
    def _agrees_with_itself(self) -> Self:
        if self.target not in self.fail_to_pass:
            raise ValueError(f"target {self.target} is not in fail_to_pass: hand the debugger a failing test")
        if twice := set(self.fail_to_pass) & set(self.pass_to_pass):
            raise ValueError(f"{min(twice)} is in fail_to_pass and in pass_to_pass: keep it in one")
        if _minor(self.python_min) > _minor(self.python_max):
            raise ValueError("python_min is above python_max: exchange them")
        points = sum(self.difficulty_points.model_dump().values())
        if difficulty_of(points) != self.difficulty:
            raise ValueError(
                f"difficulty is {self.difficulty}, but the difficulty_points add up to {points}, which is "
                f"difficulty {difficulty_of(points)}: correct one of them"
            )
        return self


class ValueTable(_Table):
    """``[[stop.value]]``."""

    expression: Annotated[str, Field(min_length=1)]
    buggy: Annotated[str, Field(max_length=80)]
    fixed: Annotated[str, Field(max_length=80)]


class StopTable(_Table):
    """``[[stop]]``."""

    file: str
    function: str | None = None
    line: str | None = None
    condition: str | None = None
    hit: Annotated[int, Field(ge=1)] = 1
    value: Annotated[list[ValueTable], Field(min_length=1)]

    @model_validator(mode="after")
    def _names_one_place(self) -> Self:
        if (self.function is None) == (self.line is None):
            raise ValueError("a stop needs either function or line: give exactly one")
        return self


class WitnessTable(_Table):
    """``witness.toml``, whole."""

    target: TestId
    stop: Annotated[list[StopTable], Field(min_length=1)]


def _minor(version: str) -> int:
    return int(version.partition(".")[2])
