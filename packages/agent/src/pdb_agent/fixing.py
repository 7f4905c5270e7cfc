"""Repairs a person's own project: a copy in a sandbox, the same loop and tools, its own tests as judges."""

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from mcp_pdb.errors import DebuggerError

from pdb_agent.episode import Ended, EpisodeLog
from pdb_agent.errors import GradingError
from pdb_agent.grading.project_tests import FAILED, PASSED, UNFINISHED, ProjectRun, run_project_tests
from pdb_agent.loop import EpisodeSettings, run_episode
from pdb_agent.patch_making import make_patch
from pdb_agent.policy import Policy
from pdb_agent.project_judging import ProjectJudge, Watch
from pdb_agent.project_python import ProjectPython, project_python
from pdb_agent.project_reading import FixError, Project, read_project
from pdb_agent.sandbox import MEBIBYTE, Backend, Limits, SandboxSpec
from pdb_agent.task import Patch, Preference, Split, Task, TaskLimits

EDITABLE = ("**/*.py",)
_TOOL_SECONDS = 150.0
"""The most that one call of a tool may run tests."""
_LIMITS = Limits(
    memory_bytes=2048 * MEBIBYTE, address_bytes=32_768 * MEBIBYTE, processes=256, open_files=1024
)
_SAID_CHARS = 2000


class NothingToRepairError(FixError):
    """The named tests do not fail."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FixRequest:
    """What to repair."""

    tests: tuple[str, ...]
    """As pytest takes them, relative to the project."""
    root: Path
    python: Path | None = None
    leave_out: tuple[str, ...] = ()
    suite: tuple[str, ...] = ()
    """Which tests have to go on passing; empty for all that the project's settings name."""
    test_seconds: float = 60.0
    """For the named tests."""
    suite_seconds: float = 300.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Diagnosis:
    """A project whose named tests fail, ready to be worked on."""

    project: Project
    task: Task
    watch: Watch
    notes: tuple[str, ...]
    """What a person should know of it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Repair:
    """What came of it."""

    ended: Ended
    changed: Mapping[str, bytes]
    diff: str
    """Unified, empty when nothing was changed."""

    @property
    def is_whole(self) -> bool:
        """Whether the named tests pass and nothing else fails for it."""
        return self.ended.graded is not None and self.ended.graded.solved


async def diagnose(
    request: FixRequest, *, backend: Backend | None = None, tell: Callable[[str], None] = lambda words: None
) -> Diagnosis:
    """Read a project and see its named tests fail in a sandbox, and what else passes there.

    Raises FixError, NothingToRepairError, and SandboxError.
    """
    if not request.tests:
        raise FixError("No test is named: give the ids of those that fail, tests/test_x.py::test_y.")
    project = read_project(request.root, request.leave_out)
    python = project_python(project.root, request.python)
    spec = _spec(project, python, request)
    tests = tuple(_relative(test, project) for test in request.tests)
    tell(f"{len(project.files)} files read; the named tests run with {python.interpreter.path}")
    named = await _run(spec, tests, backend, request.test_seconds)
    failing = _failing(named)
    tell(f"{len(failing)} of {len(named.outcomes)} named tests fail; now all others")
    deselected = [part for test in failing for part in ("--deselect", test)]
    others = await _run(spec, (*request.suite, *deselected), backend, request.suite_seconds)
    passing = frozenset(others.ids(PASSED)) - set(failing)
    tell(f"{len(passing)} tests pass, and have to go on passing")
    watch = Watch(
        spec=spec,
        tests=tests,
        suite=request.suite,
        passing=passing,
        test_seconds=request.test_seconds,
        suite_seconds=request.suite_seconds,
    )
    notes = [f"Left out: {one}." for one in project.left_out]
    if others.timed_out:
        notes.append(
            f"The other tests take more than {request.suite_seconds:g} s: only the {len(passing)} that "
            "passed until then are watched. Name those that matter with --suite, or give --suite-seconds."
        )
    task = _task(project, python, request, failing)
    return Diagnosis(project=project, task=task, watch=watch, notes=tuple(notes))


async def repair(diagnosis: Diagnosis, policy: Policy, settings: EpisodeSettings, log: EpisodeLog) -> Repair:
    """Let a policy work on it, and judge what it leaves. The project itself is not touched."""
    judge = ProjectJudge(diagnosis.watch)
    settings = replace(settings, sandbox=diagnosis.watch.spec, judge=judge)
    ended = await run_episode(diagnosis.task, policy, settings, log)
    diff = diff_of(diagnosis.project.files, judge.changed)
    return Repair(ended=ended, changed=judge.changed, diff=diff)


def diff_of(before: Mapping[str, bytes], changed: Mapping[str, bytes]) -> str:
    """A unified diff that git and patch apply; a file that is no text is named only."""
    parts: list[str] = []
    for path, content in sorted(changed.items()):
        if not content and path not in before:
            parts.append(f"diff --git a/{path} b/{path}\nnew file mode 100644\n")
        elif _is_text(before.get(path, b"")) and _is_text(content):
            old = {path: before[path]} if path in before else {}
            parts.append(make_patch("fix", old, {path: content}).text)
        else:
            parts.append(f"Binary files a/{path} and b/{path} differ\n")
    return "".join(parts)


async def _run(
    spec: SandboxSpec, arguments: Sequence[str], backend: Backend | None, seconds: float
) -> ProjectRun:
    try:
        return await run_project_tests(spec, arguments, backend=backend, seconds=seconds)
    except (GradingError, DebuggerError) as error:
        raise FixError(str(error)) from error


def _failing(named: ProjectRun) -> tuple[str, ...]:
    """The named tests that fail. Raises FixError with pytest's words when none runs."""
    failing = named.ids(FAILED, UNFINISHED)
    if failing:
        return failing
    said = named.said.strip()[-_SAID_CHARS:]
    if not named.outcomes:
        raise FixError(f"None of the named tests runs, so there is nothing to repair. pytest says:\n{said}")
    if named.ids(PASSED):
        raise NothingToRepairError("The named tests pass in the sandbox: there is nothing to repair.")
    raise NothingToRepairError(f"The named tests are skipped: there is nothing to repair.\n{said}")


def _spec(project: Project, python: ProjectPython, request: FixRequest) -> SandboxSpec:
    seconds = int(max(request.suite_seconds, request.test_seconds, _LIMITS.cpu_seconds))
    return SandboxSpec(
        python=python.interpreter.path,
        files=project.files,
        limits=replace(_LIMITS, cpu_seconds=2 * seconds),
        readable=python.outside,
        # Relative: every program inside starts in the workspace.
        environment={"PYTHONPATH": ":".join(python.inside)} if python.inside else {},
    )


def _relative(test: str, project: Project) -> str:
    path, separator, name = test.partition("::")
    if test.startswith("-"):
        raise FixError(f"{test} is no test: give ids such as tests/test_x.py::test_y.")
    if Path(path).is_absolute() and Path(path).is_relative_to(project.root):
        path = Path(path).relative_to(project.root).as_posix()
    return path.removeprefix("./") + separator + name


def _task(project: Project, python: ProjectPython, request: FixRequest, failing: tuple[str, ...]) -> Task:
    """The project in the form of a task: nothing is hidden, and nobody knows the solution."""
    digest = hashlib.sha256()
    for path, content in sorted(project.files.items()):
        digest.update(f"{path}\0{len(content)}\0".encode() + content)
    return Task(
        id=project.root.name or "project",
        version=1,
        group=project.root.name,
        family="project",
        preference=Preference.OPTIONAL,
        preference_reason="A person's own project: nobody knows.",
        difficulty=0,
        difficulty_points={},
        split=Split.TEST,
        python_min=python.interpreter.version,
        python_max=python.interpreter.version,
        target=failing[0],
        fail_to_pass=failing,
        pass_to_pass=(),
        editable=EDITABLE,
        limits=TaskLimits(
            test_seconds=request.test_seconds, suite_seconds=min(request.suite_seconds, _TOOL_SECONDS)
        ),
        source_lines=0,
        source_files=0,
        licence="",
        content_hash=digest.hexdigest(),
        workspace=project.files,
        hidden={},
        solution=Patch(name="unknown", text=""),
        decoys=(),
        witness=None,
        folder=project.root,
    )


def _is_text(content: bytes) -> bool:
    try:
        content.decode()
    except UnicodeDecodeError:
        return False
    return True
