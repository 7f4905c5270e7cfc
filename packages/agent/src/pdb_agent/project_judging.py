"""Judges a repair of a person's own project by the project's own tests, as they were."""

import ast
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from mcp_pdb.errors import DebuggerError

from pdb_agent.episode import FailureClass, Graded, GroupCount
from pdb_agent.errors import GradingError, SandboxError
from pdb_agent.grading.project_tests import FAILED, PASSED, UNFINISHED, ProjectRun, run_project_tests
from pdb_agent.grading.submission import is_editable
from pdb_agent.grading.suite import FAIL_TO_PASS, PASS_TO_PASS
from pdb_agent.judging import Judgement, JudgingSettings
from pdb_agent.sandbox import SandboxSpec
from pdb_agent.task import Task

TIER = "project"
_PATIENCE = 2.0
"""How much longer the tests may take after a repair than before."""
_LOOKED_AT_AGAIN = 50
_NAMED = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Watch:
    """What a repair is judged by."""

    spec: SandboxSpec
    """Of the project as it was."""
    tests: tuple[str, ...]
    """The tests as they were named: all that run of them have to pass."""
    suite: tuple[str, ...]
    """What else is run; empty for all that the project's settings name."""
    passing: frozenset[str]
    """Tests that passed before, and have to pass on."""
    test_seconds: float
    suite_seconds: float


class ProjectJudge:
    """Runs the tests in fresh sandboxes (meets ``pdb_agent.judging.Judge``)."""

    def __init__(self, watch: Watch) -> None:
        self._watch = watch
        self.changed: Mapping[str, bytes] = {}
        """Files of the last judged submission that are new or not as they were."""

    async def __call__(
        self, task: Task, final: Mapping[str, bytes], *, edited: bool, settings: JudgingSettings
    ) -> Judgement:
        """Whether the named tests pass, and all go on passing that did. Raises GradingError."""
        began = time.monotonic()
        self.changed = {
            path: content
            for path, content in final.items()
            if is_editable(path, task) and content != task.workspace.get(path)
        }
        missing = [path for path in task.workspace if is_editable(path, task) and path not in final]
        fault = _fault(self.changed, missing)
        if not self.changed and not missing:
            found = _Finding(failure=FailureClass.NEVER_EDIT, reason="No file of the program was changed.")
        elif fault is not None:
            found = _Finding(failure=FailureClass.BROKEN, reason=f"{fault}, so no test ran.")
        else:
            try:
                found = await self._run(settings)
            except (SandboxError, DebuggerError) as error:
                raise GradingError(f"No verdict on {task.id}: {error}") from error
        graded = Graded(
            solved=found.failure is None,
            groups=found.groups,
            tamper=(),
            tier=TIER,
            reason=found.reason,
            seconds=time.monotonic() - began,
        )
        return Judgement(graded=graded, failure=found.failure)

    async def _run(self, settings: JudgingSettings) -> "_Finding":
        watch = self._watch
        spec = replace(watch.spec, files={**watch.spec.files, **self.changed})
        named = await run_project_tests(
            spec, watch.tests, backend=settings.backend, seconds=_PATIENCE * watch.test_seconds
        )
        passed, bad = named.ids(PASSED), named.ids(FAILED, UNFINISHED)
        groups = (GroupCount(name=FAIL_TO_PASS, passed=len(passed), total=len(passed) + len(bad)),)
        if bad or not passed:
            return _unrepaired(named, bad, groups)
        lost = await self._lost(spec, settings)
        whole = len(watch.passing)
        groups += (GroupCount(name=PASS_TO_PASS, passed=whole - len(lost), total=whole),)
        if lost:
            reason = f"The named tests pass, but others that passed do not any more: {_some(lost)}."
            return _Finding(failure=FailureClass.REGRESSION, reason=reason, groups=groups)
        reason = f"The named tests pass, and so do all {whole} others that passed before."
        return _Finding(failure=None, reason=reason, groups=groups)

    async def _lost(self, spec: SandboxSpec, settings: JudgingSettings) -> tuple[str, ...]:
        """Tests that passed before and do not now; a few are looked at twice, for some tests are unsteady."""
        watch = self._watch
        if not watch.passing:
            return ()
        seconds = _PATIENCE * watch.suite_seconds
        run = await run_project_tests(spec, watch.suite, backend=settings.backend, seconds=seconds)
        lost = sorted(watch.passing - set(run.ids(PASSED)))
        if not lost or len(lost) > _LOOKED_AT_AGAIN:
            return tuple(lost)
        again = await run_project_tests(spec, lost, backend=settings.backend, seconds=seconds)
        return tuple(test for test in lost if again.outcomes.get(test) != PASSED)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Finding:
    failure: FailureClass | None
    reason: str
    groups: tuple[GroupCount, ...] = ()


def _unrepaired(run: ProjectRun, bad: Sequence[str], groups: tuple[GroupCount, ...]) -> _Finding:
    if not bad:
        last = run.said.strip().rpartition("\n")[2]
        reason = f"None of the named tests runs any more ({last or 'the test run did not end'})."
        return _Finding(failure=FailureClass.BROKEN, reason=reason)
    failure = FailureClass.TEST_TIMEOUT if run.timed_out else FailureClass.VISIBLE_FAIL
    words = "do not pass in time" if run.timed_out else "fail"
    return _Finding(failure=failure, reason=f"Named tests {words}: {_some(bad)}.", groups=groups)


def _fault(changed: Mapping[str, bytes], missing: Sequence[str]) -> str | None:
    """What keeps the changed files from being run at all."""
    if missing:
        return f"{missing[0]} is gone"
    for path, content in changed.items():
        try:
            ast.parse(content.decode())
        except UnicodeDecodeError:
            return f"{path} is not UTF-8"
        except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
            return f"{path} does not parse (line {getattr(error, 'lineno', None) or 1})"
    return None


def _some(tests: Sequence[str]) -> str:
    shown = ", ".join(tests[:_NAMED])
    return shown if len(tests) <= _NAMED else f"{shown} and {len(tests) - _NAMED} more"
