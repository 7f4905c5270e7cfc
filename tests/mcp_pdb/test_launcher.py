"""Programs on a leash: real processes, and whatever they do, nobody is left."""

import contextlib
import json
import os
import select
import shutil
import signal
import subprocess
import sys
import textwrap
from collections.abc import AsyncIterator, Generator, Iterable
from pathlib import Path

import anyio
import psutil
import pytest
from mcp_pdb import reaper
from mcp_pdb.errors import EngineError, PathError, TargetError
from mcp_pdb.launcher import CommandLauncher, LaunchSpec, PlainLauncher, Process, debuggee_environment

pytestmark = [
    pytest.mark.anyio,
    pytest.mark.skipif(sys.platform != "linux", reason="subreapers and pidfds are Linux's"),
]

DAEMON = """
    import os, sys
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            code = "import os, time; os.write(1, b'%d\\\\n' % os.getpid()); time.sleep(600)"
            os.execve(sys.executable, [sys.executable, "-c", code], {})
        os._exit(0)
    os.wait()
"""
"""Forks twice, starts a session, clears its environment and keeps the pipe of standard output."""

STUBBORN = """
    import os, signal, time
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    os.write(1, b"%d\\n" % os.getpid())
    time.sleep(600)
"""

FORK_BOMB = """
    import os, time
    for _ in range(50):
        if os.fork() == 0:
            os.setsid()
            os.write(1, b"%d\\n" % os.getpid())
            while True:
                time.sleep(600)
    time.sleep(600)
"""


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
async def launcher() -> AsyncIterator[PlainLauncher]:
    async with PlainLauncher() as launcher:
        yield launcher


def python(code: str, *args: str, wants_channel: bool = False, cwd: str = "/") -> LaunchSpec:
    argv = (sys.executable, "-I", "-S", "-c", textwrap.dedent(code), *args)
    return LaunchSpec(argv=argv, cwd=cwd, environment=debuggee_environment(), wants_channel=wants_channel)


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


def alive(pids: Iterable[int]) -> list[int]:
    def lives(pid: int) -> bool:
        with contextlib.suppress(psutil.NoSuchProcess):
            return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
        return False

    return [pid for pid in pids if lives(pid)]


def open_descriptors() -> int:
    return sum(1 for _ in Path("/proc/self/fd").iterdir())


@contextlib.contextmanager
def ends_within(pids: Iterable[int], timeout_seconds: float) -> Generator[None, None, None]:
    """What happens inside must end all of ``pids``, at the latest ``timeout_seconds`` afterwards."""
    with contextlib.ExitStack() as stack:
        handles: dict[int, int] = {}
        for pid in pids:
            with contextlib.suppress(ProcessLookupError):
                handles[os.pidfd_open(pid)] = pid
        for handle in handles:
            stack.callback(os.close, handle)
        yield
        poller = select.poll()
        for handle in handles:
            poller.register(handle, select.POLLIN)
        waiting = dict(handles)
        while waiting:
            ended = poller.poll(timeout_seconds * 1000)
            assert ended, f"still alive: {sorted(waiting.values())}"
            for handle, _ in ended:
                poller.unregister(handle)
                del waiting[handle]


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("pass", 0),
        ("raise SystemExit(7)", 7),
        ("import os; os.kill(os.getpid(), 9)", -signal.SIGKILL),
        ("import os; os.abort()", -signal.SIGABRT),
    ],
)
async def test_wait_gives_the_exit_status_and_a_signal_as_a_negative_number(
    launcher: PlainLauncher, code: str, expected: int
):
    process = await launcher.launch(python(code))
    with anyio.fail_after(10):
        assert await process.wait() == expected
        assert await process.wait() == expected
    assert process.returncode == expected
    await process.aclose()


async def test_the_channel_is_inherited_and_nothing_else_is(launcher: PlainLauncher):
    code = """
        import os, socket, sys
        channel = socket.socket(fileno=int(sys.argv[1]))
        print(sorted(int(name) for name in os.listdir("/proc/self/fd"))[:-1], sys.argv[2], flush=True)
        channel.sendall(channel.recv(5).upper())
    """
    process = await launcher.launch(python(code, "{channel}", "{channel}", wants_channel=True))
    assert process.channel is not None
    with anyio.fail_after(10):
        await process.channel.send(b"hello")
        assert await process.channel.receive() == b"HELLO"
        with pytest.raises(anyio.EndOfStream):
            await process.channel.receive()
        assert await read_all(process) == "[0, 1, 2, 3] {channel}\n"
    await process.aclose()


async def test_standard_input_belongs_to_the_program_and_can_end(launcher: PlainLauncher):
    process = await launcher.launch(python("import sys; print(input(), sys.stdin.read())"))
    with anyio.fail_after(10):
        await process.write_stdin(b"first\nrest")
        await process.close_stdin()
        await process.close_stdin()
        assert await read_all(process) == "first rest\n"
        with pytest.raises(EngineError, match="closed its standard input"):
            await process.write_stdin(b"more")
    await process.aclose()


async def test_standard_output_and_error_are_separate_pipes(launcher: PlainLauncher):
    code = (
        "import os, stat; print([stat.S_ISFIFO(os.fstat(fd).st_mode) for fd in range(3)]); os.write(2, b'no')"
    )
    process = await launcher.launch(python(code))
    with anyio.fail_after(10):
        assert await read_all(process) == "[True, True, True]\n"
        assert await process.stderr.receive() == b"no"
    await process.aclose()


async def test_the_program_starts_with_default_signals_in_a_session_of_its_own(launcher: PlainLauncher):
    code = """
        import os, signal
        odd = [n for n in signal.valid_signals() if signal.getsignal(n) is signal.SIG_IGN]
        print(os.getsid(0) == os.getpid(), odd, signal.pthread_sigmask(signal.SIG_BLOCK, []))
    """
    process = await launcher.launch(python(code))
    with anyio.fail_after(10):
        assert await read_all(process) == "True [<Signals.SIGPIPE: 13>, <Signals.SIGXFSZ: 25>] set()\n"
    await process.aclose()


async def test_the_servers_secrets_are_not_in_the_programs_environment(
    launcher: PlainLauncher, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("MCP_PDB_TOKEN", "hunter2")
    monkeypatch.setenv("OF_THE_USER", "kept")
    environment = debuggee_environment([("ADDED", "1")])
    assert (environment["OF_THE_USER"], environment["ADDED"]) == ("kept", "1")
    process = await launcher.launch(LaunchSpec(argv=("env",), cwd="/", environment=environment))
    with anyio.fail_after(10):
        output = await read_all(process)
    assert "hunter2" not in output
    assert {"OF_THE_USER=kept", "ADDED=1"} <= set(output.split())
    await process.aclose()


@pytest.mark.parametrize(
    ("argv", "cwd", "error", "sentence"),
    [
        (("/nowhere/python",), "/", TargetError, "/nowhere/python cannot be run .No such file"),
        (("/etc/passwd",), "/", TargetError, "Permission denied.*executable"),
        (("true",), "/nowhere", PathError, "working directory /nowhere cannot be entered"),
        (("nul\0byte",), "/", TargetError, "Invalid argument"),
        (("true", "x" * 200_000), "/", TargetError, "Argument list too long.*put it in a file"),
    ],
)
async def test_what_cannot_start_is_said_with_the_way_on(
    launcher: PlainLauncher, argv: tuple[str, ...], cwd: str, error: type[Exception], sentence: str
):
    with pytest.raises(error, match=sentence), anyio.fail_after(10):
        await launcher.launch(LaunchSpec(argv=argv, cwd=cwd, environment=debuggee_environment()))


@pytest.mark.parametrize(("code", "count"), [(DAEMON, 1), (STUBBORN, 1), (FORK_BOMB, 50)])
async def test_kill_leaves_nobody_whatever_the_program_did(launcher: PlainLauncher, code: str, count: int):
    process = await launcher.launch(python(code))
    with anyio.fail_after(20):
        pids = await read_pids(process, count)
        assert alive(pids) == pids
    with anyio.fail_after(1):
        await process.kill()
    assert alive([process.pid, *pids]) == []
    await process.aclose()


async def test_kill_ends_a_stopped_program(launcher: PlainLauncher):
    process = await launcher.launch(python(STUBBORN))
    with anyio.fail_after(10):
        pids = await read_pids(process, 1)
    os.kill(pids[0], signal.SIGSTOP)
    with anyio.fail_after(1):
        await process.kill()
    assert process.returncode == -signal.SIGKILL
    assert alive(pids) == []
    await process.aclose()


async def test_killing_one_program_leaves_the_daemon_of_another_alone(launcher: PlainLauncher):
    first, second = await launcher.launch(python(DAEMON)), await launcher.launch(python(DAEMON))
    with anyio.fail_after(10):
        (kept,) = await read_pids(first, 1)
        (killed,) = await read_pids(second, 1)
    await second.kill()
    assert alive([kept, killed]) == [kept]
    await second.aclose()
    await first.aclose()
    assert alive([kept]) == []


async def test_a_daemon_that_keeps_the_pipe_open_does_not_delay_wait(launcher: PlainLauncher):
    process = await launcher.launch(python(DAEMON))
    with anyio.fail_after(10):
        pids = await read_pids(process, 1)
        assert await process.wait() == 0
    assert alive(pids) == pids
    await process.aclose()
    assert alive(pids) == []


async def test_a_receive_that_waits_ends_when_the_process_is_closed(launcher: PlainLauncher):
    process = await launcher.launch(python(STUBBORN, wants_channel=True))
    assert process.channel is not None
    closed: list[str] = []

    async def listen(name: str, stream: anyio.abc.ByteReceiveStream):
        with contextlib.suppress(anyio.EndOfStream):
            while True:
                await stream.receive()
        closed.append(name)

    with anyio.fail_after(10):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(listen, "channel", process.channel)
            tasks.start_soon(process.wait)
            await read_pids(process, 1)
            await process.kill()
        await process.aclose()
    assert closed == ["channel"]
    with pytest.raises(anyio.ClosedResourceError):
        await process.channel.receive()


async def test_cancelling_a_wait_loses_nothing(launcher: PlainLauncher):
    process = await launcher.launch(python("input(); raise SystemExit(3)"))
    with anyio.move_on_after(0.05) as scope:
        await process.wait()
    assert scope.cancelled_caught
    with anyio.fail_after(10):
        await process.write_stdin(b"\n")
        assert await process.wait() == 3
    await process.aclose()


async def test_a_cancelled_launch_leaves_nothing(launcher: PlainLauncher):
    process = await launcher.launch(python("pass"))
    await process.aclose()
    descriptors = open_descriptors()
    with anyio.CancelScope() as scope:
        scope.cancel()
        await launcher.launch(python(STUBBORN))
    assert scope.cancelled_caught
    assert open_descriptors() == descriptors
    process = await launcher.launch(python(STUBBORN))
    await process.aclose()


async def test_leaving_the_launcher_kills_what_still_runs():
    async with PlainLauncher() as launcher:
        process = await launcher.launch(python(DAEMON))
        with anyio.fail_after(10):
            pids = await read_pids(process, 1)
        descriptors = open_descriptors()
    assert alive(pids) == []
    assert open_descriptors() < descriptors - 4
    await process.aclose()


async def test_a_killed_keeper_takes_its_program_with_it_and_is_reported(launcher: PlainLauncher):
    process = await launcher.launch(python(DAEMON + "\n    import time; time.sleep(600)"))
    with anyio.fail_after(10):
        pids = [process.pid, *await read_pids(process, 1)]
    keeper = psutil.Process(process.pid).ppid()
    with ends_within(pids, 1):
        os.kill(keeper, signal.SIGKILL)
    with anyio.fail_after(10), pytest.raises(EngineError, match=r"was killed.*start a new session"):
        await process.wait()
    await process.aclose()


async def test_a_killed_reaper_harms_no_program_and_is_replaced(launcher: PlainLauncher):
    process = await launcher.launch(python("print(input())"))
    keeper = psutil.Process(process.pid).parent()
    assert keeper is not None
    reaper_pid = keeper.ppid()
    for harmless in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        os.kill(reaper_pid, harmless)
    with ends_within([reaper_pid], 1):
        os.kill(reaper_pid, signal.SIGKILL)
    with anyio.fail_after(10):
        other = await launcher.launch(python("raise SystemExit(5)"))
        assert await other.wait() == 5
        await process.write_stdin(b"still here\n")
        assert await read_all(process) == "still here\n"
        assert await process.wait() == 0
    await process.aclose()
    await other.aclose()


async def test_children_are_found_also_where_the_kernel_does_not_list_them(launcher: PlainLauncher):
    first = await launcher.launch(python(FORK_BOMB))
    with anyio.fail_after(10):
        pids = await read_pids(first, 50)
    keeper = psutil.Process(first.pid).ppid()
    for find in (reaper._children, reaper._children_by_scan):
        assert find(keeper) == {first.pid}
        assert find(first.pid) == set(pids)
        assert find(2**22) == set()
    await first.aclose()


@pytest.fixture
def namespace_prefix() -> tuple[str, ...]:
    prefix = ("unshare", "--user", "--map-root-user", "--pid", "--fork")
    if not shutil.which("unshare") or subprocess.run([*prefix, "true"], check=False).returncode != 0:
        pytest.skip("no user namespaces here")
    return prefix


async def test_whoever_a_namespace_hides_is_killed_too(
    launcher: PlainLauncher, namespace_prefix: tuple[str, ...]
):
    process = await CommandLauncher(namespace_prefix, launcher).launch(python(STUBBORN))
    with anyio.fail_after(10):
        assert await read_pids(process, 1) == [1], "it sees itself as the first process"
    inside = [child.pid for child in psutil.Process(process.pid).children(recursive=True)]
    assert alive(inside) == inside != []
    await process.kill()
    assert alive([process.pid, *inside]) == []
    await process.aclose()


SERVER = """
    import json, os, sys
    import anyio, psutil
    from mcp_pdb.launcher import LaunchSpec, PlainLauncher, debuggee_environment

    async def main():
        async with PlainLauncher() as launcher:
            processes = []
            for code in json.loads(sys.argv[1]):
                spec = LaunchSpec(
                    argv=(sys.executable, "-I", "-S", "-c", code),
                    cwd="/", environment=debuggee_environment(), wants_channel=True,
                )
                processes.append(await launcher.launch(spec))
                count = 50 if "range(50)" in code else 1
                seen = b""
                while seen.count(b"\\n") < count:
                    seen += await processes[-1].stdout.receive()
            print(*(child.pid for child in psutil.Process().children(recursive=True)), flush=True)
            await anyio.sleep_forever()

    anyio.run(main)
"""


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_nobody_outlives_the_server_whatever_signal_ends_it(number: signal.Signals):
    programs = json.dumps([textwrap.dedent(code) for code in (DAEMON, STUBBORN, FORK_BOMB)])
    command = [sys.executable, "-c", textwrap.dedent(SERVER), programs]
    with contextlib.ExitStack() as stack:
        server = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        stack.enter_context(server)
        stack.callback(server.kill)
        assert server.stdout is not None
        pids = [int(word) for word in server.stdout.readline().split()]
        assert len(pids) >= 1 + 3 + 1 + 1 + 51, "reaper, keepers and programs are all seen"
        with ends_within([server.pid, *pids], 1):
            server.send_signal(number)


async def test_a_hundred_launches_leave_no_descriptor_and_no_process(launcher: PlainLauncher):
    async def once():
        process = await launcher.launch(
            LaunchSpec(argv=("true",), cwd="/", environment=debuggee_environment())
        )
        with anyio.fail_after(10):
            await process.wait()
        await process.aclose()

    await once()
    descriptors = open_descriptors()
    for _ in range(100):
        await once()
    assert open_descriptors() == descriptors
    _, *keepers = psutil.Process().children(recursive=True)
    with ends_within([keeper.pid for keeper in keepers], 1):
        pass


async def test_fifty_programs_run_at_once(launcher: PlainLauncher):
    answers: list[int] = []

    async def talk(number: int):
        code = (
            "import socket; c = socket.socket(fileno=3); c.sendall(b'%d' % (int(c.recv(9)) + 1)); c.recv(1)"
        )
        process = await launcher.launch(python(code, wants_channel=True))
        assert process.channel is not None
        await process.channel.send(str(number).encode())
        answers.append(int(await process.channel.receive()))
        await process.aclose()

    with anyio.fail_after(60):
        async with anyio.create_task_group() as tasks:
            for number in range(50):
                tasks.start_soon(talk, number)
    assert sorted(answers) == list(range(1, 51))


@pytest.fixture
def network_less_prefix() -> tuple[str, ...]:
    if shutil.which("unshare") and subprocess.run(["unshare", "-n", "true"], check=False).returncode == 0:
        return ("unshare", "-n")
    return ("env", "HERE={cwd}")


async def test_a_command_launcher_keeps_the_channel_without_any_network(
    launcher: PlainLauncher, tmp_path: Path, network_less_prefix: tuple[str, ...]
):
    code = """
        import os, socket
        channel = socket.socket(fileno=3)
        channel.sendall(" ".join([os.getcwd(), *(name for _, name in socket.if_nameindex())]).encode())
    """
    spec = python(code, wants_channel=True, cwd=str(tmp_path))
    process = await CommandLauncher(network_less_prefix, launcher).launch(spec)
    assert process.channel is not None
    with anyio.fail_after(10):
        answer = (await process.channel.receive()).decode()
        assert await process.wait() == 0
    assert answer.startswith(str(tmp_path))
    if network_less_prefix[0] == "unshare":
        assert answer.split()[1:] == ["lo"]
    await process.aclose()


async def test_a_missing_sandbox_command_is_named(launcher: PlainLauncher):
    with pytest.raises(TargetError, match="no-such-sandbox cannot be run"):
        await CommandLauncher(("no-such-sandbox",), launcher).launch(python("pass"))
