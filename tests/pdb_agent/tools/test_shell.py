"""bash: what it shows of a command, however the command behaves."""

import pytest
from pdb_agent.messages import CallStatus
from pdb_agent.tools.shell import BashArguments, Shell, page
from pdb_agent.tools.tool import ANSWER_CHARS

from tests.pdb_agent.tools.working import open_workspace

pytestmark = pytest.mark.anyio
NOTE_CHARS = 200


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


async def test_a_command_runs_in_the_workspace_and_its_exit_code_is_said():
    async with open_workspace() as workspace:
        shell = Shell(workspace)
        listed = await shell.run(BashArguments(command="ls; ls nothing"))
        silent = await shell.run(BashArguments(command="true"))
    assert listed.text.startswith("prog\ntests\nls: ")
    assert listed.text.endswith("\n[exit code 2]")
    assert listed.facts == {"exit_code": 2, "timed_out": False}
    assert silent.text == "[no output]"


async def test_ten_megabytes_are_cut_and_the_rest_is_counted():
    async with open_workspace() as workspace:
        shell = Shell(workspace)
        answer = await shell.run(BashArguments(command="head -c 10000000 /dev/zero | tr '\\0' x"))
        last = await shell.run(BashArguments(cursor=256 * 1024 - 10))
        beyond = await shell.run(BashArguments(cursor=256 * 1024))
    assert answer.status is CallStatus.OK
    assert len(answer.text) < ANSWER_CHARS + NOTE_CHARS
    assert f"cursor={ANSWER_CHARS}]" in answer.text
    assert f"[{10_000_000 - 256 * 1024} more bytes were not kept]" in answer.text
    assert last.text == "x" * 10
    assert beyond.text == "[there is nothing from cursor 262144 on: 262144 characters in all]"


async def test_output_without_end_is_stopped():
    async with open_workspace() as workspace:
        answer = await Shell(workspace).run(BashArguments(command="yes"))
        after = await Shell(workspace).run(BashArguments(command="echo still here"))
    assert "[killed: it wrote without end]" in answer.text
    assert after.text == "still here"


@pytest.mark.slow
async def test_a_command_that_hangs_is_killed_with_all_it_started():
    async with open_workspace() as workspace:
        shell = Shell(workspace)
        answer = await shell.run(
            BashArguments(command="echo begun; setsid sleep 100 & sleep 100", timeout_seconds=1)
        )
        after = await shell.run(BashArguments(command="cat /proc/[0-9]*/comm"))
    assert answer.status is CallStatus.TIMED_OUT
    assert answer.text == "begun\n[killed after 1 s]"
    assert answer.facts["timed_out"]
    assert "sleep" not in after.text.splitlines()


async def test_a_command_and_a_cursor_together_are_refused():
    async with open_workspace() as workspace:
        tool = Shell(workspace).tool()
        both = await tool.run({"command": "ls", "cursor": 3})
        none = await tool.run({})
        long = await tool.run({"command": "ls", "timeout_seconds": 1000})
    assert {both.status, none.status, long.status} == {CallStatus.MALFORMED}
    assert both.text == none.text == "bash takes a command or a cursor, not both: give one."
    assert long.text.startswith("bash: timeout_seconds is 1000, which does not do")


def test_pages_follow_one_another_without_a_gap():
    text = "".join(map(chr, range(300))) * 40
    shown, cursor = "", 0
    while True:
        head, mark, note = page(text, cursor, 1000).rpartition("\n[")
        if not mark:
            assert shown + page(text, cursor, 1000) == text
            return
        shown += head
        cursor = int(note.rpartition("=")[2].rstrip("]"))
