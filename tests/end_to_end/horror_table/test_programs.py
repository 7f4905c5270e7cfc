"""Programs that misbehave: what a model is told of them, and what is left of them."""

import anyio
import pytest

from tests.mcp_pdb.conftest import until_gone

pytestmark = pytest.mark.anyio


async def test_a_program_that_reads_stdin_waits_for_what_is_sent_to_it(debugging):
    text = await debugging.start("print('hello', input('name? '))", run=True, timeout_seconds=1)
    assert "still running" in text
    assert "waits on standard input" in text
    note = await debugging.done("send_input", text="Ada")
    assert "does not end with a newline" in note
    await debugging.done("send_input", text="\n")
    text = await debugging.done("continue_execution")
    assert "hello Ada" in text
    assert "exited with code 0" in text


async def test_ten_megabytes_of_output_are_counted_and_readable_in_pieces(debugging):
    source = """
        for number in range(100):
            print(number, "x" * 100_000)
        print("the end")
    """
    text = await debugging.start(source, run=True)
    assert "| the end" in text
    assert "characters before them, read_output shows it" in text
    page = await debugging.done("read_output", cursor=0)
    assert "older characters are no longer kept" in page
    cursor = int(page.rsplit("cursor=", 1)[1].split()[0])
    assert (await debugging.done("read_output", cursor=cursor)) != page
    assert "no output after" in await debugging.done("read_output", cursor=10**12)


async def test_output_without_any_line_end_is_cut(debugging):
    text = await debugging.start("print('y' * 5_000_000, end='')\n1/0\n", run=True)
    assert "ZeroDivisionError" in text


async def test_os_exit_ends_with_its_code_and_leaves_nothing_to_continue(debugging):
    text = await debugging.start("import os\nprint('up', flush=True)\nos._exit(3)\n", run=True)
    assert "exited with code 3" in text
    assert "| up" in text
    assert "has ended" in await debugging.refused("continue_execution")


async def test_os_exit_does_not_call_breakpoints_explained(debugging):
    text = await debugging.start(
        "import os\nif os.getpid() < 0:\n    pass  # never\nos._exit(0)\n",
        breakpoints=["program.py~# never"],
        run=True,
    )
    assert "exited with code 0" in text
    assert "os._exit" in text or "never fired" in text


async def test_a_signal_that_ends_the_program_is_named(debugging):
    await debugging.start("import os, signal\nos.kill(os.getpid(), signal.SIGKILL)\n")
    await debugging.done("step_over")
    text = await debugging.done("step_over")
    assert "ended by SIGKILL" in text


async def test_a_fork_leaves_parent_and_child_running(debugging, engine):
    source = """
        import os

        pid = os.fork()
        if pid == 0:
            print("in the child")  # child
            os._exit(5)
        _, status = os.waitpid(pid, 0)
        print("child left with", status >> 8)  # parent
    """
    text = await debugging.start(source, breakpoints=["program.py~# child", "program.py~# parent"], run=True)
    if engine == "debugpy":
        assert "of child process" in text
        text = await debugging.done("continue_execution")
    assert "program.py:8" in text
    text = await debugging.done("continue_execution")
    assert "child left with 5" in text
    if engine == "pdb":
        assert "this engine does not follow children (engine='debugpy' does)" in text


DEADLOCK = """
    import threading

    left = threading.Lock()
    right = threading.Lock()
    both = threading.Barrier(2)

    def one():
        with left:
            both.wait()
            with right:
                pass

    def two():
        with right:
            both.wait()
            with left:
                pass

    threads = [
        threading.Thread(target=one, name="one", daemon=True),
        threading.Thread(target=two, name="two", daemon=True),
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
"""


async def test_a_deadlock_is_diagnosed_in_one_answer(debugging):
    text = await debugging.start(DEADLOCK, run=True, timeout_seconds=1.5)
    assert "still running" in text
    assert "thread one: waits on lock `right`, held by thread 'two'" in text
    assert "thread two: waits on lock `left`, held by thread 'one'" in text
    assert "thread MainThread: waits on thread 'one' to end" in text
    pending = await debugging.done("pause_execution")
    assert "cannot pause yet" in pending
    assert "stop_debugger" in pending
    assert "closed" in await debugging.done("stop_debugger")


async def test_an_endless_loop_is_stopped_where_it_is(debugging):
    text = await debugging.start("count = 0\nwhile True:\n    count += 1\n", run=True, timeout_seconds=0.5)
    assert "still running" in text
    refused = await debugging.refused("examine_locals")
    assert "has been running for" in refused
    assert "continue_execution" in refused
    assert "paused: program.py:" in await debugging.done("pause_execution")
    assert await debugging.value("count > 0") == "True"
    assert "still running" in await debugging.done("continue_execution", timeout_seconds=0.2)
    await debugging.done("add_breakpoint", at="program.py:3", once=True)
    text = await debugging.done("continue_execution")
    assert "program.py:3" in text
    assert "breakpoint 1" in text


async def test_endless_recursion_is_shown_folded_and_without_our_frames(debugging):
    source = """
        def down(level):
            return down(level + 1)

        down(0)
    """
    text = await debugging.start(source, run=True)
    assert "RecursionError" in text
    assert "in down" in text.splitlines()[2]
    stack = await debugging.done("where_am_i")
    assert "(×9" in stack
    assert "program.py:4 in <module>" in stack
    refused = await debugging.refused("step_over")
    assert "already left this frame" in refused
    text = await debugging.done("continue_execution")
    assert "exited with code 1" in text
    for ours in ("tracing.py", "pydevd"):
        assert ours not in text


async def test_a_program_that_catches_every_interrupt_is_paused_and_ended(debugging):
    source = """
        import time

        while True:
            try:
                time.sleep(0.01)
            except BaseException:
                pass
    """
    await debugging.start(source, run=True, timeout_seconds=0.3)
    assert "paused" in await debugging.done("pause_execution")
    await debugging.done("continue_execution", timeout_seconds=0.2)
    assert "are gone" in await debugging.done("stop_debugger")


async def test_a_trace_function_of_the_program_and_ours_both_work(debugging, engine):
    source = """
        import sys

        seen = []

        def trace(frame, event, arg):
            seen.append(event)
            return trace

        def work(n):
            return n  # work

        sys.settrace(trace)
        work(1)
        sys.settrace(None)
        print("traced", len(seen) > 0)
    """
    text = await debugging.run_to("# work", source)
    if engine == "pdb":
        assert "breakpoint 1: program.py" in text
        text = await debugging.done("continue_execution")
    assert "exited with code 0" in text
    assert "traced True" in text


async def test_a_replaced_stdout_hides_only_what_goes_to_it(debugging):
    source = """
        import io, sys

        keep, sys.stdout = sys.stdout, io.StringIO()
        print("lost")
        sys.stdout = keep
        print("heard")
        sys.stdout = None
    """
    text = await debugging.start(source, run=True)
    assert "| heard" in text
    assert "lost" not in text


async def test_closed_output_streams_do_not_end_the_session(debugging):
    source = """
        import os, sys

        print("before", flush=True)
        sys.stdout.close()
        os.close(2)
        value = 7
        1 / 0
    """
    text = await debugging.start(source, run=True)
    assert "ZeroDivisionError" in text
    assert await debugging.value("value") == "7"
    assert "exited with code" in await debugging.done("continue_execution")


async def test_a_program_that_closes_every_descriptor_still_ends_in_an_answer(debugging):
    source = """
        import os

        os.closerange(3, 256)
        value = 1  # here
        print("done")
    """
    text = await debugging.start(source, breakpoints=["program.py~# here"], run=True, timeout_seconds=10)
    assert "exited with code 0" in text
    assert "| done" in text


async def test_a_changed_directory_changes_no_place(debugging):
    source = """
        import os

        os.chdir("/")

        def f():
            return os.getcwd()  # inside

        f()
    """
    text = await debugging.run_to("# inside", source)
    assert "program.py:6 in f" in text
    assert await debugging.value("os.getcwd()") == "'/'"
    await debugging.done("add_breakpoint", at="program.py:8")
    assert "returned: f() -> '/'" in await debugging.done("step_out")


async def test_a_daemon_dies_with_its_session(debugging):
    source = """
        import os, time

        if os.fork() == 0:
            os.setsid()
            if os.fork() == 0:
                while True:
                    time.sleep(1)
            os._exit(0)
        os.wait()
        print("parent done")
    """
    text = await debugging.start(source, run=True)
    assert "parent done" in text
    await debugging.done("stop_debugger")
    with anyio.fail_after(10):
        await until_gone(debugging.folder)


async def test_a_failing_thread_is_shown_with_its_own_stack(debugging):
    source = """
        import threading

        def work():
            secret = 42
            raise ValueError("in a thread")

        thread = threading.Thread(target=work, name="worker")
        thread.start()
        thread.join()
        print("main goes on")
    """
    text = await debugging.start(source, run=True)
    assert "[thread worker]" in text
    assert "ValueError: in a thread" in text
    assert "secret = 42" in await debugging.done("examine_locals")
    threads = await debugging.done("where_am_i", all_threads=True)
    assert "thread worker (current)" in threads
    assert "program.py:5 in work" in threads
    assert "main goes on" in await debugging.done("continue_execution")


async def test_exit_handlers_and_messages_of_sys_exit_are_shown(debugging):
    text = await debugging.start(
        "import atexit, sys\natexit.register(print, 'goodbye')\nsys.exit('fatal')\n", run=True
    )
    assert "exited with code 1" in text
    assert "| fatal" in text
    assert "| goodbye" in text
