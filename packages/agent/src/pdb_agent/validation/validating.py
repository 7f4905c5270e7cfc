"""Checks a task by every rule."""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import anyio

from pdb_agent.errors import AgentError, TaskError
from pdb_agent.grading.verdict import Tier
from pdb_agent.importers.provenance import rules_not_applicable
from pdb_agent.sandbox import Backend
from pdb_agent.task import Task
from pdb_agent.task_files import content_hash, load_task
from pdb_agent.validation.confinement import check_imports, check_reach_of_runs
from pdb_agent.validation.depth import FULL, Depth, interpreters_for
from pdb_agent.validation.hidden_inputs import check_hidden_inputs
from pdb_agent.validation.matrix import Cell, by_version, check_matrix, run_on_python
from pdb_agent.validation.measures import check_measures
from pdb_agent.validation.null_attacks import check_grading
from pdb_agent.validation.originality import check_distance, check_licence
from pdb_agent.validation.outcomes import check_outcomes
from pdb_agent.validation.rules import FILES, MACHINE, Complaint
from pdb_agent.validation.solution_shape import check_patches, check_solution
from pdb_agent.validation.stamp import RULES_VERSION, VALID, Stamp
from pdb_agent.validation.suite import SuiteRun
from pdb_agent.validation.witnessed import check_witness
from pdb_agent.validation.wording import check_wording


@dataclass(frozen=True, slots=True, kw_only=True)
class Bench:
    """What validations share."""

    limiter: anyio.CapacityLimiter
    """Bounds how many sandboxes are at work at once."""
    tell: Callable[[str], None]
    """Called with each step before it begins."""
    backend: Backend | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskReport:
    """What is amiss with one task."""

    id: str
    complaints: tuple[Complaint, ...]
    seconds: float
    stamp: Stamp | None = None
    """What a full validation found; None for a lesser one, or files that make no task."""
    runs: Mapping[str, SuiteRun]
    """The first run of each version."""

    @property
    def is_valid(self) -> bool:
        """Whether no rule complains."""
        return not self.complaints


async def validate_folder(
    folder: Path, others: Sequence[Task], bench: Bench, depth: Depth = FULL
) -> TaskReport:
    """Check the task in a folder; ``others`` are those whose sources must differ from its own.

    Of an imported task, the rules that its import names as not applicable are left out.

    Failures that are not the task's are a complaint of the rule ``MACHINE``, so that one of them does
    not end the checks of all.
    """
    began = time.monotonic()
    exempt = rules_not_applicable(folder)
    try:
        task = load_task(folder)
        findings = await _examine(task, others, bench, depth, exempt)
    except AgentError as error:
        rule = FILES if isinstance(error, TaskError) else MACHINE
        return TaskReport(
            id=folder.name,
            complaints=(Complaint(rule=rule, text=str(error)),),
            seconds=time.monotonic() - began,
            runs={},
        )
    return TaskReport(
        id=task.id,
        complaints=tuple(findings.complaints),
        seconds=time.monotonic() - began,
        stamp=_stamp(task, findings, depth) if depth.is_full and findings.runs else None,
        runs={version: runs[0] for version, runs in by_version(findings.runs).items()},
    )


def check_text(task: Task, others: Sequence[Task] = ()) -> list[Complaint]:
    """Complaints of the rules that need no run. If patches do not fit, theirs alone."""
    if complaints := check_patches(task):
        return complaints
    return [
        *check_hidden_inputs(task),
        *check_imports(task),
        *check_wording(task),
        *check_solution(task),
        *check_measures(task),
        *check_distance(task, others),
        *check_licence(task),
    ]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Findings:
    complaints: list[Complaint]
    runs: Mapping[Cell, SuiteRun]
    tier: Tier | None


async def _examine(
    task: Task, others: Sequence[Task], bench: Bench, depth: Depth, exempt: frozenset[str]
) -> _Findings:
    def tell(step: str) -> None:
        bench.tell(f"{task.id}: {step}")

    tell("V3, V7 to V10, V12, V14, V16: its text")
    complaints = check_text(task, others)
    if any(complaint.rule == "V14" for complaint in complaints) and "V14" not in exempt:
        return _Findings(complaints=complaints, runs={}, tier=None)
    pythons = interpreters_for(task, depth)
    python = next(iter(pythons.values()))
    runs = await _run_on_all(task, pythons, depth.repeats, bench, tell)
    by_their_version = by_version(runs)
    complaints += check_outcomes(task, by_their_version)
    complaints += check_reach_of_runs(by_their_version)
    complaints += check_matrix(runs)
    if depth.engines and "V11" not in exempt:
        tell("V11: the witness")
        async with bench.limiter:
            complaints += await check_witness(
                task, engines=depth.engines, python=python, backend=bench.backend
            )
    tier: Tier | None = None
    if depth.grades and "V13" not in exempt:
        tell("V13: what grading says of no solution")
        async with bench.limiter:
            found, tier = await check_grading(task, python=python, backend=bench.backend)
        complaints += found
    applicable = [complaint for complaint in complaints if complaint.rule not in exempt]
    return _Findings(complaints=applicable, runs=runs, tier=tier)


async def _run_on_all(
    task: Task, pythons: Mapping[str, Path], repeats: int, bench: Bench, tell: Callable[[str], None]
) -> dict[Cell, SuiteRun]:
    """The runs on each Python, several at once as far as the bench's limiter lets them, in order."""
    runs: dict[str, dict[Cell, SuiteRun]] = {}
    failures: list[AgentError] = []

    async def run(version: str, python: Path) -> None:
        try:
            async with bench.limiter:
                runs[version] = await run_on_python(task, (version, python), repeats, bench.backend, tell)
        except AgentError as error:
            failures.append(error)

    async with anyio.create_task_group() as task_group:
        for version, python in pythons.items():
            task_group.start_soon(run, version, python)
    if failures:
        raise failures[0]
    return {cell: run for version in pythons for cell, run in runs[version].items()}


def _stamp(task: Task, findings: _Findings, depth: Depth) -> Stamp:
    rules = dict.fromkeys(complaint.rule for complaint in findings.complaints)
    return Stamp(
        id=task.id,
        content_hash=content_hash(task.folder),
        rules_version=RULES_VERSION,
        pythons=tuple(sorted({run.python for run in findings.runs.values() if run.python})),
        repeats=depth.repeats,
        outcome=", ".join(rules) or VALID,
        tier=findings.tier,
    )
