"""Places where no breakpoint can be, files that are out of bounds, and breakpoints that never fire."""

import textwrap

import pytest

pytestmark = pytest.mark.anyio

PROGRAM = '''
    # a comment

    x = 1
    y = (
        2,
        3,
    )

    @staticmethod
    def decorated():
        """A docstring
        of two lines."""
        return 2  # returned

    def never():
        return 3
'''


@pytest.mark.parametrize(
    ("line", "bound", "why"),
    [
        (1, 3, "line 1 is a comment; the next executable line is 3"),
        (2, 3, "line 2 is blank; the next executable line is 3"),
        (6, 4, "line 6 continues the statement that begins on line 4"),
        (9, 13, "line 9 is a decorator of decorated"),
        (10, 13, "line 10 is the def of decorated"),
        (12, 13, "line 12 is in the docstring of decorated"),
    ],
)
async def test_a_line_that_is_not_executable_moves_and_says_where_and_why(debugging, line, bound, why):
    await debugging.start(PROGRAM)
    text = await debugging.done("add_breakpoint", at=f"program.py:{line}")
    assert f"at program.py:{bound} in" in text
    assert f"moved: {why}" in text


@pytest.mark.parametrize(
    ("place", "said"),
    [
        ("program.py:99", "Line 99 is past the end of program.py; the last executable line is 16"),
        ("program.py:0", "Lines count from 1"),
        ("other.py:3", "There is no file other.py"),
        ("program.py~return", "stands on lines 13, 16"),
        ("program.py~return 77", "No line of program.py contains 'return 77'"),
        ("no_function", "No function no_function is defined"),
        ("", "is not a function's name"),
        ("program.py:" + "9" * 4000, "A place of 4011 characters is too long"),
        ("program.py:²", "is not a function's name"),
        ("pro\x00gram.py:3", "names no file"),
    ],
)
async def test_a_place_that_is_none_is_refused_with_the_way_on(debugging, place, said):
    await debugging.start(PROGRAM)
    text = await debugging.refused("add_breakpoint", at=place)
    assert said in text
    assert "no breakpoints are set" in await debugging.done("list_breakpoints")


async def test_running_to_a_line_that_is_none_says_where_it_went(debugging):
    await debugging.start("x = 1\n\ny = 2\n")
    text = await debugging.done("run_to", at="program.py:2")
    assert text.startswith("moved: line 2 is blank; the next executable line is 3")
    assert "program.py:3" in text


async def test_tracing_a_line_that_is_none_says_where_it_went(debugging):
    await debugging.start("for x in range(3):\n\n    print(x)\n")
    text = await debugging.done("trace_lines", where="program.py:2", expressions=["x"])
    assert text.startswith("moved: line 2 is blank; the next executable line is 3")
    assert "3 hits" in text


async def test_a_planned_place_that_is_none_stops_at_the_start_and_says_so(debugging):
    text = await debugging.start(PROGRAM, breakpoints=["program.py:99", "program.py:3"], run=True)
    assert "breakpoint program.py:99 was not set: Line 99 is past the end" in text
    assert "so it was not run on: stopped at the start instead" in text


async def test_a_start_answer_shows_breakpoints_as_they_are_at_its_stop(debugging):
    debugging.write("later.py", "def f():\n    return 1\n")
    text = await debugging.start(PROGRAM, breakpoints=["program.py:13", "later.py:2"])
    here, there = text.split("breakpoint 1", 1)[1].split("breakpoint 2", 1)
    assert "pending" not in here
    assert "pending" in there


class TestRoots:
    """Files outside the allowed roots."""

    @pytest.fixture
    def roots(self, tmp_path):
        return (str(tmp_path),)

    async def test_a_target_outside_the_allowed_roots_is_refused(self, debugging):
        text = await debugging.refused("start_debugger", target="/etc/hosts", kind="script")
        assert "outside" in text
        assert str(debugging.folder) in text

    @pytest.mark.parametrize("place", ["/etc/hosts:1", "/etc/hosts~localhost", "../../outside.py:1"])
    async def test_a_breakpoint_outside_the_allowed_roots_is_refused_unread(self, debugging, place):
        await debugging.start("x = 1\n")
        for tool, argument in (("add_breakpoint", "at"), ("run_to", "at"), ("trace_lines", "where")):
            more = {"expressions": ["x"]} if tool == "trace_lines" else {}
            text = await debugging.refused(tool, **{argument: place}, **more)
            assert "outside the allowed folders" in text
            assert "localhost" not in text.replace(place, "")

    async def test_a_link_that_leads_outside_the_roots_is_refused(self, debugging, tmp_path_factory):
        outside = tmp_path_factory.mktemp("elsewhere") / "secret.py"
        outside.write_text("token = 'abc'\n", encoding="utf-8")
        (debugging.folder / "link.py").symlink_to(outside)
        await debugging.start("x = 1\n")
        text = await debugging.refused("add_breakpoint", at="link.py:1")
        assert "outside the allowed folders" in text
        assert "abc" not in text


async def test_each_silent_breakpoint_says_why_it_never_fired(debugging):
    debugging.write("unused.py", "def f():\n    return 1\n")
    source = """
        def never():
            return 1  # never

        def often(n):
            if n > 5:
                return n  # unreached
            return 0  # odd

        for n in range(3):
            often(n)
    """
    await debugging.start(
        source,
        breakpoints=[
            "unused.py:2",
            "program.py~# never",
            "program.py~# unreached",
            {"at": "program.py~# odd", "condition": "n > 7"},
        ],
        run=True,
    )
    text = await debugging.done("where_am_i")
    assert "(unused.py:2) never fired: its file was never imported" in text
    assert "never was never called" in text
    assert "often ran 3 times" in text
    assert "its condition n > 7 was false each time (last: n = 2)" in text


async def test_a_condition_that_raises_stops_once_and_says_what_it_raised(debugging):
    source = """
        for n in range(3):
            print(n)  # here
    """
    await debugging.start(source)
    await debugging.done("add_breakpoint", at="program.py~# here", condition="n.nothing > 1")
    text = await debugging.done("continue_execution")
    assert "its condition raised AttributeError" in text
    assert "nothing" in text
    text = await debugging.done("continue_execution")
    assert "exited with code 0" in text


async def test_a_condition_that_never_returns_stops_instead_of_hanging(debugging):
    source = """
        def forever():
            while True:
                pass

        x = 1  # here
    """
    await debugging.start(source)
    await debugging.done("add_breakpoint", at="program.py~# here", condition="forever()")
    text = await debugging.done("continue_execution", timeout_seconds=20)
    assert "did not finish within" in text


@pytest.mark.parametrize(
    ("argument", "said"),
    [
        ({"condition": "x ="}, "is not a Python expression"),
        ({"condition": "(" * 3000}, "is not a Python expression"),
        ({"condition": "-" * 200_000 + "1"}, "is not a Python expression"),
        ({"hits": "often"}, "hits='often' is not understood"),
        ({"hits": "²"}, "is not understood"),
        ({"log": ["x ="]}, "is not a Python expression"),
    ],
)
async def test_what_a_breakpoint_cannot_use_is_refused_before_it_is_set(debugging, argument, said):
    await debugging.start(textwrap.dedent(PROGRAM))
    text = await debugging.refused("add_breakpoint", at="program.py:3", **argument)
    assert said in text
    assert "no breakpoints are set" in await debugging.done("list_breakpoints")
