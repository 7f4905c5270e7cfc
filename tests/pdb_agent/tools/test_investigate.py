"""investigate: one call to the debugger, a table of values out."""

from collections.abc import Mapping
from typing import Any

import anyio
import pytest
from pdb_agent.messages import CallStatus
from pdb_agent.sandboxes.debugging import open_debugger_in
from pdb_agent.tools.investigate import investigate_tool
from pdb_agent.tools.tool import ANSWER_CHARS, Answer

from tests.pdb_agent.tools.working import TEST, open_workspace, task_of

pytestmark = [pytest.mark.anyio, pytest.mark.slow]
LOOP = b"""\
def test_loop():
    total = 0
    for number in range(50):
        total += number
    while total:
        pass
"""
TASK = task_of({"tests/test_loop.py": LOOP})


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


async def investigated(**arguments: Any) -> Answer:
    async with open_workspace(TASK) as workspace, open_debugger_in(workspace.sandbox) as client:
        return await investigate_tool(client).run({"target": TEST, **arguments})


async def test_each_stop_has_a_row_for_each_expression():
    answer = await investigated(
        breakpoints=["prog.core.half"], expressions=["number", "number / 2 == 2", "nil"]
    )
    rows = answer.text.splitlines()
    assert answer.status is CallStatus.OK
    assert rows[0] == "stop 1: line 5 in half"
    assert rows[1].startswith("  number = ")
    assert "5" in rows[1]
    assert "False" in rows[2]
    assert "NameError" in rows[3]
    assert "failed: tests/test_visible.py::test_half" in answer.text


async def test_only_as_many_stops_as_are_asked_for_are_looked_at():
    target = {"target": "tests/test_loop.py::test_loop"}
    answer = await investigated(
        **target,
        breakpoints=["tests/test_loop.py:4"],
        expressions=["number"],
        condition="number > 9",
        stops=3,
    )
    stops = [line for line in answer.text.splitlines() if line.startswith("stop ")]
    values = [line for line in answer.text.splitlines() if line.startswith("  number = ")]
    assert len(stops) == answer.facts["stops"] == 3
    assert [line.split("=")[1].split()[0] for line in values] == ["10", "11", "12"]


async def test_a_breakpoint_that_is_never_reached_is_told_with_how_the_test_ended():
    answer = await investigated(
        breakpoints=["prog.core.half"], expressions=["number"], condition="number > 99"
    )
    assert "stop 1" not in answer.text
    assert "1 failed" in answer.text


@pytest.mark.parametrize(
    ("arguments", "status", "words"),
    [
        ({"target": "tests/test_none.py::test_x"}, CallStatus.FAILED, "tests/test_none.py"),
        ({"breakpoints": ["prog/core.py:2"]}, CallStatus.OK, "moved: line 2 is blank"),
        ({"breakpoints": []}, CallStatus.MALFORMED, "breakpoints"),
        ({"expressions": ["1"] * 9}, CallStatus.MALFORMED, "expressions"),
        ({"stops": 31}, CallStatus.MALFORMED, "stops is 31"),
    ],
)
async def test_what_does_not_do_is_answered_with_the_way_on(
    arguments: Mapping[str, Any], status: CallStatus, words: str
):
    answer = await investigated(**{"breakpoints": ["prog.core.half"], "expressions": ["number"], **arguments})
    assert answer.status is status
    assert words in answer.text


async def test_large_values_are_cut():
    answer = await investigated(
        breakpoints=["prog.core.half"], expressions=[f"'{letter}' * 10_000_000" for letter in "abcdefgh"]
    )
    assert len(answer.text) <= ANSWER_CHARS


async def test_a_call_that_is_given_up_leaves_no_session_behind():
    target = {"target": "tests/test_loop.py::test_loop"}
    async with (
        open_workspace(TASK) as workspace,
        open_debugger_in(workspace.sandbox, toolset="all") as client,
    ):
        tool = investigate_tool(client)
        with anyio.move_on_after(3) as patience:
            await tool.run(
                {**target, "breakpoints": ["tests/test_loop.py:6"], "expressions": ["0"], "condition": "0"}
            )
        assert patience.cancelled_caught
        answer = await tool.run(
            {"target": TEST, "breakpoints": ["prog.core.half"], "expressions": ["number"]}
        )
        sessions = await client.call_tool("list_sessions", {})
    assert "stop 1: line 5 in half" in answer.text
    assert "test_loop" not in str(sessions.content)
