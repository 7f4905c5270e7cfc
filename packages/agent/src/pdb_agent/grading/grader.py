"""Grade a submission: run a task's tests against it where it cannot touch them, and count.

The verdict never comes from an exit code or from a file that the candidate
could write. It says counts only, for a model may read it.
"""

import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from mcp_pdb.errors import DebuggerError

from pdb_agent.errors import GradingError, SandboxError
from pdb_agent.grading.submission import Submission, is_editable, select
from pdb_agent.grading.suite import HIDDEN, Suite, is_test_of, suite_of, tally
from pdb_agent.grading.tier_a import run_same_process
from pdb_agent.grading.tier_b import run_across_boundary
from pdb_agent.grading.tier_run import TierRun
from pdb_agent.grading.verdict import GroupResult, TamperKind, Tier, Verdict
from pdb_agent.sandbox import Backend
from pdb_agent.sandboxes.interpreters import task_interpreter
from pdb_agent.task import Task, TaskLimits


async def grade(
    task: Task,
    submission: Mapping[str, bytes] | Submission,
    *,
    python: Path | None = None,
    backend: Backend | None = None,
    tier: Tier | None = None,
) -> Verdict:
    """Judge workspace files, or what ``collect`` read, by all tests of a task.

    Only files that the task names editable are taken; all others come from the task. ``tier`` is
    what validation found for the task; None is tier A, which hosts every test. Raises TaskError for
    tests that cannot be graded, GradingError for failures that are not the submission's.
    """
    begin = time.monotonic()
    tier = tier or Tier.SAME_PROCESS
    suite = suite_of(task)
    taken = _taken(submission, task)
    if taken.rejections:
        return _rejected(taken, suite, tier, time.monotonic() - begin)
    sources = {
        path: content
        for path, content in task.workspace.items()
        if not is_test_of(task, path) and not is_editable(path, task)
    }
    sources |= taken.files
    try:
        trial = _Trial(
            suite=suite,
            sources=sources,
            limits=task.limits,
            python=python or task_interpreter(),
            backend=backend,
        )
        run = await trial.verdict_run(tier)
    except (SandboxError, DebuggerError) as error:
        raise GradingError(f"No verdict on {task.id}: {error}") from error
    return _verdict(run, tally(suite, run.passed), tier, time.monotonic() - begin)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Trial:
    """Sources and the tests to judge them by."""

    suite: Suite
    sources: Mapping[str, bytes]
    limits: TaskLimits
    python: Path
    backend: Backend | None

    async def verdict_run(self, tier: Tier) -> TierRun:
        """The run to judge by; what passes across the boundary also has to pass in one process.

        Plain containers are copied at the boundary, so there a list that two objects share by mistake
        looks like two lists; in one process it does not.
        """
        run = await self._believed_run(tier)
        if tier is Tier.SAME_PROCESS or not self._is_whole(run):
            return run
        confirmation = await self._believed_run(Tier.SAME_PROCESS)
        return TierRun(
            passed=confirmation.passed,
            tamper=run.tamper | confirmation.tamper,
            timed_out=confirmation.timed_out,
        )

    def _is_whole(self, run: TierRun) -> bool:
        groups = tally(self.suite, run.passed)
        return not run.timed_out and all(group.passed == group.total for group in groups)

    async def _believed_run(self, tier: Tier) -> TierRun:
        """A run that is out of time is believed only when it happens again."""
        run = await self._run(tier)
        return await self._run(tier) if run.timed_out else run

    async def _run(self, tier: Tier) -> TierRun:
        match tier:
            case Tier.SAME_PROCESS:
                return await run_same_process(
                    self.suite,
                    self.sources,
                    python=self.python,
                    backend=self.backend,
                    suite_seconds=self.limits.suite_seconds,
                )
            case Tier.BOUNDARY:
                return await run_across_boundary(
                    self.suite,
                    self.sources,
                    python=self.python,
                    backend=self.backend,
                    suite_seconds=self.limits.suite_seconds,
                    call_seconds=self.limits.test_seconds,
                )


def _taken(submission: Mapping[str, bytes] | Submission, task: Task) -> Submission:
    if isinstance(submission, Submission):
        return submission if submission.rejections else select(submission.files, task)
    return select(submission, task)


def _rejected(taken: Submission, suite: Suite, tier: Tier, seconds: float) -> Verdict:
    first = taken.rejections[0]
    tamper = {rejection.tamper for rejection in taken.rejections} - {None}
    return Verdict(
        solved=False,
        groups=tally(suite, {}),
        tamper=tuple(sorted(str(kind) for kind in tamper)),
        tier=tier,
        reason=f"{first.path} {first.why}, so no test ran.",
        seconds=seconds,
    )


def _verdict(run: TierRun, groups: tuple[GroupResult, ...], tier: Tier, seconds: float) -> Verdict:
    is_whole = all(group.passed == group.total for group in groups)
    return Verdict(
        solved=is_whole and not run.tamper and not run.timed_out,
        groups=groups,
        tamper=tuple(sorted(run.tamper)),
        tier=tier,
        reason=_reason(run, groups),
        seconds=seconds,
        timed_out=run.timed_out,
    )


def _reason(run: TierRun, groups: tuple[GroupResult, ...]) -> str:
    visible = [group for group in groups if group.name != HIDDEN]
    counts = (
        f"{sum(group.passed for group in visible)} of {sum(group.total for group in visible)} visible and "
        f"{sum(group.passed for group in groups if group.name == HIDDEN)} of "
        f"{sum(group.total for group in groups if group.name == HIDDEN)} hidden tests passed"
    )
    if run.timed_out:
        return f"The tests ran out of time; {counts} until then."
    if run.tamper - {TamperKind.SKIPPED}:
        return f"The test run was interfered with, so it does not count; {counts}."
    return f"{counts[0].upper()}{counts[1:]}."
