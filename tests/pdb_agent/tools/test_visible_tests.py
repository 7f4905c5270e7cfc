"""run_tests and done: pytest's report within a bound, and how each test ended for the metrics."""

import pytest
from pdb_agent.messages import CallStatus
from pdb_agent.tools.tool import ANSWER_CHARS
from pdb_agent.tools.visible_tests import VisibleTests, done_tool, split_outcomes

from tests.pdb_agent.tools.working import TEST, open_workspace, task_of

pytestmark = [pytest.mark.anyio, pytest.mark.slow]
OTHER = "tests/test_visible.py::test_ten"


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


async def test_all_visible_tests_run_and_only_those():
    async with open_workspace() as workspace:
        answer = await VisibleTests(workspace).run_tool().run({})
    assert answer.status is CallStatus.OK
    assert "assert 2.5 == 2" in answer.text
    assert "1 failed, 1 passed" in answer.text
    assert "test_unseen" not in answer.text
    assert answer.facts == {"tests": [], "passed": [OTHER], "failed": [TEST], "timed_out": False}
    assert "outcomes" not in answer.text


async def test_the_same_program_gives_the_same_answer_without_duration_and_place():
    async with open_workspace() as workspace:
        answers = [await VisibleTests(workspace).run_tool().run({}) for _ in range(2)]
        none = await VisibleTests(workspace).run_tool().run({"tests": ["tests/test_visible.py::test_no"]})
    assert answers[0].text == answers[1].text
    assert answers[0].text.endswith("\n1 failed, 1 passed")
    assert none.text.startswith("ERROR: not found: tests/test_visible.py::test_no\n")
    assert none.text.endswith("\nno tests ran")


async def test_named_tests_run_alone():
    async with open_workspace() as workspace:
        answer = await VisibleTests(workspace).run_tool().run({"tests": [OTHER]})
        missing = await VisibleTests(workspace).run_tool().run({"tests": ["tests/test_visible.py::test_no"]})
    assert "1 passed" in answer.text
    assert answer.facts["passed"] == [OTHER]
    assert "not found: " in missing.text
    assert missing.facts["passed"] == missing.facts["failed"] == []


async def test_options_are_no_tests():
    async with open_workspace() as workspace:
        answer = await VisibleTests(workspace).run_tool().run({"tests": ["--collect-only"]})
    assert (answer.status, answer.text) == (
        CallStatus.FAILED,
        "--collect-only is no test: give ids such as tests/test_x.py::test_y.",
    )


async def test_a_test_that_hangs_is_killed_and_said():
    hang = b"def test_hang():\n    while True:\n        pass\n"
    async with open_workspace(task_of({"tests/test_hang.py": hang}, suite_seconds=2)) as workspace:
        answer = await VisibleTests(workspace).run_tool().run({"tests": ["tests/test_hang.py"]})
    assert answer.status is CallStatus.TIMED_OUT
    assert answer.text.endswith("[killed after 2 s: a test hangs]")
    assert answer.facts["timed_out"]


async def test_a_test_that_prints_ten_megabytes_is_cut_and_its_outcome_kept():
    loud = b"def test_loud():\n    print('x' * 10_000_000)\n    assert False\n"
    async with open_workspace(task_of({"tests/test_loud.py": loud})) as workspace:
        answer = await VisibleTests(workspace).run_tool().run({"tests": ["tests/test_loud.py"]})
    assert len(answer.text) <= ANSWER_CHARS
    assert answer.facts["failed"] == ["tests/test_loud.py::test_loud"]


async def test_a_program_that_ends_the_run_is_said():
    exits = b"import os\n\n\ndef test_exit():\n    os._exit(7)\n"
    async with open_workspace(task_of({"tests/test_exit.py": exits})) as workspace:
        answer = await VisibleTests(workspace).run_tool().run({"tests": ["tests/test_exit.py"]})
    assert "[the test run ended by itself, with exit code 7]" in answer.text
    assert answer.facts["passed"] == answer.facts["failed"] == []


async def test_done_ends_the_episode():
    answer = await done_tool().run({"summary": "the division"})
    assert answer.ends
    assert answer.facts == {"summary": "the division"}


@pytest.mark.parametrize("output", ["1 passed\n", "\x01outcomes\x01{\n", "\x01outcomes\x01[1]\n", ""])
def test_output_without_outcomes_is_left_as_it_is(output: str):
    assert split_outcomes(output) == (output, {})
