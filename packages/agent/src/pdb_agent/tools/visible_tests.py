"""run_tests and done: the tests that a model can see, and the word that it has finished."""

import re

from pydantic import Field, TypeAdapter, ValidationError

from pdb_agent.messages import CallStatus
from pdb_agent.sandbox import FLOOD_BYTES, CommandResult
from pdb_agent.tools.tool import ANSWER_CHARS, Answer, Arguments, CheckedTool, clip
from pdb_agent.tools.workspace import Workspace

_PLUGIN = """
import json, os, pytest, sys
out, seen = [], {}
class Plugin:
    def pytest_runtest_logreport(self, report):
        if report.when == "call" or report.outcome != "passed":
            if seen.get(report.nodeid, "passed") == "passed":
                seen[report.nodeid] = report.outcome
    def pytest_sessionfinish(self, session):
        os.write(2, b"\\n" + MARK.encode() + json.dumps(seen).encode() + b"\\n")
MARK = sys.argv.pop(1)
sys.exit(pytest.main(sys.argv[1:], plugins=[Plugin()]))
"""
_MARK = "\x01outcomes\x01"
_NOTE_CHARS = 100
_TOTALS = re.compile(r"(?m)^((?:no tests ran|\d+ \w+)(?:, \d+ \w+)*) in \d+\.\d+s(?: \(\d+:\d\d:\d\d\))?$")
"""Pytest's last line. Without its duration, and the workspace's place, equal programs give equal answers."""
_OUTCOMES = TypeAdapter(dict[str, str])
_OPTIONS = ("-q", "--no-header", "-p", "no:cacheprovider", "--color=no", "--tb=short")


class TestsArguments(Arguments):
    """Which tests."""

    tests: list[str] = Field(
        default_factory=list, description="ids such as tests/test_x.py::test_y; default: all that you can see"
    )


class DoneArguments(Arguments):
    """The last word."""

    summary: str = Field(default="", description="what was the matter and what you changed")


class VisibleTests:
    """Runs pytest on the workspace."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace

    def run_tool(self) -> CheckedTool[TestsArguments]:
        """The tool that runs tests."""
        return CheckedTool("run_tests", "Run the program's tests with pytest.", TestsArguments, self.run)

    async def run(self, arguments: TestsArguments) -> Answer:
        """Run, and show pytest's report within a bound."""
        sandbox, limits = self._workspace.sandbox, self._workspace.task.limits
        options = [test for test in arguments.tests if test.startswith("-")]
        if options:
            return Answer(
                text=f"{options[0]} is no test: give ids such as tests/test_x.py::test_y.",
                status=CallStatus.FAILED,
            )
        command = [sandbox.python, "-c", _PLUGIN, _MARK, *_OPTIONS, *arguments.tests]
        result = await sandbox.run(
            command, timeout_seconds=limits.suite_seconds, output_bytes=FLOOD_BYTES
        )  # all of it, for the outcomes come last
        output, outcomes = split_outcomes(result.output)
        output = _TOTALS.sub(r"\1", output.strip()).replace(f"{sandbox.workspace}/", "")
        output = clip(output, ANSWER_CHARS - _NOTE_CHARS, way_on="run fewer tests")
        facts = {
            "tests": arguments.tests,
            "passed": sorted(test for test, outcome in outcomes.items() if outcome == "passed"),
            "failed": sorted(test for test, outcome in outcomes.items() if outcome == "failed"),
            "timed_out": result.timed_out,
        }
        status = CallStatus.TIMED_OUT if result.timed_out else CallStatus.OK
        note = _note(result, limits.suite_seconds, ended=_MARK in result.output)
        text = "\n".join(part for part in (output, note) if part)
        return Answer(text=text, status=status, facts=facts)


def _note(result: CommandResult, limit_seconds: float, *, ended: bool) -> str:
    """What pytest itself could not say of a run that did not come to its end."""
    if result.timed_out:
        return f"[killed after {limit_seconds:g} s: a test hangs]"
    if result.flooded:
        return "[killed: a test writes without end]"
    if result.out_of_memory:
        return "[killed: out of memory]"
    return "" if ended else f"[the test run ended by itself, with exit code {result.exit_code}]"


def done_tool() -> CheckedTool[DoneArguments]:
    """The tool that ends an episode."""

    async def done(arguments: DoneArguments) -> Answer:
        return Answer(text="Done.", facts={"summary": arguments.summary}, ends=True)

    return CheckedTool("done", "Say that the program is repaired and its tests pass.", DoneArguments, done)


def split_outcomes(output: str) -> tuple[str, dict[str, str]]:
    """Pytest's report, and outcomes by test id; for metrics only, for the program could forge them."""
    text, mark, rest = output.rpartition(_MARK)
    if not mark:
        return output, {}
    line, _, after = rest.partition("\n")
    try:
        outcomes = _OUTCOMES.validate_json(line)
    except ValidationError:
        return output, {}
    return text.rstrip("\n") + "\n" + after, outcomes
