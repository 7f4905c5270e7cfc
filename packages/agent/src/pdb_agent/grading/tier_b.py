"""Tier B: the tests in one sandbox, the candidate in another, and one socket between them.

The candidate never is where verdicts are made: it can choose what values it
gives, and end. See ``boundary_proxies`` for what a test may rely on.

What does not cross: changes that either side makes to a plain container of the
other's, classes of the program subclassed in a test, coroutines, files, and
patches of what the program looked up before. Tests that need those have tier A.
"""

import json
import socket
from collections.abc import Mapping
from contextlib import AsyncExitStack, ExitStack, closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mcp_pdb.launcher import LaunchSpec, Process

from pdb_agent.errors import GradingError
from pdb_agent.grading.staging import SCRIPTS_FOLDER, TESTS_FOLDER, staged, staged_script
from pdb_agent.grading.suite import PhaseRecord, Suite, passed_tests, without_parameters
from pdb_agent.grading.tier_run import TierRun
from pdb_agent.grading.verdict import TamperKind
from pdb_agent.grading.watching import Watched, complaint, watch
from pdb_agent.sandbox import Backend, Sandbox, SandboxSpec
from pdb_agent.sandboxes.opening import open_sandbox

TESTS_SCRIPT = "boundary_tests.py"
CANDIDATE_SCRIPT = "boundary_candidate.py"
_SHARED = (
    "boundary_wire.py",
    "boundary_line.py",
    "boundary_errors.py",
    "boundary_operations.py",
    "pytest_run.py",
)
TESTS_SCRIPTS = (
    TESTS_SCRIPT,
    "boundary_session.py",
    "boundary_proxies.py",
    "boundary_mirrors.py",
    "boundary_exports.py",
    *_SHARED,
)
CANDIDATE_SCRIPTS = (CANDIDATE_SCRIPT, "boundary_worker.py", "boundary_stand_ins.py", *_SHARED)
_FAULTS = {"gone": TamperKind.CANDIDATE_GONE, "broken": TamperKind.PROTOCOL_BROKEN}


@dataclass(frozen=True, slots=True, kw_only=True)
class _Report:
    started: bool
    failure: str | None
    phases: tuple[PhaseRecord, ...]
    finished: bool
    fault: str | None
    collection_errors: int


async def run_across_boundary(
    suite: Suite,
    sources: Mapping[str, bytes],
    *,
    python: Path,
    backend: Backend | None,
    suite_seconds: float,
    call_seconds: float,
) -> TierRun:
    """Run a suite against ``sources``. Raises GradingError when the run could not even start."""
    tests = {**suite.data, **{path: text.encode() for path, text in suite.modules.items()}}
    roots = ",".join(sorted(program_roots(sources)))
    async with AsyncExitStack() as stack:
        tests_folder = stack.enter_context(staged(TESTS_SCRIPTS, tests))
        candidate_folder = stack.enter_context(staged(CANDIDATE_SCRIPTS))
        judge = await stack.enter_async_context(
            open_sandbox(SandboxSpec(python=python, readable=(tests_folder,)), backend)
        )
        candidate = await stack.enter_async_context(
            open_sandbox(SandboxSpec(python=python, files=sources, readable=(candidate_folder,)), backend)
        )
        with ExitStack() as ends:
            one, other = (ends.enter_context(closing(end)) for end in socket.socketpair())
            worker = await _launch(
                candidate, CANDIDATE_SCRIPT, candidate_folder, other, (str(candidate.workspace), roots)
            )
            stack.push_async_callback(worker.aclose)
            rest = (str(tests_folder / TESTS_FOLDER), roots, str(call_seconds), *sorted(suite.modules))
            runner = await _launch(judge, TESTS_SCRIPT, tests_folder, one, rest)
            stack.push_async_callback(runner.aclose)
        watched = await watch(runner, runner.stdout, run_seconds=suite_seconds)
        said = complaint(runner) or complaint(worker)
    report = _read(watched.report)
    if not report.started:
        raise GradingError(
            f"{python} could not run the tests ({report.failure or said or 'it ended at once'}): "
            "give grading a Python that has pytest."
        )
    return _judge(report, watched, suite)


def program_roots(sources: Mapping[str, bytes]) -> set[str]:
    """The top-level names that the program's files can be imported by."""
    return {
        path.partition("/")[0].removesuffix(".py")
        for path in sources
        if path.endswith(".py") and path.partition("/")[0].removesuffix(".py").isidentifier()
    }


async def _launch(
    sandbox: Sandbox, script: str, folder: Path, channel: socket.socket, rest: tuple[str, ...]
) -> Process:
    argv = (
        sandbox.python,
        "-I",
        str(staged_script(folder, script)),
        "3",
        str(folder / SCRIPTS_FOLDER),
        *rest,
    )
    return await sandbox.launcher.launch(
        LaunchSpec(
            argv=argv,
            cwd=str(sandbox.workspace),
            environment=sandbox.environment,
            channel_descriptor=channel.fileno(),
        )
    )


def _read(data: bytes) -> _Report:
    records: list[dict[str, Any]] = [json.loads(line) for line in data.split(b"\n")[:-1]]
    finish = next((record for record in records if "finish" in record), None)
    return _Report(
        started=any("started" in record for record in records),
        failure=next((str(record["failed"]) for record in records if "failed" in record), None),
        phases=tuple(PhaseRecord(**record) for record in records if "test" in record),
        finished=finish is not None,
        fault=None if finish is None else finish["fault"],
        collection_errors=0 if finish is None else finish["collection_errors"],
    )


def _judge(report: _Report, watched: Watched, suite: Suite) -> TierRun:
    tamper: set[TamperKind] = set()
    if watched.flooded:
        tamper.add(TamperKind.FLOODED_RECORDS)
    if not report.finished and not watched.timed_out:
        tamper.add(TamperKind.NO_FINISH)
    if report.fault in _FAULTS:
        tamper.add(_FAULTS[report.fault])
    ran = {without_parameters(record.test) for record in report.phases}
    if report.finished and not report.collection_errors and suite.functions - ran:
        tamper.add(TamperKind.RAN_NO_TESTS)
    if any(record.outcome == "skipped" or record.expected_failure for record in report.phases):
        tamper.add(TamperKind.SKIPPED)
    return TierRun(
        passed=passed_tests(report.phases),
        tamper=frozenset(tamper),
        timed_out=watched.timed_out or report.fault == "silent",
    )
