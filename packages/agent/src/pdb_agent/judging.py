"""What became of an episode: graded elsewhere, and if it did not solve the task, what is the matter."""

import ast
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from pdb_agent.episode import FailureClass, Graded, GroupCount
from pdb_agent.grading.grader import grade
from pdb_agent.grading.submission import is_editable
from pdb_agent.grading.verdict import Tier, Verdict
from pdb_agent.sandbox import Backend
from pdb_agent.task import Task


class JudgingSettings(Protocol):
    """What judging needs of an episode's settings."""

    @property
    def tier(self) -> Tier | None:
        """How to grade."""
        ...

    @property
    def python(self) -> Path | None:
        """For the tests."""
        ...

    @property
    def backend(self) -> Backend | None:
        """For grading's sandboxes."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Judgement:
    """A verdict and, without a solution, its class."""

    graded: Graded
    failure: FailureClass | None


class Judge(Protocol):
    """Says what became of an episode; ``judge`` by the task's tests, visible and hidden."""

    async def __call__(
        self, task: Task, final: Mapping[str, bytes], *, edited: bool, settings: JudgingSettings
    ) -> Judgement:
        """Judge the files that an episode left. Raises GradingError."""
        ...


async def judge(
    task: Task, final: Mapping[str, bytes], *, edited: bool, settings: JudgingSettings
) -> Judgement:
    """Grade the files that an episode left. Raises GradingError."""
    verdict = await grade(task, final, python=settings.python, backend=settings.backend, tier=settings.tier)
    graded = Graded(
        solved=verdict.solved,
        groups=tuple(
            GroupCount(name=group.name, passed=group.passed, total=group.total) for group in verdict.groups
        ),
        tamper=verdict.tamper,
        tier=verdict.tier,
        reason=verdict.reason,
        seconds=verdict.seconds,
    )
    sources = {path: content for path, content in final.items() if is_editable(path, task)}
    failure = None if verdict.solved else failure_class(verdict, sources, edited=edited)
    return Judgement(graded=graded, failure=failure)


def failure_class(verdict: Verdict, sources: Mapping[str, bytes], *, edited: bool) -> FailureClass:
    """The first class that fits a verdict which is no solution; ``sources`` are the editable files."""
    if not edited:
        return FailureClass.NEVER_EDIT
    if not all(_parses(path, content) for path, content in sources.items()) or not verdict.groups:
        return FailureClass.BROKEN
    whole = {group.name: group.passed == group.total for group in verdict.groups}
    if sum(group.passed for group in verdict.groups) == 0:
        return FailureClass.BROKEN
    if verdict.timed_out:
        return FailureClass.TEST_TIMEOUT
    if not whole.get("fail_to_pass", True):
        return FailureClass.VISIBLE_FAIL
    if not whole.get("pass_to_pass", True):
        return FailureClass.REGRESSION
    return FailureClass.HIDDEN_FAIL


def _parses(path: str, content: bytes) -> bool:
    if not path.endswith(".py"):
        return True
    try:
        ast.parse(content)
    except (SyntaxError, ValueError):
        return False
    return True
