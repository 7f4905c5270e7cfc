"""read_file and edit_file: what they show and change, and how they say no."""

import pytest
from pdb_agent.messages import CallStatus
from pdb_agent.tools.files import EditArguments, Files, ReadArguments
from pdb_agent.tools.tool import ANSWER_CHARS

from tests.pdb_agent.tools.working import PROGRAM, open_workspace, task_of

pytestmark = pytest.mark.anyio
CORE = "prog/core.py"
LONG = "".join(f"line_{number} = {number}  # {'-' * 60}\n" for number in range(1, 301))
FILES = {
    "prog/long.py": LONG.encode(),
    "prog/latin.py": b"# -*- coding: latin-1 -*-\nNAME = 'caf\xe9'\n",
    "prog/windows.py": b"A = 1\r\nB = 2\r\n",
    "prog/feed.py": b"A = 1\n\x0cB = 2\nC = '\x1c'\n",
    "prog/wide.py": b"x = '" + b"y" * 10_000 + b"'\nz = 1\n",
    "prog/empty.py": b"",
}


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


async def test_lines_come_numbered_and_say_where_to_read_on():
    async with open_workspace(task_of(FILES)) as workspace:
        files = Files(workspace)
        whole = await files.read(ReadArguments(path=CORE))
        part = await files.read(ReadArguments(path=CORE, line=4, count=1))
        empty = await files.read(ReadArguments(path="prog/empty.py"))
    assert whole.text.splitlines()[3:] == ["   4 def half(number):", "   5     return number / 2"]
    assert whole.facts == {"path": CORE, "first": 1, "last": 5}
    assert part.text == "   4 def half(number):\n[lines 5 to 5 follow: line=5]"
    assert empty.text == "[the file is empty]"


async def test_a_long_file_is_read_piece_by_piece_within_the_bound():
    async with open_workspace(task_of(FILES)) as workspace:
        files = Files(workspace)
        line, seen = 1, list[str]()
        while line:
            answer = await files.read(ReadArguments(path="prog/long.py", line=line, count=400))
            assert len(answer.text) < ANSWER_CHARS + 100
            *shown, last = answer.text.splitlines()
            line = int(last.rpartition("=")[2].rstrip("]")) if last.startswith("[lines") else 0
            seen += shown if line else [*shown, last]
    assert [entry[5:] for entry in seen] == LONG.splitlines()


async def test_a_line_without_end_is_cut():
    async with open_workspace(task_of(FILES)) as workspace:
        answer = await Files(workspace).read(ReadArguments(path="prog/wide.py"))
    assert len(answer.text) < ANSWER_CHARS + 100
    assert answer.text.endswith("[lines 2 to 2 follow: line=2]")


async def test_lines_are_counted_as_python_counts_them():
    async with open_workspace(task_of(FILES)) as workspace:
        answer = await Files(workspace).read(ReadArguments(path="prog/feed.py", line=3))
    assert answer.text == "   3 C = '\x1c'"


@pytest.mark.parametrize(
    ("path", "words"),
    [
        ("prog/none.py", "There is no file prog/none.py: there are prog/__init__.py, prog/core.py"),
        ("prog", "prog is a folder: give one of its files (prog/__init__.py"),
        (".", ". is a folder: give one of its files (prog/__init__.py"),
        ("/etc/passwd", "There is no file /etc/passwd: "),
        ("../../etc/passwd", "There is no file ../../etc/passwd: "),
        ("a\0b", "There is no file a\0b: "),
        ("x" * 3000, "There is no file xxx"),
        ("", "is a folder: give one of its files"),
    ],
)
async def test_what_cannot_be_read_is_answered_with_what_there_is(path: str, words: str):
    async with open_workspace() as workspace:
        answer = await Files(workspace).read(ReadArguments(path=path))
    assert answer.status is CallStatus.FAILED
    assert words in answer.text
    assert len(answer.text) < ANSWER_CHARS + 100


async def test_a_line_after_the_last_is_refused():
    async with open_workspace() as workspace:
        answer = await Files(workspace).read(ReadArguments(path=CORE, line=6))
    assert (answer.status, answer.text) == (
        CallStatus.FAILED,
        f"{CORE} has 5 lines: give a line up to that.",
    )


async def test_paths_are_taken_as_the_tools_print_them():
    async with open_workspace() as workspace:
        files = Files(workspace)
        absolute = await files.read(ReadArguments(path=f"{workspace.sandbox.workspace}/{CORE}"))
        dotted = await files.read(ReadArguments(path=f"./{CORE}"))
    assert absolute.text == dotted.text
    assert absolute.status is CallStatus.OK


async def test_an_edit_shows_the_place_and_is_in_the_file():
    async with open_workspace() as workspace:
        files = Files(workspace)
        answer = await files.edit(EditArguments(path=CORE, old="number / 2", new="number // 2"))
        changes = await workspace.changes()
        again = await workspace.changes()
    assert answer.text.splitlines()[0] == f"{CORE} now reads"
    assert "   5     return number // 2" in answer.text
    assert [(change.path, change.is_editable) for change in changes] == [(CORE, True)]
    assert "-    return number / 2\n+    return number // 2\n" in changes[0].diff
    assert again == ()


async def test_a_new_file_is_made_with_an_empty_old_text():
    async with open_workspace() as workspace:
        files = Files(workspace)
        made = await files.edit(EditArguments(path="prog/new.py", old="", new="X = 1\n"))
        again = await files.edit(EditArguments(path="prog/new.py", old="", new="X = 2\n"))
        text = await workspace.read("prog/new.py")
    assert made.status is CallStatus.OK
    assert again.text == "prog/new.py is there already: give the text to replace as old."
    assert text == "X = 1\n"


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (
            {"path": CORE, "old": "number", "new": "n"},
            "The old text occurs 2 times in prog/core.py: give more",
        ),
        ({"path": CORE, "old": "no such", "new": "n"}, "The old text is not in prog/core.py: read the file"),
        ({"path": CORE, "old": "  TEN = 10  ", "new": "n"}, "only with other spaces around it"),
        ({"path": CORE, "old": "TEN", "new": "TEN"}, "The old and the new text are the same"),
        ({"path": "tests/test_visible.py", "old": "5", "new": "4"}, "not part of the program that is judged"),
        ({"path": "/etc/passwd", "old": "root", "new": ""}, "not part of the program that is judged"),
        ({"path": "prog/../x.py", "old": "", "new": "1"}, "not part of the program that is judged"),
        ({"path": "prog/none.py", "old": "a", "new": "b"}, "There is no file prog/none.py"),
        ({"path": f"prog/{'x' * 600}.py", "old": "", "new": "b"}, "is no path in the workspace"),
    ],
)
async def test_an_edit_that_does_not_do_is_refused_with_the_way_on(arguments: dict[str, str], words: str):
    async with open_workspace() as workspace:
        answer = await Files(workspace).edit(EditArguments(**arguments))
        changes = await workspace.changes()
    assert answer.status is CallStatus.FAILED
    assert words in answer.text
    assert changes == ()


async def test_what_is_no_utf8_is_not_written_over():
    async with open_workspace(task_of(FILES)) as workspace:
        answer = await Files(workspace).edit(EditArguments(path="prog/latin.py", old="NAME", new="TITLE"))
        changes = await workspace.changes()
    assert answer.status is CallStatus.FAILED
    assert "prog/latin.py is not UTF-8" in answer.text
    assert changes == ()


async def test_line_ends_stay_as_they_are():
    async with open_workspace(task_of(FILES)) as workspace:
        await Files(workspace).edit(
            EditArguments(path="prog/windows.py", old="A = 1\nB", new="A = 3\nC = 4\nB")
        )
        content = await workspace.sandbox.get(["prog/windows.py"])
    assert content["prog/windows.py"] == b"A = 3\r\nC = 4\r\nB = 2\r\n"


async def test_a_file_that_became_a_link_is_not_followed():
    async with open_workspace() as workspace:
        files = Files(workspace)
        await workspace.sandbox.run(["ln", "-sf", "/etc/passwd", CORE], timeout_seconds=5)
        read = await files.read(ReadArguments(path=CORE))
        edit = await files.edit(EditArguments(path=CORE, old="root", new="x"))
    assert (read.status, edit.status) == (CallStatus.FAILED, CallStatus.FAILED)
    assert "root" not in read.text


def test_the_program_is_as_the_tests_think():
    assert PROGRAM.count("number") == 2
