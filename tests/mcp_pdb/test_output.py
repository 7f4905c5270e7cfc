"""The buffer of what a program prints: bounded, ordered, never lying about what is missing."""

import sys
from collections.abc import AsyncIterator

import anyio
import pytest
from hypothesis import given
from hypothesis import strategies as st
from mcp_pdb.launcher import LaunchSpec, PlainLauncher, Process, debuggee_environment
from mcp_pdb.output import OutputBuffer


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
async def launcher() -> AsyncIterator[PlainLauncher]:
    async with PlainLauncher() as launcher:
        yield launcher


async def start(launcher: PlainLauncher, code: str) -> Process:
    argv = (sys.executable, "-I", "-S", "-c", code)
    spec = LaunchSpec(argv=argv, cwd="/", environment=debuggee_environment(), wants_channel=True)
    return await launcher.launch(spec)


def test_a_take_without_cursor_gives_what_is_new_since_the_last_one():
    buffer = OutputBuffer()
    buffer.feed("one\n")
    assert buffer.take(None, 100) == ("one\n", 4, 0)
    assert buffer.take(None, 100) == ("", 4, 0)
    buffer.feed("two\n")
    assert buffer.take(None, 100) == ("two\n", 8, 0)


def test_too_much_news_is_cut_at_a_line_and_its_end_is_kept():
    buffer = OutputBuffer()
    buffer.feed("".join(f"line {number}\n" for number in range(100)))
    text, cursor, omitted = buffer.take(None, 20)
    assert text == "line 98\nline 99\n"
    assert cursor == buffer.end == omitted + len(text)


def test_what_was_left_out_can_be_read_page_by_page_with_a_cursor():
    buffer = OutputBuffer()
    whole = "".join(f"line {number}\n" for number in range(100))
    buffer.feed(whole)
    buffer.take(None, 20)
    pages: list[str] = []
    cursor = 0
    while cursor < buffer.end:
        text, cursor, omitted = buffer.take(cursor, 100)
        assert omitted == 0
        pages.append(text)
    assert "".join(pages) == whole
    assert buffer.take(None, 20) == ("", len(whole), 0), "reading pages does not move the mark"


def test_a_cursor_into_what_is_gone_says_how_much_is_missing():
    buffer = OutputBuffer(capacity_chars=10)
    buffer.feed("0123456789abcde")
    assert buffer.take(2, 4) == ("5678", 9, 3)
    assert buffer.take(999, 4) == ("", 15, 0)
    assert buffer.take(-5, 4) == ("5678", 9, 5)


def test_a_cut_that_falls_on_the_start_of_a_line_keeps_that_line():
    buffer = OutputBuffer()
    buffer.feed("one\ntwo\nthree\n")
    assert buffer.take(None, 10) == ("two\nthree\n", 14, 4)


def test_a_line_longer_than_the_limit_is_cut_inside_the_line():
    buffer = OutputBuffer()
    buffer.feed("x" * 1000 + "\n")
    text, _, omitted = buffer.take(None, 100)
    assert text == "x" * 99 + "\n"
    assert omitted == 901


def test_single_characters_are_kept_in_few_pieces():
    buffer = OutputBuffer(capacity_chars=100_000)
    for number in range(150_000):
        buffer.feed(str(number % 10))
    assert len(buffer._pieces) < 60
    text, cursor, omitted = buffer.take(0, 10**6)
    assert (len(text), cursor, omitted) == (100_000, 150_000, 50_000)
    assert text.startswith("0123")


@given(st.lists(st.text(alphabet="ab\n", max_size=30)), st.integers(1, 40), st.integers(1, 50))
def test_text_and_omitted_always_add_up_to_the_whole(pieces: list[str], capacity: int, limit: int):
    buffer = OutputBuffer(capacity_chars=capacity)
    seen = 0
    whole = ""
    for piece in pieces:
        buffer.feed(piece)
        whole += piece
        text, cursor, omitted = buffer.take(None, limit)
        assert len(text) <= limit
        assert whole[seen + omitted :] == text
        seen += omitted + len(text)
        assert seen == cursor == len(whole)
        held = len(whole) - buffer.take(0, 10**6)[2]
        assert held == min(capacity, len(whole))


@pytest.mark.anyio
async def test_ten_megabytes_stay_bounded_and_the_rest_is_counted(launcher: PlainLauncher):
    code = "import sys\nfor number in range(100_000): sys.stdout.write('%06d%s\\n' % (number, 'x' * 93))"
    process = await start(launcher, code)
    buffer = OutputBuffer()
    with anyio.fail_after(60):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(buffer.pump, process.stdout)
            tasks.start_soon(buffer.pump, process.stderr)
            assert await process.wait() == 0
    assert buffer.end == 10_000_000
    assert len(buffer.take(0, 10**9)[0]) == 256 * 1024
    text, cursor, omitted = buffer.take(None, 2_500)
    assert text.startswith("099975x")
    assert (len(text) + omitted, cursor) == (buffer.end, buffer.end)
    await process.aclose()


@pytest.mark.anyio
async def test_what_was_printed_before_a_message_is_there_when_the_message_is(launcher: PlainLauncher):
    code = """
import os, socket
channel = socket.socket(fileno=3)
for number in range(100):
    os.write(1 + number % 2, b"%d\\n" % number)
    channel.sendall(b"s")
    channel.recv(1)
"""
    process = await start(launcher, code.replace("fileno=3", "fileno=int('3')"))
    assert process.channel is not None
    buffer = OutputBuffer()
    buffer.attach(process.stdout, process.stderr)
    with anyio.fail_after(30):
        for number in range(100):
            await process.channel.receive()
            assert buffer.take(None, 100)[0] == f"{number}\n"
            await process.channel.send(b"c")
    await process.aclose()


@pytest.mark.anyio
async def test_a_character_cut_between_two_writes_arrives_whole_and_bad_bytes_are_replaced(
    launcher: PlainLauncher,
):
    code = """
import os, sys
os.write(1, b"\\xe2\\x82"); sys.stdin.readline()
os.write(2, b"\\xff"); os.write(1, b"\\xac!"); os.write(1, b"\\xe2")
"""
    process = await start(launcher, code)
    buffer = OutputBuffer()
    buffer.attach(process.stdout, process.stderr)
    with anyio.fail_after(30):
        await process.write_stdin(b"\n")
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(buffer.pump, process.stdout)
            tasks.start_soon(buffer.pump, process.stderr)
    assert sorted(buffer.take(None, 100)[0]) == sorted("€!\ufffd\ufffd")
    await process.aclose()


@pytest.mark.anyio
async def test_a_pump_ends_when_the_process_is_closed_though_a_daemon_holds_the_pipe(launcher: PlainLauncher):
    code = "import os, time\nif os.fork() == 0: os.setsid(); time.sleep(600)\nos.write(1, b'done')"
    process = await start(launcher, code)
    buffer = OutputBuffer()
    with anyio.fail_after(30):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(buffer.pump, process.stdout)
            assert await process.wait() == 0
            assert buffer.take(None, 100)[0] == "done"
            await process.aclose()
