"""Runs tests of a person's own project in a fresh sandbox, as the project configures them."""

import hmac
import json
import secrets
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from mcp_pdb.launcher import LaunchSpec

from pdb_agent.errors import GradingError
from pdb_agent.grading.project_tests_inside import KEY_BYTES
from pdb_agent.grading.staging import staged, staged_script
from pdb_agent.grading.watching import Watched, complaint, watch
from pdb_agent.sandbox import Backend, Sandbox, SandboxSpec
from pdb_agent.sandboxes.opening import open_sandbox

SCRIPT = "project_tests_inside.py"
PASSED, SKIPPED, FAILED, UNFINISHED = "passed", "skipped", "failed", "unfinished"


@dataclass(frozen=True, slots=True, kw_only=True)
class ProjectRun:
    """How the tests of one run ended."""

    outcomes: dict[str, str]
    """passed, skipped, failed or unfinished, by id relative to the project."""
    said: str
    """The end of pytest's own output; empty when it did not come to its end."""
    timed_out: bool

    def ids(self, *outcomes: str) -> tuple[str, ...]:
        """The tests that ended so, in the order in which they ran."""
        return tuple(test for test, outcome in self.outcomes.items() if outcome in outcomes)


async def run_project_tests(
    spec: SandboxSpec, tests: Sequence[str], *, backend: Backend | None, seconds: float
) -> ProjectRun:
    """Run ``tests`` (none: those that the project's settings name) on the files of ``spec``.

    Raises GradingError when pytest does not start, and SandboxError.
    """
    key = secrets.token_hex(KEY_BYTES // 2).encode()
    with staged((SCRIPT,)) as folder:
        spec = replace(spec, readable=(*spec.readable, folder))
        async with open_sandbox(spec, backend) as sandbox:
            script = str(staged_script(folder, SCRIPT))
            watched, complained = await _watched(sandbox, script, tests, key, seconds)
    return _read(watched, key, complained or "it ended at once")


async def _watched(
    sandbox: Sandbox, script: str, tests: Sequence[str], key: bytes, seconds: float
) -> tuple[Watched, str]:
    process = await sandbox.launcher.launch(
        LaunchSpec(
            argv=(sandbox.python, script, "{channel}", *tests),
            cwd=str(sandbox.workspace),
            environment=sandbox.environment,
            wants_channel=True,
        )
    )
    try:
        assert process.channel is not None
        await process.channel.send(key)
        return await watch(process, process.channel, run_seconds=seconds), complaint(process)
    finally:
        await process.aclose()


def _read(watched: Watched, key: bytes, complained: str) -> ProjectRun:
    """What the records say. Raises GradingError for a run that did not begin, or that no one can believe."""
    if watched.flooded:
        raise GradingError("The project has more tests than are kept account of: name fewer with --suite.")
    records = [_record(line, key, number) for number, line in enumerate(watched.report.split(b"\n")[:-1])]
    if not records:
        raise GradingError(f"The tests could not be started ({complained}): is pytest whole there?")
    outcomes: dict[str, str] = {}
    for record in records:
        if "began" in record:
            outcomes[str(record["began"])] = UNFINISHED
        elif "ended" in record:
            outcomes[str(record["ended"])] = str(record["outcome"])
    said = next((str(record["said"]) for record in records if "said" in record), "")
    return ProjectRun(outcomes=outcomes, said=said, timed_out=watched.timed_out)


def _record(line: bytes, key: bytes, number: int) -> dict[str, Any]:
    signature, _, body = line.partition(b" ")
    is_signed = hmac.compare_digest(signature, hmac.new(key, body, "sha256").hexdigest().encode())
    record: dict[str, Any] = json.loads(body) if is_signed else {}
    if record.get("number") != number:
        raise GradingError(
            "The project's tests wrote on the channel of their results: nobody can judge them."
        )
    return record
