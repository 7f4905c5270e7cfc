"""What only the debugpy engine does: children, attaching, and living beside pydevd."""

import shutil
import socket
import subprocess
import sys
import textwrap
from collections.abc import AsyncGenerator, Generator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import replace
from pathlib import Path

import anyio
import psutil
import pytest
from mcp_pdb.debugpy_backend import DebugpyBackend
from mcp_pdb.errors import TargetError, UnsupportedError
from mcp_pdb.launcher import Launcher, LaunchSpec, PlainLauncher, Process
from mcp_pdb.records import BreakpointSpec, Exited, Outcome, Stopped, Target

pytestmark = pytest.mark.anyio
WAIT_SECONDS = 40

FAMILY = """
    import os
    import subprocess
    import sys

    def work(who):
        length = len(who)  # work
        return length

    if len(sys.argv) > 1:
        work("second child")
        sys.exit(4)
    pid = os.fork()
    if pid == 0:
        work("first child")
        os._exit(3)
    _, status = os.waitpid(pid, 0)
    print("first child left with", status >> 8, flush=True)
    done = subprocess.run([sys.executable, __file__, "again"])
    print("second child left with", done.returncode, flush=True)
    work("parent")
"""

COUNTING = """
    import time

    def step(number):
        doubled = number * 2  # doubled
        return doubled

    number = 0
    while number < 4000:
        number += step(1) - 1
        time.sleep(0.01)
"""


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@asynccontextmanager
async def debugging(
    target: Target, *, follow_children: bool = True, wrap: type["DeadPort"] | None = None
) -> AsyncGenerator[DebugpyBackend]:
    """The engine with a target launched or attached to."""
    with anyio.fail_after(WAIT_SECONDS):
        async with PlainLauncher() as launcher, anyio.create_task_group() as group:
            backend = DebugpyBackend(group, follow_children=follow_children)
            try:
                await backend.launch(target, wrap(launcher) if wrap is not None else launcher)
                yield backend
            finally:
                with anyio.CancelScope(shield=True):
                    await backend.terminate()
                group.cancel_scope.cancel()


def script(folder: Path, source: str, *, name: str = "program.py", **files: str) -> Target:
    for file, text in {name: source, **files}.items():
        path = folder / file
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(textwrap.dedent(text), encoding="utf-8")
    return Target(
        kind="script",
        target=str(folder / name),
        interpreter=sys.executable,
        cwd=str(folder),
        root=str(folder),
    )


async def stops_and_end(backend: DebugpyBackend) -> tuple[list[Stopped], Exited]:
    """Run from stop to stop until the program ends."""
    stops: list[Stopped] = []
    outcome: Outcome = await backend.wait()
    while isinstance(outcome, Stopped):
        stops.append(outcome)
        await backend.resume("continue")
        outcome = await backend.wait()
    return stops, outcome


async def value(backend: DebugpyBackend, code: str) -> str | None:
    return (await backend.evaluate(code, frame=0, timeout_seconds=5, limit_chars=500)).value


async def test_forked_and_started_children_stop_at_their_parents_breakpoints(tmp_path):
    async with debugging(script(tmp_path, FAMILY)) as backend:
        await backend.set_breakpoint(BreakpointSpec(at="program.py~length = len"))
        await backend.begin(stop_at_entry=False)
        names: list[str | None] = []
        outcome = await backend.wait()
        threads: list[str] = []
        while isinstance(outcome, Stopped):
            threads.append(outcome.thread)
            names.append(await value(backend, "who"))
            await backend.resume("over")
            step = await backend.wait()
            assert isinstance(step, Stopped)
            assert [change.name for change in step.changes] == ["length"]
            await backend.resume("continue")
            outcome = await backend.wait()
        assert names == ["'first child'", "'second child'", "'parent'"]
        assert ["child process" in thread for thread in threads] == [True, True, False]
        assert isinstance(outcome, Exited)
        assert outcome.verdicts[0].hit_count == 3
        output = backend.read_output(0, 5000)[0]
        assert "first child left with 3" in output
        assert "second child left with 4" in output
        assert "Debugger warning" not in output


async def test_children_that_are_not_followed_run_free(tmp_path):
    async with debugging(script(tmp_path, FAMILY), follow_children=False) as backend:
        await backend.set_breakpoint(BreakpointSpec(at="program.py~length = len"))
        await backend.begin(stop_at_entry=False)
        stops, end = await stops_and_end(backend)
        assert [stop.thread for stop in stops] == ["MainThread"]
        assert end.code == 0
        assert "first child left with 3" in backend.read_output(0, 5000)[0]


class DeadPort:
    """A launcher whose programs see a port for children that nobody listens on, as in a sandbox."""

    def __init__(self, launcher: Launcher) -> None:
        self._launcher = launcher

    async def launch(self, spec: LaunchSpec) -> Process:
        with socket.socket() as unused:
            unused.bind(("127.0.0.1", 0))
            port = unused.getsockname()[1]
        return await self._launcher.launch(replace(spec, argv=(*spec.argv[:-2], str(port), spec.argv[-1])))


async def test_children_run_free_where_they_cannot_reach_the_server(tmp_path):
    async with debugging(script(tmp_path, FAMILY), wrap=DeadPort) as backend:
        assert "follow_children" not in backend.facts.can
        await backend.set_breakpoint(BreakpointSpec(at="program.py~length = len"))
        await backend.begin(stop_at_entry=False)
        stops, end = await stops_and_end(backend)
        assert len(stops) == 1
        assert end.code == 0


async def test_a_followed_child_dies_with_its_session(tmp_path):
    source = """
        import os
        import time

        if os.fork() == 0:
            os.setsid()
            time.sleep(600)  # asleep
        time.sleep(600)
    """
    async with debugging(script(tmp_path, source)) as backend:
        await backend.set_breakpoint(BreakpointSpec(at="program.py~time.sleep(600)  # asleep"))
        await backend.begin(stop_at_entry=False)
        assert isinstance(await backend.wait(), Stopped)
        family = psutil.Process(backend.facts.pid).children(recursive=True)
        assert len(family) == 1
        await backend.terminate()
        assert not psutil.pid_exists(family[0].pid)


@contextmanager
def running(folder: Path, source: str, *arguments: str) -> Generator[subprocess.Popen[str]]:
    """A program that was started by somebody else."""
    path = folder / "program.py"
    path.write_text(textwrap.dedent(source), encoding="utf-8")
    command = [sys.executable, "-X", "frozen_modules=off", str(path), *arguments]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
        try:
            yield process
        finally:
            process.kill()


def attached(folder: Path, to: str) -> Target:
    return Target(kind="attach", target=to, cwd=str(folder), root=str(folder))


async def step_once(backend: DebugpyBackend) -> None:
    await backend.set_breakpoint(BreakpointSpec(at="program.py~doubled = number"))
    await backend.begin(stop_at_entry=False)
    stop = await backend.wait()
    assert isinstance(stop, Stopped)
    assert stop.location.function == "step"
    assert await value(backend, "number * 10") == "10"
    await backend.resume("over")
    stop = await backend.wait()
    assert isinstance(stop, Stopped)
    assert [(change.name, change.new) for change in stop.changes] == [("doubled", "2")]
    await backend.resume("out")
    stop = await backend.wait()
    assert isinstance(stop, Stopped)
    assert stop.returned == "step() -> 2"


async def test_a_listening_program_is_attached_to_and_left_running_twice(tmp_path):
    listen = "import debugpy\nprint(debugpy.listen(('127.0.0.1', 0))[1], flush=True)\n"
    with running(tmp_path, listen + textwrap.dedent(COUNTING)) as process:
        assert process.stdout is not None
        port = process.stdout.readline().strip()
        for _ in range(2):
            async with debugging(attached(tmp_path, f"127.0.0.1:{port}")) as backend:
                assert backend.facts.pid == process.pid
                await step_once(backend)
            assert process.poll() is None


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("gdb") is None, reason="attaching by process id needs gdb")
async def test_a_running_process_is_attached_to_by_its_id(tmp_path):
    with running(tmp_path, COUNTING) as process:
        async with debugging(attached(tmp_path, str(process.pid))) as backend:
            await step_once(backend)
        assert process.poll() is None
    assert not [other for other in psutil.process_iter() if "debugpy.adapter" in " ".join(_command(other))]


def _command(process: psutil.Process) -> list[str]:
    try:
        return process.cmdline() if process.ppid() == psutil.Process().pid else []
    except psutil.Error:
        return []


@pytest.mark.parametrize(
    ("to", "said"),
    [("127.0.0.1:1", "debugpy.listen"), ("4194000", "no process"), ("nonsense", "neither a process id")],
)
async def test_what_cannot_be_attached_to_is_refused_with_the_way_on(tmp_path, to, said):
    with anyio.fail_after(WAIT_SECONDS):
        async with PlainLauncher() as launcher, anyio.create_task_group() as group:
            with pytest.raises(TargetError, match=said):
                await DebugpyBackend(group).launch(attached(tmp_path, to), launcher)
            group.cancel_scope.cancel()


async def test_a_module_named_like_one_of_pydevds_own_stops_all_the_same(tmp_path):
    files = {"shop/__init__.py": "", "shop/threading.py": "def price(n):\n    return n * 3\n"}
    target = script(tmp_path, "from shop.threading import price\nprint(price(2))\n", **files)
    async with debugging(target) as backend:
        await backend.set_breakpoint(BreakpointSpec(at="shop/threading.py:2"))
        await backend.begin(stop_at_entry=False)
        stop = await backend.wait()
        assert isinstance(stop, Stopped)
        assert stop.location.function == "price"


async def test_all_code_steps_into_the_library_for_one_step_only(tmp_path):
    source = """
        import textwrap

        text = textwrap.dedent("  a")  # here
        again = textwrap.dedent(text)
        print(again)
    """
    async with debugging(script(tmp_path, source)) as backend:
        await backend.set_breakpoint(BreakpointSpec(at="program.py~# here"))
        await backend.begin(stop_at_entry=False)
        await backend.wait()
        await backend.resume("into", all_code=True)
        inside = await backend.wait()
        assert isinstance(inside, Stopped)
        assert inside.location.file.endswith("textwrap.py")
        await backend.resume("out")
        await backend.wait()
        await backend.resume("over")
        await backend.wait()
        await backend.resume("into")
        after = await backend.wait()
        assert isinstance(after, Stopped)
        assert after.location.file.endswith("program.py")


async def test_pydevd_leaves_no_trace_in_what_the_program_and_the_model_see(tmp_path):
    source = """
        import os
        import sys

        def look():
            return sorted(name for name in os.environ if "PYDEVD" in name or "DEBUGPY" in name)

        seen = look()  # look
        paths = [path for path in sys.path if "debugpy" in path or "debuggee" in path]  # paths
        print(seen, paths)
    """
    async with debugging(script(tmp_path, source)) as backend:
        await backend.set_breakpoint(BreakpointSpec(at="program.py~seen = look()"))
        await backend.begin(stop_at_entry=False)
        await backend.wait()
        for _ in range(2):
            await backend.resume("over")
            await backend.wait()
        page = await backend.examine_locals(frame=0, name_filter="", cursor=0, limit_chars=8000)
        assert not [variable.name for variable in page.variables if "pydev" in variable.name]
        _, end = await stops_and_end_from_stop(backend)
        assert end.code == 0
        assert backend.read_output(0, 1000)[0] == "[] []\n"


async def stops_and_end_from_stop(backend: DebugpyBackend) -> tuple[list[Stopped], Exited]:
    await backend.resume("continue")
    return await stops_and_end(backend)


async def test_lines_are_traced_into_a_table(tmp_path):
    source = """
        total = 0
        for number in range(5):
            total += number  # add
        print(total)
    """
    async with debugging(script(tmp_path, source)) as backend:
        await backend.begin(stop_at_entry=True)
        await backend.wait()
        table, outcome = await backend.trace_lines(
            BreakpointSpec(at="program.py~total += number"),
            ("number", "total"),
            max_hits=3,
            timeout_seconds=10,
        )
        assert table.rows == (("0", "0"), ("1", "0"), ("2", "1"))
        assert table.finished == "max_hits"
        assert isinstance(outcome, Stopped)


async def test_a_watch_is_refused_and_names_the_engine_that_can(tmp_path):
    async with debugging(script(tmp_path, "x = 1\n")) as backend:
        with pytest.raises(UnsupportedError, match="engine='pdb'"):
            await backend.watch("x", frame=0, mode="equality")


async def test_threads_that_reach_a_breakpoint_together_stop_one_after_the_other(tmp_path):
    source = """
        import threading
        import time

        ready = threading.Barrier(4)

        def work(number):
            ready.wait()
            for turn in range(3):
                total = number * 10 + turn  # here
            return total

        workers = [threading.Thread(target=work, args=(number,)) for number in range(4)]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
    """
    async with debugging(script(tmp_path, source)) as backend:
        await backend.set_breakpoint(
            BreakpointSpec(at="program.py~total = number", condition="time.sleep(0.02) or True")
        )
        await backend.begin(stop_at_entry=False)
        seen: list[tuple[str | None, str | None]] = []
        outcome = await backend.wait()
        while isinstance(outcome, Stopped):
            seen.append((await value(backend, "number"), await value(backend, "turn")))
            await backend.resume("continue")
            outcome = await backend.wait()
        assert sorted(seen) == [(str(number), str(turn)) for number in range(4) for turn in range(3)]
