"""Programs that misbehave, on every engine and every Python."""

import anyio
import anyio.lowlevel
import pytest
from mcp_pdb.errors import UnsupportedError
from mcp_pdb.records import Exited, Stopped, ThreadStack

from .conftest import processes_in

pytestmark = pytest.mark.anyio


async def paused(program):
    """Pause a program that is running already; the stop that follows."""
    assert await program.backend.pause()
    stop = await program.backend.wait()
    assert isinstance(stop, Stopped)
    return stop


async def until_output(program, text: str) -> None:
    while text not in program.output():
        await anyio.lowlevel.checkpoint()


async def test_a_program_that_reads_stdin_gets_only_what_is_sent_to_it(launch):
    source = """
        name = input("name? ")
        print("hello", name)
    """
    async with launch(source) as program:
        await program.backend.begin(stop_at_entry=False)
        if "send_input" not in program.backend.facts.can:
            with pytest.raises(UnsupportedError, match="pdb"):
                await program.backend.send_input("Ada\n")
            return
        await program.backend.send_input("Ada\n")
        end = await program.backend.wait()
        assert isinstance(end, Exited)
        assert "hello Ada" in program.output()


async def test_a_program_that_waits_for_input_is_said_to_wait_for_it(launch):
    async with launch("print('ready', flush=True)\nname = input()\n") as program:
        if "send_input" not in program.backend.facts.can:
            pytest.skip("this engine gives the program no standard input")
        await program.backend.begin(stop_at_entry=False)
        await until_output(program, "ready")
        waits: list[str] = []
        while not any("input" in wait for wait in waits):
            waits = [thread.waits_on or "" for thread in await program.backend.threads()]


async def test_ten_megabytes_of_output_are_bounded_and_counted(launch):
    source = """
        for _ in range(100):
            print("x" * 100_000)
        print("end")
    """
    async with launch(source) as program:
        end = await program.begin()
        assert isinstance(end, Exited)
        text, cursor, omitted = program.backend.read_output(None, 2000)
        assert len(text) <= 2000
        assert text.endswith("end\n")
        assert cursor == 10_000_104
        assert omitted == cursor - len(text)


async def test_os_exit_ends_with_its_code(launch):
    async with launch("import os\nos._exit(3)\n") as program:
        end = await program.begin()
        assert isinstance(end, Exited)
        assert end.code == 3


async def test_a_program_killed_by_a_signal_says_which(launch):
    async with launch("import os, signal\nos.kill(os.getpid(), signal.SIGSEGV)\n") as program:
        end = await program.begin()
        assert isinstance(end, Exited)
        assert end.signal == "SIGSEGV" or end.code not in (0, None)


async def test_a_forked_child_runs_alone_and_the_parent_stays_debugged(launch):
    source = """
        import os

        def after(name):
            return name + " done"  # after

        pid = os.fork()
        if pid == 0:
            after("child")
            os._exit(5)
        _, status = os.waitpid(pid, 0)
        print("child left with", status >> 8)
        after("parent")
    """
    async with launch(source) as program:
        await program.break_at("program.py~return name +")
        stop = await program.begin()
        names = []
        while isinstance(stop, Stopped):
            names.append(await program.value("name"))
            stop = await program.go()
        assert "'parent'" in names
        assert stop.code == 0
        assert "child left with 5" in program.output()


async def test_a_child_of_multiprocessing_ends_and_hangs_nothing(launch):
    source = """
        import multiprocessing

        def work(queue):
            queue.put(42)  # work

        if __name__ == "__main__":
            context = multiprocessing.get_context("spawn")
            queue = context.Queue()
            child = context.Process(target=work, args=(queue,))
            child.start()
            print("got", queue.get(timeout=20))
            child.join()
    """
    async with launch(source) as program:
        outcome = await program.begin()
        while isinstance(outcome, Stopped):
            outcome = await program.go()
        assert outcome.code == 0
        assert "got 42" in program.output()


DEADLOCK = """
    import threading

    left = threading.Lock()
    right = threading.Lock()
    both = threading.Barrier(2)

    def one():
        with left:
            both.wait()
            with right:  # one waits
                pass

    def two():
        with right:
            both.wait()
            with left:  # two waits
                pass

    threads = [threading.Thread(target=one, name="one"), threading.Thread(target=two, name="two")]
    for thread in threads:
        thread.daemon = True
        thread.start()
    print("started", flush=True)
    for thread in threads:
        thread.join()  # joins
"""


async def test_deadlocked_threads_are_all_shown_with_where_they_wait(launch):
    async with launch(DEADLOCK) as program:
        await program.backend.begin(stop_at_entry=False)
        await until_output(program, "started")
        waiting: set[int] = set()
        threads: tuple[ThreadStack, ...] = ()
        wanted = {program.line_of("one waits"), program.line_of("two waits"), program.line_of("joins")}
        while not wanted <= waiting:
            threads = await program.backend.threads()
            waiting = {frame.location.line for thread in threads for frame in thread.frames}
        by_name = {thread.name: thread for thread in threads}
        assert {"one", "two", "MainThread"} <= set(by_name)
        if program.engine == "pdb":
            assert "lock" in (by_name["one"].waits_on or "")
        assert not await program.backend.pause()


async def test_an_endless_loop_is_paused_where_it_is(launch):
    source = """
        count = 0
        print("looping", flush=True)
        while True:
            count += 1  # loop
    """
    async with launch(source) as program:
        await program.backend.begin(stop_at_entry=False)
        await until_output(program, "looping")
        stop = await paused(program)
        assert stop.reason == "pause"
        assert stop.location.line in (program.line_of("loop"), program.line_of("loop") - 1)
        assert int(await program.value("count")) > 0
        await program.backend.resume("continue")
        stop = await paused(program)
        assert stop.reason == "pause"


def aborts_at_the_recursion_limit(program) -> bool:
    """True for the one engine and Python where the interpreter itself gives up under tracing."""
    return program.engine == "debugpy" and program.version < (3, 9)


async def test_endless_recursion_stops_in_the_recursing_function(launch):
    source = """
        def down(level):
            return down(level + 1)  # down

        down(0)
    """
    async with launch(source) as program:
        stop = await program.begin()
        if aborts_at_the_recursion_limit(program):
            assert "recursion limit" in " ".join(stop.summary)
            return
        assert isinstance(stop, Stopped)
        assert stop.exception is not None
        assert stop.exception.type == "RecursionError"
        assert stop.location.function == "down"
        frames = await program.backend.stack()
        assert len(frames) < 20, "equal frames are folded"
        assert max(frame.repeated for frame in frames) > 500
        assert (await program.end()).code == 1


async def test_a_breakpoint_after_a_caught_recursion_error_is_still_hit(launch):
    source = """
        def down(level):
            return down(level + 1)

        try:
            down(0)
        except RecursionError:
            pass

        def later(value):
            return value  # later

        later(1)
    """
    async with launch(source) as program:
        await program.break_at("program.py~return value")
        outcome = await program.begin()
        if aborts_at_the_recursion_limit(program):
            assert "recursion limit" in " ".join(outcome.summary)
        elif program.version < (3, 12) and isinstance(outcome, Exited):
            # Python switches tracing off where a trace function cannot be called; that is said.
            assert "recursion limit" in (outcome.verdicts[0].explanation or "")
        else:
            assert isinstance(outcome, Stopped)
            assert outcome.location.function == "later"


async def test_a_program_that_catches_keyboard_interrupt_is_stopped_for_good(launch):
    source = """
        import time

        print("up", flush=True)
        while True:
            try:
                time.sleep(0.01)
            except KeyboardInterrupt:
                pass
    """
    async with launch(source) as program:
        await program.backend.begin(stop_at_entry=False)
        await until_output(program, "up")
        await program.backend.terminate()
        assert processes_in(program.folder) == []


async def test_a_program_with_a_trace_function_of_its_own_keeps_it_and_still_stops(launch):
    source = """
        import sys

        seen = []

        def trace(frame, event, arg):
            seen.append(frame.f_code.co_name)
            return None

        def work(value):
            return value + 1  # work

        sys.settrace(trace)
        work(1)
        work(2)
        sys.settrace(None)
        print("traced", seen.count("work"))
    """
    async with launch(source) as program:
        await program.break_at("program.py~return value + 1")
        outcome = await program.begin()
        if program.engine == "debugpy" and program.version < (3, 12):
            # There debugpy needs the one trace function of a thread, which the program takes away.
            assert isinstance(outcome, Exited)
            assert "sys.settrace" in (outcome.verdicts[0].explanation or "")
            return
        stop = await program.move("continue")
        assert await program.value("value") == "2"
        assert stop.reason == "breakpoint"
        assert (await program.end()).code == 0
        assert "traced 2" in program.output()


async def test_a_program_that_replaces_stdout_is_debugged_and_heard(launch):
    source = """
        import io
        import sys

        print("before")
        sys.stdout = io.StringIO()
        print("swallowed")
        value = 1  # here
        sys.__stdout__.write("after\\n")
    """
    async with launch(source) as program:
        await program.break_at("program.py~value = 1")
        await program.begin()
        assert "before" in program.output()
        assert (await program.end()).code == 0
        assert "after" in program.output()
        assert "swallowed" not in program.output()


async def test_a_program_that_changes_directory_keeps_its_breakpoints(launch):
    source = """
        import os

        os.mkdir("deeper")
        os.chdir("deeper")

        def work():
            return os.path.basename(os.getcwd())  # work

        work()
    """
    async with launch(source) as program:
        await program.break_at("program.py~return os.path")
        stop = await program.begin()
        assert isinstance(stop, Stopped)
        later = await program.break_at("program.py:2")
        assert later.file.endswith("program.py")
        assert [line.line for line in stop.source] != []


async def test_a_daemon_that_left_its_session_dies_with_the_debuggee(launch):
    source = """
        import os
        import time

        if os.fork() == 0:
            os.setsid()
            if os.fork() == 0:
                while True:
                    time.sleep(0.1)
            os._exit(0)
        time.sleep(0.2)
        print("parent leaves")
    """
    async with launch(source) as program:
        end = await program.begin()
        assert isinstance(end, Exited)
        await program.backend.terminate()
        assert processes_in(program.folder) == []


async def test_nothing_is_left_of_a_stopped_program(launch):
    async with launch(
        """
        import subprocess, sys
        subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
        x = 1  # here
        """
    ) as program:
        await program.break_at("program.py~x = 1")
        await program.begin()
        await program.backend.terminate()
        assert processes_in(program.folder) == []


async def test_a_file_with_a_syntax_error_ends_with_its_place(launch):
    async with launch("x = 1\nif x\n    pass\n") as program:
        end = await program.begin()
        assert isinstance(end, Exited)
        assert end.code == 1
        text = " ".join(end.summary) + program.output()
        assert "program.py" in text
        assert "line 2" in text or ":2" in text
        assert "SyntaxError" in text or "expected ':'" in text or "invalid syntax" in text


async def test_an_import_error_at_collection_is_told_with_file_and_line(launch):
    source = """
        import os
        import no_such_module

        def test_nothing():
            pass
    """
    async with launch(source, kind="pytest") as program:
        end = await program.begin()
        assert isinstance(end, Exited)
        assert end.code not in (0, None)
        text = " ".join(end.summary)
        assert "no_such_module" in text
        assert "test_program.py:3" in text


async def test_a_test_that_does_not_exist_names_the_nearest(launch):
    source = "def test_parsing():\n    pass\n"
    async with launch(source, kind="pytest", target="test_program.py::test_parse") as program:
        end = await program.begin()
        assert isinstance(end, Exited)
        assert "test_parsing" in " ".join(end.summary)


async def test_an_alarm_of_the_program_goes_off_after_the_stop_not_in_it(launch):
    source = """
        import signal

        def ring(number, frame):
            raise TimeoutError("rang")

        signal.signal(signal.SIGALRM, ring)
        try:
            signal.setitimer(signal.ITIMER_REAL, 0.05)
            value = 1  # here
            for _ in range(10_000_000):
                pass
        except TimeoutError as error:
            print("caught", error)
    """
    async with launch(source) as program:
        if program.engine == "debugpy":
            pytest.skip("debugpy lets the handler run inside the stop")
        await program.break_at("program.py~value = 1")
        await program.begin()
        await anyio.sleep(0.2)
        assert await program.value("1 + 1") == "2"
        assert (await program.end()).code == 0
        assert "caught" in program.output()


async def test_the_program_sees_its_own_argv_path_and_main(launch):
    source = """
        import sys
        import __main__

        print(sys.argv[1:], __name__, __main__.__file__ == __file__)
        print(sys.path[0])
    """
    async with launch(source, args=("--flag", "x y")) as program:
        end = await program.begin()
        assert isinstance(end, Exited)
        lines = program.output().splitlines()
        assert lines[0] == "['--flag', 'x y'] __main__ True"
        assert lines[1] == str(program.folder)
