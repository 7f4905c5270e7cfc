"""Read, Edit, Write, Bash, as coding agents know them."""

from collections.abc import Mapping

import pytest
from pdb_agent.messages import CallStatus
from pdb_agent.tools.coding import coding_tools
from pdb_agent.tools.tool import ANSWER_CHARS, Answer
from pdb_agent.tools.workspace import Workspace

from tests.pdb_agent.tools.working import open_workspace, task_of

pytestmark = pytest.mark.anyio
CORE = "prog/core.py"
FILES = {"prog/long.py": b"x = 1  # long\n" * 3000, "prog/latin.py": b"NAME = '\xe9'  # coding: latin-1\n"}


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


class Tools:
    def __init__(self, workspace: Workspace) -> None:
        self._tools = {tool.spec.name: tool for tool in coding_tools(workspace)}
        self.names = list(self._tools)

    async def __call__(self, name: str, /, **arguments: object) -> Answer:
        return await self._tools[name].run(arguments)


async def test_there_are_the_four_with_their_usual_parameters():
    async with open_workspace() as workspace:
        tools = coding_tools(workspace)
    parameters: dict[str, Mapping[str, object]] = {
        tool.spec.name: tool.spec.schema["properties"] for tool in tools
    }
    assert {name: list(one) for name, one in parameters.items()} == {
        "Read": ["file_path", "offset", "limit"],
        "Edit": ["file_path", "old_string", "new_string", "replace_all"],
        "Write": ["file_path", "content"],
        "Bash": ["command", "timeout"],
    }


async def test_a_file_is_read_before_it_is_edited_or_overwritten():
    async with open_workspace() as workspace:
        call = Tools(workspace)
        early = await call("Edit", file_path=CORE, old_string="number / 2", new_string="number // 2")
        over = await call("Write", file_path=CORE, content="")
        untouched = await workspace.changes()
        read = await call("Read", file_path=f"{workspace.sandbox.workspace}/{CORE}")
        edit = await call("Edit", file_path=CORE, old_string="number / 2", new_string="number // 2")
        text = await workspace.read(CORE)
    assert early.text == f"Read {CORE} before you edit it."
    assert over.text == f"Read {CORE} before you overwrite it."
    assert {early.status, over.status} == {CallStatus.FAILED}
    assert untouched == ()
    assert "     5\t    return number / 2" in read.text
    assert edit.status is CallStatus.OK
    assert text is not None
    assert text.endswith("number // 2\n")


async def test_a_new_file_is_written_without_reading():
    async with open_workspace() as workspace:
        call = Tools(workspace)
        made = await call("Write", file_path="prog/sub/new.py", content="X = 1\n")
        edit = await call("Edit", file_path="prog/sub/new.py", old_string="1", new_string="2")
        text = await workspace.read("prog/sub/new.py")
    assert {made.status, edit.status} == {CallStatus.OK}
    assert text == "X = 2\n"


async def test_a_text_that_occurs_twice_needs_replace_all():
    async with open_workspace() as workspace:
        call = Tools(workspace)
        await call("Read", file_path=CORE)
        refused = await call("Edit", file_path=CORE, old_string="number", new_string="n")
        done = await call("Edit", file_path=CORE, old_string="number", new_string="n", replace_all=True)
        text = await workspace.read(CORE)
    assert refused.text == "old_string occurs 2 times: give more context, or replace_all."
    assert done.status is CallStatus.OK
    assert text is not None
    assert text.endswith("def half(n):\n    return n / 2\n")


@pytest.mark.parametrize(
    ("name", "arguments", "words"),
    [
        ("Edit", {"old_string": "no such", "new_string": "x"}, "old_string is not in prog/core.py"),
        ("Edit", {"old_string": "", "new_string": "x"}, "old_string is not in prog/core.py"),
        ("Edit", {"old_string": "TEN", "new_string": "TEN"}, "are the same"),
        ("Read", {"file_path": "nothing.py"}, "File does not exist: nothing.py."),
        ("Read", {"file_path": "/etc/passwd"}, "File does not exist: /etc/passwd."),
        ("Write", {"file_path": "/etc/passwd", "content": "x"}, "is no path in the workspace"),
        ("Write", {"file_path": "../x.py", "content": "x"}, "is no path in the workspace"),
        ("Write", {"file_path": "prog/core.py/x.py", "content": "x"}, "cannot be written"),
    ],
)
async def test_what_does_not_do_is_refused_and_changes_nothing(
    name: str, arguments: dict[str, str], words: str
):
    async with open_workspace() as workspace:
        call = Tools(workspace)
        await call("Read", file_path=CORE)
        answer = await call(name, **{"file_path": CORE, **arguments})
        changes = await workspace.changes()
    assert answer.status is CallStatus.FAILED
    assert words in answer.text
    assert changes == ()


async def test_what_is_no_utf8_is_not_written_over():
    async with open_workspace(task_of(FILES)) as workspace:
        call = Tools(workspace)
        await call("Read", file_path="prog/latin.py")
        answer = await call("Edit", file_path="prog/latin.py", old_string="NAME", new_string="TITLE")
        changes = await workspace.changes()
    assert "prog/latin.py is not UTF-8" in answer.text
    assert changes == ()


async def test_a_long_file_is_read_on_at_the_offset_that_is_said():
    async with open_workspace(task_of(FILES)) as workspace:
        call = Tools(workspace)
        offset, count = 1, 0
        while offset:
            answer = await call("Read", file_path="prog/long.py", offset=offset, limit=2000)
            assert len(answer.text) < ANSWER_CHARS + 100
            lines, mark, note = answer.text.partition("\n[more lines follow: offset=")
            numbers = [int(line.partition("\t")[0]) for line in lines.splitlines()]
            assert numbers == list(range(offset, offset + len(numbers)))
            count += len(numbers)
            offset = int(note.rstrip("]")) if mark else 0
            if not mark and numbers[-1] < 3000:
                offset = numbers[-1] + 1
    assert count == 3000


@pytest.mark.slow
async def test_a_commands_time_is_in_milliseconds():
    async with open_workspace() as workspace:
        answer = await Tools(workspace)("Bash", command="sleep 30", timeout=500)
    assert (answer.status, answer.text) == (CallStatus.TIMED_OUT, "[killed after 0.5 s]")
