"""The launcher without the reaper: what Windows uses, held here by process groups instead of jobs."""

import contextlib
import os
import signal
import sys
import textwrap
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import anyio
import psutil
import pytest
from mcp_pdb.client import open_debugger
from mcp_pdb.errors import EngineError, PathError, TargetError
from mcp_pdb.launcher import CommandLauncher, Launcher, LaunchSpec, Process, debuggee_environment
from mcp_pdb.piped_launcher import PipedLauncher

from tests.contracts.conftest import interpreter_of
from tests.mcp_pdb.conftest import ALL_TOOLS, Debugging

pytestmark = [
    pytest.mark.anyio,
    pytest.mark.skipif(sys.platform == "win32", reason="process groups are Unix's"),
]

FAMILY = """
    import os, time
    if os.fork() == 0:
        os.write(1, b"%d\\n" % os.getpid())
        time.sleep(600)
    os.write(1, b"%d\\n" % os.getpid())
    time.sleep(600)
"""


class GroupHold:
    """A process group in the place of a job."""

    def __init__(self) -> None:
        self.pid = 0
        self.is_closed = False

    def start_options(self) -> Mapping[str, Any]:
        return {"start_new_session": True}

    def take(self, pid: int) -> None:
        self.pid = pid

    def kill(self) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.pid, signal.SIGKILL)

    def is_empty(self) -> bool:
        return not [pid for pid in psutil.pids() if lives(pid) and group_of(pid) == self.pid]

    def close(self) -> None:
        self.is_closed = True


class RefusingHold(GroupHold):
    """A system that will not have the program in a job."""

    def take(self, pid: int) -> None:
        self.pid = pid
        raise PermissionError(1, "not permitted")


def group_of(pid: int) -> int:
    with contextlib.suppress(ProcessLookupError):
        return os.getpgid(pid)
    return -1


def lives(pid: int) -> bool:
    with contextlib.suppress(psutil.NoSuchProcess):
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    return False


@pytest.fixture
async def launcher() -> AsyncIterator[PipedLauncher]:
    async with PipedLauncher(GroupHold) as launcher:
        yield launcher


def python(code: str, *args: str, wants_channel: bool = False) -> LaunchSpec:
    argv = (sys.executable, "-I", "-S", "-c", textwrap.dedent(code), *args)
    return LaunchSpec(argv=argv, cwd="/", environment=debuggee_environment(), wants_channel=wants_channel)


async def read_all(process: Process) -> str:
    data = b""
    with contextlib.suppress(anyio.EndOfStream):
        while True:
            data += await process.stdout.receive()
    return data.decode()


async def read_pids(process: Process, count: int) -> list[int]:
    data = b""
    while data.count(b"\n") < count:
        data += await process.stdout.receive()
    return [int(word) for word in data.split()]


@pytest.mark.parametrize(
    ("code", "expected"),
    [("pass", 0), ("raise SystemExit(7)", 7), ("import os; os.kill(os.getpid(), 9)", -signal.SIGKILL)],
)
async def test_wait_gives_the_exit_status(launcher: PipedLauncher, code: str, expected: int):
    process = await launcher.launch(python(code))
    with anyio.fail_after(10):
        assert await process.wait() == expected
    assert process.returncode == expected
    await process.aclose()


async def test_streams_are_separate_and_standard_input_can_end(launcher: PipedLauncher):
    code = "import sys; print(input(), sys.stdin.read()); sys.stderr.write('complaint')"
    process = await launcher.launch(python(code))
    assert process.stdout.receive_nowait() is None
    with anyio.fail_after(10):
        await process.write_stdin(b"first\nrest")
        await process.close_stdin()
        await process.close_stdin()
        assert await read_all(process) == "first rest\n"
        assert await process.stderr.receive() == b"complaint"
        with pytest.raises(EngineError, match="closed its standard input"):
            await process.write_stdin(b"more")
    await process.aclose()


async def test_megabytes_pass_both_ways_in_bounded_memory(launcher: PipedLauncher):
    code = "import sys, shutil; shutil.copyfileobj(sys.stdin.buffer, sys.stdout.buffer)"
    process = await launcher.launch(python(code))
    sent = os.urandom(1 << 20) * 4
    received = bytearray()

    async def write() -> None:
        await process.write_stdin(sent)
        await process.close_stdin()

    with anyio.fail_after(30):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(write)
            with contextlib.suppress(anyio.EndOfStream):
                while True:
                    received += await process.stdout.receive()
    assert received == sent
    await process.aclose()


async def test_a_program_that_nobody_reads_is_held_up_and_goes_on_when_read(launcher: PipedLauncher):
    code = "import os\nwhile True: os.write(1, bytes(65536)); os.write(2, b'.')"
    process = await launcher.launch(python(code))
    written = 0
    with anyio.fail_after(20):
        while True:
            with anyio.move_on_after(0.5) as quiet:
                written += 65536 * len(await process.stderr.receive())
            if quiet.cancelled_caught:
                break
            assert written < 8 << 20
        read = 0
        while read < 8 << 20:
            read += len(await process.stdout.receive())
    await process.aclose()


async def test_the_channel_needs_the_secret_and_the_address(launcher: PipedLauncher):
    code = """
        import os, socket, sys
        host, port, variable = sys.argv[1].split(":")
        channel = socket.create_connection((host, int(port)))
        channel.sendall(os.environ[variable].encode() + b"hello")
        print(channel.recv(5), sys.argv[2])
    """
    process = await launcher.launch(python(code, "{channel}", "{channel}", wants_channel=True))
    assert process.channel is not None
    with anyio.fail_after(10):
        assert await process.channel.receive() == b"hello"
        await process.channel.send(b"HELLO")
        assert await read_all(process) == "b'HELLO' {channel}\n"
    await process.aclose()
    with pytest.raises(anyio.ClosedResourceError):
        await process.channel.receive()


async def test_a_program_that_ends_before_it_connects_gives_a_channel_at_its_end(launcher: PipedLauncher):
    with anyio.fail_after(10):
        process = await launcher.launch(python("raise SystemExit('too old')", wants_channel=True))
        assert process.channel is not None
        with pytest.raises(anyio.EndOfStream):
            await process.channel.receive()
        assert await process.wait() == 1
        assert await process.stderr.receive() == b"too old\n"
    await process.aclose()


async def test_a_program_that_does_not_connect_is_ended_and_named(launcher: PipedLauncher):
    impatient = PipedLauncher(GroupHold, start_seconds=0.3)
    with anyio.fail_after(10), pytest.raises(EngineError, match=r"did not connect within 0\.3 s"):
        await impatient.launch(python("import time; time.sleep(600)", wants_channel=True))
    assert psutil.Process().children() == []


@pytest.mark.parametrize(
    ("argv", "cwd", "error", "sentence"),
    [
        (("/nowhere/python",), "/", TargetError, "/nowhere/python cannot be run .No such file"),
        (("/etc/passwd",), "/", TargetError, "Permission denied.*executable"),
        (("true",), "/nowhere", PathError, "working directory /nowhere cannot be entered"),
        (("nul\0byte",), "/", TargetError, "Invalid argument"),
    ],
)
async def test_what_cannot_start_is_said_with_the_way_on(
    launcher: PipedLauncher, argv: tuple[str, ...], cwd: str, error: type[Exception], sentence: str
):
    with pytest.raises(error, match=sentence), anyio.fail_after(10):
        await launcher.launch(LaunchSpec(argv=argv, cwd=cwd, environment=debuggee_environment()))


async def test_a_program_that_cannot_be_held_does_not_run_on():
    async with PipedLauncher(RefusingHold) as launcher:
        with anyio.fail_after(10), pytest.raises(EngineError, match="refused to start a process"):
            await launcher.launch(python("import time; time.sleep(600)"))
        assert psutil.Process().children() == []


async def test_kill_leaves_nobody_and_a_waiting_receive_ends_with_the_process(launcher: PipedLauncher):
    process = await launcher.launch(python(FAMILY))
    closed = anyio.Event()
    pids: list[int] = []

    async def listen() -> None:
        with pytest.raises((anyio.EndOfStream, anyio.ClosedResourceError)):
            await process.stderr.receive()
        closed.set()

    with anyio.fail_after(10):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(listen)
            pids.extend(await read_pids(process, 2))
            assert all(lives(pid) for pid in pids)
            await process.aclose()
    assert closed.is_set()
    assert not any(lives(pid) for pid in pids)
    await process.aclose()


async def test_leaving_the_launcher_kills_what_still_runs():
    async with PipedLauncher(GroupHold) as launcher:
        process = await launcher.launch(python(FAMILY))
        with anyio.fail_after(10):
            pids = await read_pids(process, 2)
    assert not any(lives(pid) for pid in pids)


async def test_cancelling_a_launch_or_a_wait_leaves_nothing_undone(launcher: PipedLauncher):
    with anyio.move_on_after(0.2) as scope:
        await launcher.launch(python("import time; time.sleep(600)", wants_channel=True))
    assert scope.cancelled_caught
    assert psutil.Process().children() == []
    process = await launcher.launch(python("input(); raise SystemExit(3)"))
    with anyio.move_on_after(0.05):
        await process.wait()
    with anyio.fail_after(10):
        await process.write_stdin(b"\n")
        assert await process.wait() == 3
    await process.aclose()


CONNECTING = """
    import os, socket, sys
    host, port, variable = sys.argv[1].split(":")
    channel = socket.create_connection((host, int(port)))
    channel.sendall(os.environ[variable].encode())
    channel.recv(1)
"""


async def test_twenty_launches_leave_no_descriptor_and_no_process(launcher: PipedLauncher):
    async def once() -> None:
        process = await launcher.launch(python(CONNECTING, "{channel}", wants_channel=True))
        await process.aclose()

    with anyio.fail_after(30):
        await once()
        descriptors = psutil.Process().num_fds()
        for _ in range(20):
            await once()
    assert psutil.Process().num_fds() == descriptors
    assert psutil.Process().children() == []


async def test_many_programs_start_at_once_each_with_its_own_channel(launcher: PipedLauncher):
    pids: dict[int, bytes] = {}

    async def once() -> None:
        code = CONNECTING.replace("encode())", "encode() + b'%d' % os.getpid())")
        process = await launcher.launch(python(code, "{channel}", wants_channel=True))
        assert process.channel is not None
        pids[process.pid] = await process.channel.receive()

    with anyio.fail_after(30):
        async with anyio.create_task_group() as tasks:
            for _ in range(10):
                tasks.start_soon(once)
    assert len(pids) == 10
    assert all(said == b"%d" % pid for pid, said in pids.items())


SOURCE = """
    import os

    secrets = [name for name in os.environ if name.startswith("MCP_PDB")]
    answer = input()
    print("got", answer, secrets)
    raise ValueError("here")
"""


@asynccontextmanager
async def debugging(folder: Path, launcher: Launcher, interpreter: str) -> AsyncGenerator[Debugging]:
    options = replace(ALL_TOOLS, python=interpreter)
    with anyio.fail_after(60):
        async with open_debugger(launcher=launcher, options=options) as client:
            yield Debugging(client, folder)


@pytest.mark.parametrize("version", ["3.8", "3.11", "3.13"])
async def test_a_whole_session_of_the_pdb_engine_goes_over_the_loopback_channel(
    launcher: PipedLauncher, tmp_path: Path, version: str
):
    async with debugging(tmp_path, launcher, interpreter_of(version)) as program:
        assert "stopped at the start" in await program.start(SOURCE)
        await program.done("add_breakpoint", at="program.py:5")
        await program.done("send_input", text="something\n")
        assert "breakpoint 1: program.py:5" in await program.done("continue_execution")
        assert "secrets = []" in await program.done("examine_locals")
        assert "raised: ValueError: here" in await program.done("continue_execution")
        assert "exited with code 1" in await program.done("continue_execution")
        assert "got something []" in await program.done("read_output", cursor=0)
    assert psutil.Process().children() == []


async def test_an_interpreter_that_is_none_is_reported_with_what_it_printed(
    launcher: PipedLauncher, tmp_path: Path
):
    fake = tmp_path / "python"
    fake.write_text("#!/bin/sh\necho no python here\nexit 3\n", encoding="utf-8")
    fake.chmod(0o755)
    async with debugging(tmp_path, launcher, str(fake)) as program:
        program.write("program.py", "pass")
        text = await program.refused("start_debugger", target="program.py", cwd=str(tmp_path))
    assert "no python here; choose another interpreter" in text


async def test_the_command_of_a_sandbox_passes_the_address_on(launcher: PipedLauncher, tmp_path: Path):
    through_env = CommandLauncher(("env", "THROUGH=env"), launcher)
    async with debugging(tmp_path, through_env, sys.executable) as program:
        source = 'import os\nprint("through", os.environ["THROUGH"])\n'
        assert "stopped at the start" in await program.start(source)
        assert "through env" in await program.done("continue_execution")
