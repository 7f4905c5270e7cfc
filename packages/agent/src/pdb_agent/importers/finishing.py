"""Makes tasks of drafts: runs their tests, deals them out, and writes what holds."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from pdb_agent.errors import TaskError
from pdb_agent.importers.records import BUGGY_TESTS_PASS, Draft, Imported, Skipped, TestModule
from pdb_agent.importers.trial import Bench, Trial
from pdb_agent.patch_making import make_patch
from pdb_agent.task import Patch, Preference, Split, Task
from pdb_agent.task_files import load_task
from pdb_agent.task_writer import write

_POINTS = {"files": 1, "distance": 0, "decoys": 0, "fix_size": 0, "obvious_wrong_fix": 0}
_REASON = "Imported: nobody has judged whether a debugger is worth its turns here."
# Without decoys (V4) and a witness (V11), in others' words (V8, V16), and published (V12).
_NEVER_APPLY = ("V4", "V8", "V11", "V12", "V16")
_NOT_WITHOUT_SOLUTION = ("V2", "V9", "V13", "V14")
_NOT_WITH_SAME_TESTS = ("V3",)
# A test that does not end keeps those after it from running.
_NOT_WITH_HANGS = ("V1", "V3", "V6")
_TAKES_TOO_LONG = "TakesTooLongError"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Dealt:
    """Which tests all see, and which grade; by module and name."""

    failing: frozenset[str]
    passing: frozenset[str]
    visible: frozenset[str]
    hidden: frozenset[str]


async def finish(
    draft: Draft, destination: Path, bench: Bench, split: Split = Split.TEST
) -> Imported | Skipped:
    """Write the task of a draft below ``destination``, or say why it makes none."""
    trials = await _tried(draft, bench)
    if problem := next((trial.problem for trial in trials if trial.problem), ""):
        return Skipped(origin=draft.origin, reason=problem)
    unusable = _failing(trials[-1], draft) if draft.after is not None else frozenset[str]()
    dealt = _deal(draft, trials[0], unusable)
    if not dealt.failing:
        return Skipped(origin=draft.origin, reason=BUGGY_TESTS_PASS)
    folder = destination / draft.id
    try:
        write(_task(draft, dealt, split), folder, declared_errors=_declared_errors(trials[0], dealt))
    except TaskError as error:
        return Skipped(origin=draft.origin, reason=str(error).rstrip("."))
    hanging = sum(_TAKES_TOO_LONG in raised for raised in trials[0].errors.values())
    return Imported(
        id=draft.id,
        origin=draft.origin,
        digest=draft.digest(),
        content_hash=load_task(folder).content_hash,
        rules_not_applicable=_not_applicable(draft, dealt, hangs=bool(hanging)),
        notes=(*draft.notes, *_notes(draft, unusable, hanging)),
    )


async def finish_all(
    drafts: Sequence[Draft | Skipped], destination: Path, bench: Bench
) -> tuple[list[Imported], list[Skipped]]:
    """Finish drafts one after another; what was skipped already is kept in the list."""
    tasks: list[Imported] = []
    skipped: list[Skipped] = []
    for draft in drafts:
        outcome = draft if isinstance(draft, Skipped) else await finish(draft, destination, bench)
        if isinstance(outcome, Skipped):
            skipped.append(outcome)
        else:
            tasks.append(outcome)
    return tasks, skipped


async def _tried(draft: Draft, bench: Bench) -> list[Trial]:
    """How all tests end before the solution and, where one is known, after it."""
    states = [_with_tests(draft, files) for files in (draft.before, draft.after) if files is not None]
    count = sum(len(module.cases) for module in draft.modules)
    return await bench.run(states, test_seconds=draft.limits.test_seconds, tests=count)


def _notes(draft: Draft, unusable: frozenset[str], hanging: int) -> Iterator[str]:
    yield from (f"{name} does not pass with the solution" for name in sorted(unusable))
    if hanging:
        seconds = draft.limits.test_seconds
        yield f"{hanging} of its tests do not end before the solution: each has {seconds:g} s"


def _with_tests(draft: Draft, files: Mapping[str, bytes]) -> dict[str, bytes]:
    tests = {f"tests/{module.name}": module.text() for module in draft.modules}
    return {**files, **{f"tests/{path}": content for path, content in draft.data.items()}, **tests}


def _ids(draft: Draft) -> list[str]:
    return [f"tests/{module.name}::{name}" for module in draft.modules for name in module.cases]


def _failing(trial: Trial, draft: Draft) -> frozenset[str]:
    return frozenset(name for name in _ids(draft) if trial.outcomes.get(name) != "passed")


def _deal(draft: Draft, before: Trial, unusable: frozenset[str]) -> _Dealt:
    """Every other test is hidden, of those that fail and of those that pass; a lone failing one is both."""
    usable = [name for name in _ids(draft) if name not in unusable]
    failed = _failing(before, draft)
    failing = [name for name in usable if name in failed]
    passing = [name for name in usable if name not in failed]
    if draft.after is None:
        every = frozenset(usable)
        return _Dealt(failing=frozenset(failing), passing=frozenset(passing), visible=every, hidden=every)
    visible = failing[::2] + passing[::2]
    hidden = (failing[1::2] or failing) + passing[1::2]
    return _Dealt(
        failing=frozenset(failing),
        passing=frozenset(passing),
        visible=frozenset(visible),
        hidden=frozenset(hidden),
    )


def _task(draft: Draft, dealt: _Dealt, split: Split) -> Task:
    workspace = {
        **draft.before,
        **{f"tests/{path}": content for path, content in draft.data.items()},
        **_modules(draft, dealt.visible, "tests/"),
        "pytest.ini": b"[pytest]\npythonpath = .\ntestpaths = tests\n",
    }
    workspace.setdefault("README.md", f"{draft.summary}\n\nIts tests: `python -m pytest`.\n".encode())
    ordered = [name for name in _ids(draft) if name in dealt.visible]
    failing = tuple(name for name in ordered if name in dealt.failing)
    return Task(
        id=draft.id,
        version=1,
        group=draft.group,
        family="control_flow",
        preference=Preference.OPTIONAL,
        preference_reason=_REASON,
        difficulty=1,
        difficulty_points=_POINTS,
        split=split,
        python_min="3.10",
        python_max="3.13",
        target=failing[0],
        fail_to_pass=failing,
        pass_to_pass=tuple(name for name in ordered if name in dealt.passing),
        editable=_editable(draft),
        limits=draft.limits,
        source_lines=0,
        source_files=0,
        licence=draft.licence,
        content_hash="",
        workspace=workspace,
        hidden=_modules(draft, dealt.hidden, ""),
        solution=_solution(draft),
        decoys=(),
        witness=None,
        folder=Path(draft.id),
    )


def _modules(draft: Draft, kept: frozenset[str], prefix: str) -> dict[str, bytes]:
    """The test modules with the kept tests; one with none is left out."""
    files: dict[str, bytes] = {}
    for module in draft.modules:
        names = frozenset(name for name in module.cases if f"tests/{module.name}::{name}" in kept)
        if names:
            path = f"{prefix}{module.name}" if prefix else _flat(module)
            files[path] = module.text(names)
    return files


def _flat(module: TestModule) -> str:
    """A module's name without folders, as hidden ones have it."""
    folder, _, name = module.name.rpartition("/")
    return f"test_{folder.replace('/', '_')}_{name.removeprefix('test_')}" if folder else name


def _editable(draft: Draft) -> tuple[str, ...]:
    return tuple(sorted(path for path, text in draft.before.items() if path.endswith(".py") and text))


def _solution(draft: Draft) -> Patch:
    """The change; an empty text when none is known."""
    if draft.after is None:
        return Patch(name="fix", text="")
    return make_patch("fix", draft.before, draft.after)


def _declared_errors(before: Trial, dealt: _Dealt) -> list[str]:
    raised = {error for name in dealt.failing for error in before.errors.get(name, ())}
    return sorted(raised - {"AssertionError", "Failed", _TAKES_TOO_LONG})


def _not_applicable(draft: Draft, dealt: _Dealt, *, hangs: bool) -> tuple[str, ...]:
    rules = {*_NEVER_APPLY, *(_NOT_WITH_HANGS if hangs else ())}
    if draft.after is None:
        rules |= {*_NOT_WITHOUT_SOLUTION, *_NOT_WITH_SAME_TESTS}
    if dealt.visible & dealt.hidden:
        rules |= {*_NOT_WITH_SAME_TESTS}
    return tuple(sorted(rules, key=lambda rule: int(rule[1:])))
