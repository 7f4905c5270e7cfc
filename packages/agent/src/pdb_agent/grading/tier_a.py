"""Tier A: tests and candidate in one interpreter, with signed records and counterfactual twins.

It refuses every known trick that does not know of it. A candidate that does
know can find the signer among the interpreter's objects, tell each test from
its twin and sign what it likes: tier B is the boundary, this one a tripwire for
tests that the boundary cannot host.
"""

import secrets
from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path

from mcp_pdb.launcher import LaunchSpec

from pdb_agent.errors import GradingError
from pdb_agent.grading.signed_records import SignedReport, read_signed
from pdb_agent.grading.staging import SCRIPTS_FOLDER, TESTS_FOLDER, staged, staged_script
from pdb_agent.grading.suite import PhaseRecord, Suite, passed_tests, without_parameters
from pdb_agent.grading.tier_run import TierRun
from pdb_agent.grading.twins import TwinnedSuite, twin_suite
from pdb_agent.grading.verdict import TamperKind
from pdb_agent.grading.watching import Watched, complaint, watch
from pdb_agent.sandbox import Backend, SandboxSpec
from pdb_agent.sandboxes.opening import open_sandbox

SCRIPT = "signed_tests.py"
SCRIPTS = (SCRIPT, "pytest_run.py", "differing.py")
_SEED_BITS = 64


async def run_same_process(
    suite: Suite,
    sources: Mapping[str, bytes],
    *,
    python: Path,
    backend: Backend | None,
    suite_seconds: float,
) -> TierRun:
    """Run a suite against ``sources``. Raises GradingError when the run could not even start."""
    twinned = twin_suite(suite, secrets.randbits(_SEED_BITS))
    tests = {**suite.data, **{path: text.encode() for path, text in twinned.modules.items()}}
    key = secrets.token_hex(32).encode()
    with staged(SCRIPTS, tests) as folder:
        spec = SandboxSpec(python=python, files=sources, readable=(folder,))
        async with open_sandbox(spec, backend) as sandbox:
            argv = _command(sandbox.python, folder, str(sandbox.workspace), sorted(twinned.modules))
            process = await sandbox.launcher.launch(
                LaunchSpec(
                    argv=argv,
                    cwd=str(sandbox.workspace),
                    environment=sandbox.environment,
                    wants_channel=True,
                )
            )
            try:
                assert process.channel is not None
                await process.channel.send(key)
                watched = await watch(process, process.channel, run_seconds=2 * suite_seconds)
                said = complaint(process)
            finally:
                await process.aclose()
    report = read_signed(watched.report, key)
    if not report.started:
        raise GradingError(
            f"{python} could not run the tests ({report.failure or said or 'it ended at once'}): "
            "give grading a Python that has pytest."
        )
    return _judge(report, watched, twinned)


def _command(python: str, folder: Path, sources: str, files: Sequence[str]) -> tuple[str, ...]:
    scripts, tests = folder / SCRIPTS_FOLDER, folder / TESTS_FOLDER
    return (
        python,
        "-I",
        str(staged_script(folder, SCRIPT)),
        "{channel}",
        str(scripts),
        str(tests),
        sources,
        *files,
    )


def _judge(report: SignedReport, watched: Watched, twinned: TwinnedSuite) -> TierRun:
    tamper = set(report.tamper)
    if watched.flooded:
        tamper.add(TamperKind.FLOODED_RECORDS)
    if (
        not report.finished
        and not watched.timed_out
        and watched.exit_code is not None
        and watched.exit_code >= 0
    ):
        tamper.add(TamperKind.NO_FINISH)  # a signal ends a run out of memory or of stack
    known = twinned.originals.keys() | twinned.twins.keys()
    ran = {without_parameters(record.test) for record in report.phases}
    if ran - known:
        tamper.add(TamperKind.FORGED_RECORD)
    if report.finished and not report.collection_errors and twinned.originals.keys() - ran:
        tamper.add(TamperKind.RAN_NO_TESTS)
    outcomes = passed_tests(report.phases)
    passed: dict[str, bool] = {}
    for test, has_passed in outcomes.items():
        function = without_parameters(test)
        if function in twinned.originals:
            passed[twinned.originals[function] + test[len(function) :]] = has_passed
    if any(
        (record.outcome == "skipped" or record.expected_failure)
        and without_parameters(record.test) in twinned.originals
        for record in report.phases
    ):
        tamper.add(TamperKind.SKIPPED)
    if report.finished:
        tamper |= _twin_faults(report.phases, outcomes, twinned)
    return TierRun(passed=passed, tamper=frozenset(tamper), timed_out=watched.timed_out)


def _twin_faults(
    records: Sequence[PhaseRecord], outcomes: Mapping[str, bool], twinned: TwinnedSuite
) -> set[TamperKind]:
    """Whether every twin failed, by its expectation, wherever its original passed."""
    calls: dict[str, list[PhaseRecord]] = defaultdict(list)
    for record in records:
        if record.when == "call":
            calls[record.test].append(record)
    twin_of = {twin.original: (test, twin.by_assertion) for test, twin in twinned.twins.items()}
    faults: set[TamperKind] = set()
    for test, has_passed in outcomes.items():
        function = without_parameters(test)
        if not has_passed or function not in twin_of:
            continue
        twin, by_assertion = twin_of[function]
        ends = calls[twin + test[len(function) :]]
        if len(ends) != 1 or ends[0].outcome != "failed":
            faults.add(TamperKind.COUNTERFACTUAL_PASSED)
        elif by_assertion and not ends[0].by_assertion:
            faults.add(TamperKind.COUNTERFACTUAL_DISTORTED)
    return faults
