"""Grade a submission: run a task's tests against it where it cannot touch them, and count.

The verdict never comes from an exit code or from a file that the candidate
could write. It says counts only, for a model may read it.
"""

import time
from collections.abc import Mapping
from pathlib import Path

from mcp_pdb.errors import DebuggerError

from pdb_agent.errors import GradingError, SandboxError
from pdb_agent.grading.submission import Submission, is_editable, select
from pdb_agent.grading.suite import HIDDEN, Suite, is_test_file, suite_of, tally
from pdb_agent.grading.tier_a import run_same_process
from pdb_agent.grading.tier_b import run_across_boundary
from pdb_agent.grading.tier_run import TierRun
from pdb_agent.grading.verdict import GroupResult, TamperKind, Tier, Verdict
from pdb_agent.sandbox import Backend
from pdb_agent.sandboxes.interpreters import task_interpreter
from pdb_agent.task import Task


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
    taken = submission if isinstance(submission, Submission) else select(submission, task)
    if taken.rejections:
        return _rejected(taken, suite, tier, time.monotonic() - begin)
    sources = {
        path: content
        for path, content in task.workspace.items()
        if not is_test_file(path, task) and not is_editable(path, task)
    }
    sources |= taken.files
    try:
        interpreter = python or task_interpreter()
        run = await _believed_run(task, suite, sources, interpreter, backend, tier)
    except (SandboxError, DebuggerError) as error:
        raise GradingError(f"No verdict on {task.id}: {error}") from error
    return _verdict(run, tally(suite, run.passed), tier, time.monotonic() - begin)


async def _believed_run(
    task: Task, suite: Suite, sources: Mapping[str, bytes], python: Path, backend: Backend | None, tier: Tier
) -> TierRun:
    """A run that is out of time is believed only when it happens again."""
    run = await _run(task, suite, sources, python, backend, tier)
    return await _run(task, suite, sources, python, backend, tier) if run.timed_out else run


async def _run(
    task: Task, suite: Suite, sources: Mapping[str, bytes], python: Path, backend: Backend | None, tier: Tier
) -> TierRun:
    match tier:
        case Tier.SAME_PROCESS:
            return await run_same_process(
                suite, sources, python=python, backend=backend, suite_seconds=task.limits.suite_seconds
            )
        case Tier.BOUNDARY:
            return await run_across_boundary(
                suite,
                sources,
                python=python,
                backend=backend,
                suite_seconds=task.limits.suite_seconds,
                call_seconds=task.limits.test_seconds,
            )


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
