"""Sessions: states, waiting, and who may do what when. Real programs unless only a script can break them."""

import logging
import os
import signal
from collections.abc import Awaitable, Callable
from pathlib import Path

import anyio
import pytest
from mcp_pdb.records import Change, Location, Stopped
from mcp_pdb.steps import combine_steps, merge_changes

from tests.mcp_pdb.conftest import ASKING, LOOP, Connect, Debugging, processes_in, until_gone
from tests.mcp_pdb.scripted_backend import ScriptedBackend, scripted

pytestmark = pytest.mark.anyio


SPIN = """
    def spin():
        number = 0
        while True:
            number += 1


    spin()
"""


async def test_a_wait_that_runs_out_says_where_the_program_is_and_continue_goes_on_waiting(connect: Connect):
    async with connect() as debugging:
        await debugging.start(ASKING)
        text = await debugging.done("continue_execution", timeout_seconds=0.2)
        assert text.startswith("still running after 0.")
        assert "program.py:2 in ask" in text
        assert debugging.machine["state"] == "running"
        await debugging.done("send_input", text="yes\n")
        text = await debugging.done("continue_execution")
        assert "exited with code 0" in text
        assert "got yes" in text


async def test_a_wait_that_is_cancelled_loses_nothing(connect: Connect):
    async with connect() as debugging:
        await debugging.start(ASKING)
        await debugging.done("add_breakpoint", at="program.py:6")
        with anyio.move_on_after(0.2):
            await debugging.call("continue_execution")
        await debugging.done("send_input", text="yes\n")
        text = await debugging.done("continue_execution")
        assert "breakpoint 1: program.py:6" in text
        assert "'yes'" in await debugging.done("run_expression", code="answer")


async def test_a_stop_that_happens_while_nobody_waits_is_told_to_the_next_one(connect: Connect):
    async with connect() as debugging:
        await debugging.start(ASKING)
        await debugging.done("add_breakpoint", at="program.py:6")
        await debugging.done("continue_execution", timeout_seconds=0)
        await debugging.done("send_input", text="yes\n")
        text = await until(lambda: debugging.call("where_am_i"), "this happened while nobody waited")
        assert text.startswith("breakpoint 1: program.py:6")
        assert (await debugging.done("where_am_i")).startswith("#0 program.py:6")


async def test_going_on_never_runs_past_a_stop_that_nobody_was_told_of(connect: Connect):
    async with connect() as debugging:
        await debugging.start(ASKING)
        await debugging.done("add_breakpoint", at="program.py:6")
        await debugging.done("continue_execution", timeout_seconds=0)
        await debugging.done("send_input", text="yes\n")
        await until(lambda: debugging.call("list_sessions"), "stopped")
        assert "breakpoint 1: program.py:6" in await debugging.done("step_over")
        assert "exited with code 0" in await debugging.done("step_over")


async def test_an_end_that_nobody_was_told_of_is_the_answer_to_going_on(connect: Connect):
    async with connect() as debugging:
        await debugging.start(ASKING)
        await debugging.done("continue_execution", timeout_seconds=0)
        await debugging.done("send_input", text="yes\n")
        await until(lambda: debugging.call("list_sessions"), "exited")
        assert "exited with code 0" in await debugging.done("continue_execution")
        assert "has ended" in await debugging.refused("continue_execution")


async def test_moving_is_answered_busy_at_once_while_somebody_waits_and_looking_is_not(connect: Connect):
    answers: list[str] = []
    async with connect() as debugging, anyio.create_task_group() as group:
        await debugging.start(ASKING)
        group.start_soon(keep, answers, debugging, "continue_execution")
        await until(lambda: debugging.call("where_am_i", all_threads=True), "in ask")
        with anyio.fail_after(1):
            text = await debugging.refused("step_over")
            assert text.startswith("busy: continue_execution has been waiting for 0.")
            assert text.endswith(
                "meanwhile: where_am_i(all_threads=true), pause_execution, add_breakpoint, read_output, "
                "stop_debugger"
            )
            assert "busy: continue_execution" in await debugging.refused("continue_execution")
            assert "busy: continue_execution" in await debugging.refused("examine_locals")
            assert "program.py:6" in await debugging.done("add_breakpoint", at="program.py:6")
            assert "no output" in await debugging.done("read_output", cursor=0)
        await debugging.done("send_input", text="yes\n")
    assert "breakpoint 1: program.py:6" in answers[0]


async def test_a_command_for_a_stopped_program_says_that_it_runs_and_what_to_do(connect: Connect):
    async with connect() as debugging:
        await debugging.start(ASKING)
        await debugging.done("continue_execution", timeout_seconds=0.1)
        text = await debugging.refused("examine_locals")
        assert "has been running for" in text
        assert "where_am_i(all_threads=true)" in text


async def test_pausing_gives_the_one_who_waits_the_same_stop(connect: Connect):
    answers: list[str] = []
    async with connect() as debugging, anyio.create_task_group() as group:
        await debugging.start(SPIN)
        group.start_soon(keep, answers, debugging, "continue_execution")
        await until(lambda: debugging.call("where_am_i"), "running for")
        text = await debugging.done("pause_execution")
        assert text.startswith("paused: program.py:")
        assert "in spin" in text
    assert answers[0].startswith("paused: program.py:")


async def test_a_pause_that_cannot_come_says_what_every_thread_waits_on(connect: Connect):
    blocked = """
        import threading

        lock = threading.Lock()
        lock.acquire()
        lock.acquire()
    """
    async with connect() as debugging:
        await debugging.start(blocked)
        await debugging.done("continue_execution", timeout_seconds=0.2)
        text = await debugging.done("pause_execution")
        assert text.startswith("cannot pause yet: no thread is running Python code")
        assert "program.py:5 in <module> | lock.acquire()" in text


async def test_after_a_failure_stepping_says_why_it_cannot_and_continuing_goes_on(connect: Connect):
    failing = """
        def divide(number):
            return 1 / number


        try:
            divide(0)
        finally:
            print("after")
    """
    async with connect() as debugging:
        text = await debugging.start(failing, run=True)
        assert "raised: ZeroDivisionError: division by zero" in text
        assert "next: examine_locals, where_am_i, run_expression, continue_execution" in text
        for tool in ("step_over", "step_into", "step_out"):
            assert f"{tool} is not possible: the exception has already left" in await debugging.refused(tool)
        assert "number = 0" in await debugging.done("examine_locals")
        assert "exited with code 1" in await debugging.done("continue_execution")


async def test_without_pause_a_breakpoint_set_while_it_runs_stops_an_endless_loop(connect: Connect):
    async with connect(toolset="default") as debugging:
        await debugging.start(SPIN)
        text = await debugging.done("continue_execution", timeout_seconds=0.3)
        assert "add_breakpoint on a line above stops it there" in text
        assert "pause_execution" not in text
        await debugging.done("add_breakpoint", at="program.py:4")
        text = await debugging.done("continue_execution")
        assert "program.py:4 in spin" in text


async def test_stopping_ends_a_wait_and_every_process(connect: Connect):
    answers: list[str] = []
    async with connect() as debugging, anyio.create_task_group() as group:
        await debugging.start(ASKING)
        group.start_soon(keep, answers, debugging, "continue_execution")
        await until(lambda: debugging.call("where_am_i"), "running for")
        text = await debugging.done("stop_debugger")
        assert "its program and everything it started are gone" in text
        assert processes_in(debugging.folder) == []
    assert answers == ["the session was stopped"]


async def test_an_evaluation_that_takes_long_is_busy_for_others_and_ends_with_the_session(connect: Connect):
    answers: list[str] = []
    async with connect() as debugging, anyio.create_task_group() as group:
        await debugging.start(LOOP)
        sleeping: dict[str, object] = {"code": "__import__('time').sleep(40)", "timeout_seconds": 45}
        group.start_soon(keep, answers, debugging, "run_expression", None, sleeping)
        await until(lambda: debugging.call("examine_locals"), "busy: run_expression has not finished")
        assert "program.py:1" in await debugging.done("where_am_i", all_threads=True)
        await debugging.done("stop_debugger")
    assert len(answers) == 1


async def test_a_trace_that_is_cancelled_leaves_the_session_in_step(connect: Connect):
    async with connect() as debugging:
        await debugging.start(SPIN)
        with anyio.move_on_after(0.2):
            await debugging.call("trace_lines", where="program.py:4", expressions=["number"], max_hits=1000)
        if debugging.machine["state"] == "running" or "running" in await debugging.call("where_am_i"):
            await debugging.call("pause_execution")
        assert "number = " in await debugging.done("examine_locals")
        await debugging.done("step_over")


async def test_an_ended_program_stays_readable_until_it_is_stopped(connect: Connect):
    async with connect() as debugging:
        await debugging.start(LOOP, run=True)
        assert debugging.machine == {
            "session_id": debugging.machine["session_id"],
            "state": "exited",
            "exit_code": 0,
            "signal": None,
            "breakpoints": [],
            "verdicts": [],
        }
        assert "exited with code 0" in await debugging.done("where_am_i")
        assert "begin\nend 15" in await debugging.done("read_output", cursor=0)
        assert "has ended" in await debugging.refused("step_over")
        assert "its program had ended before" in await debugging.done("stop_debugger")
        assert "start_debugger opens one" in await debugging.refused("where_am_i")


async def test_several_steps_answer_once_with_what_changed_over_all_of_them(connect: Connect):
    async with connect() as debugging:
        await debugging.start(LOOP, breakpoints=["program.py:4"], run=True)
        await debugging.done("remove_breakpoint", id="all")
        text = await debugging.done("step_over", count=4)
        assert text.startswith("stepped: program.py:4 in total_of")
        assert "total: 0 → 8" in text
        assert "number: 3 → 7" in text


async def test_steps_end_early_at_a_breakpoint_and_say_so(connect: Connect):
    async with connect() as debugging:
        await debugging.start(LOOP, breakpoints=["program.py:4"], run=True)
        text = await debugging.done("step_over", count=10)
        assert text.startswith("breakpoint 1: program.py:4")
        assert "stopped after 2 of 10 steps" in text


async def test_a_breakpoint_that_cannot_be_set_at_the_start_keeps_the_program_at_its_first_line(
    connect: Connect,
):
    async with connect() as debugging:
        text = await debugging.start(LOOP, breakpoints=["program.py:4000", "program.py:4"], run=True)
        assert "breakpoint program.py:4000 was not set:" in text
        assert "stopped at the start instead" in text
        assert debugging.machine["reason"] == "entry"
        assert "breakpoint 1: program.py:4" in await debugging.done("continue_execution")


async def test_a_restart_keeps_breakpoints_and_follows_lines_that_an_edit_moved(connect: Connect):
    async with connect() as debugging:
        await debugging.start(LOOP, breakpoints=["program.py:4"], run=True)
        session_id = debugging.machine["session_id"]
        debugging.write(
            "program.py", '"""A docstring above."""\n\n' + (debugging.folder / "program.py").read_text()
        )
        text = await debugging.done("restart_debugger", run=True)
        assert "breakpoint program.py:4 moved to line 6: the file was edited" in text
        assert "-> 6         total += number" in text
        assert debugging.machine["session_id"] == session_id
        assert processes_in(debugging.folder) != []


async def test_run_to_takes_any_place_and_says_when_the_line_is_not_there(connect: Connect):
    async with connect() as debugging:
        await debugging.start(LOOP)
        assert "program.py:5 in total_of" in await debugging.done("run_to", at="program.py~return total")
        assert "last executable line" in await debugging.refused("run_to", at="400")
        assert "program.py:10" in await debugging.done("run_to", at="10")


async def test_output_comes_with_the_stop_once_and_in_full_from_read_output(connect: Connect):
    chatty = 'for number in range(300):\n    print(f"line {number}")\nprint("last")\nend = 1\n'
    async with connect() as debugging:
        await debugging.start(chatty)
        text = await debugging.done("run_to", at="4")
        assert "| last" in text
        assert "| line 10\n" not in text
        assert "read_output shows it" in text
        assert "last" not in await debugging.done("step_over")
        page = await debugging.done("read_output")
        assert "line 0\nline 1\n" in page
        assert "last" in page


async def test_a_breakpoint_outside_the_allowed_folders_is_refused(connect: Connect, tmp_path: Path):
    async with connect(roots=(str(tmp_path),)) as debugging:
        await debugging.start(LOOP)
        text = await debugging.refused("add_breakpoint", at=f"{anyio.__file__}:1")
        assert "outside the allowed folders" in text
        assert "no breakpoints are set" in await debugging.done("list_breakpoints")


async def test_two_sessions_need_an_id_and_their_answers_carry_it(connect: Connect):
    async with connect() as debugging:
        await debugging.start(LOOP)
        first = debugging.machine["session_id"]
        text = await debugging.start(LOOP)
        assert f"also open: {first}; pass session_id, or stop_debugger what is not needed" in text
        second = debugging.machine["session_id"]
        text = await debugging.refused("step_over")
        assert "2 sessions are open, pass session_id" in text
        assert first in text
        assert second in text
        assert (await debugging.done("step_over", session_id=first)).startswith(f"[{first}] ")
        assert await debugging.done("list_sessions") == "\n".join(
            f"{name}: stopped for 0 s; script {debugging.folder}/program.py" for name in (first, second)
        )
        await debugging.done("stop_debugger", session_id=second)
        assert (await debugging.done("step_over")).startswith("stepped")
        assert f"session {second} is closed" in await debugging.refused("where_am_i", session_id=second)


async def test_a_session_that_nobody_asks_about_expires(connect: Connect):
    async with connect(idle_seconds=0.4) as debugging:
        await debugging.start(LOOP)
        session_id = debugging.machine["session_id"]
        await until_gone(debugging.folder)
        assert "it was idle for 0 s" in await debugging.refused("where_am_i", session_id=session_id)


async def test_too_many_sessions_are_refused_and_an_ended_one_makes_room(connect: Connect):
    async with connect(max_sessions=2) as debugging:
        await debugging.start(LOOP)
        await debugging.start(LOOP)
        text = await debugging.refused("start_debugger", target="program.py", cwd=str(debugging.folder))
        assert "2 sessions are open, which is the most this server allows" in text
        sessions = (await debugging.done("list_sessions")).split("\n")
        await debugging.done("continue_execution", session_id=sessions[0].partition(":")[0])
        await debugging.start(LOOP)


async def test_an_engine_that_breaks_fails_its_own_session_only(
    connect: Connect, caplog: pytest.LogCaptureFixture
):
    def breaking(backend: ScriptedBackend) -> None:
        backend.outcomes.append(RuntimeError("a defect of ours"))

    made: list[ScriptedBackend] = []
    async with connect(make_backend=scripted(breaking, made)) as debugging:
        with caplog.at_level(logging.CRITICAL):
            await debugging.start(LOOP)
            await until(lambda: debugging.call("where_am_i"), "engine broke")
        assert made[0].terminated
        assert "stopped at the start" in await debugging.start(LOOP)
        assert len(made) == 2


async def test_a_program_that_never_connects_is_given_up_and_its_session_is_gone(connect: Connect):
    def hanging(backend: ScriptedBackend) -> None:
        backend.launching = list

    made: list[ScriptedBackend] = []
    async with connect(make_backend=scripted(hanging, made), launch_seconds=0.1) as debugging:
        debugging.write("program.py", LOOP)
        text = await debugging.refused("start_debugger", target="program.py", cwd=str(debugging.folder))
        assert text == "the program did not connect to the debugger within 0 s"
        assert made[0].terminated
        assert "start_debugger opens one" in await debugging.done("list_sessions")


async def test_progress_is_told_while_a_command_waits(connect: Connect):
    told: list[tuple[float, float | None, str | None]] = []

    async def hear(progress: float, total: float | None, message: str | None) -> None:
        told.append((progress, total, message))

    async with connect(mode="legacy") as debugging:
        await debugging.start(ASKING)
        arguments = {"timeout_seconds": 1.6}
        await debugging.client.call_tool("continue_execution", arguments, progress_callback=hear)
        elapsed, total, message = told[0]
        assert 1.4 < elapsed <= 1.6
        assert total is not None
        assert elapsed <= total <= 1.6
        assert message == f"running for {elapsed:.0f} s"


async def test_a_program_killed_where_it_stands_is_told_as_its_end(connect: Connect):
    async with connect() as debugging:
        await debugging.start(LOOP)
        for process in processes_in(debugging.folder):
            os.kill(process, signal.SIGKILL)
        text = await debugging.done("step_over")
        assert text.startswith("the program was ended by SIGKILL")
        assert debugging.machine["signal"] == "SIGKILL"


@pytest.mark.slow
async def test_fifty_sessions_at_once_leave_nothing_behind(connect: Connect):
    answers: list[str] = []
    async with connect(max_sessions=50) as debugging:
        debugging.write("program.py", LOOP)
        async with anyio.create_task_group() as group:
            for _ in range(50):
                group.start_soon(keep, answers, debugging, "start_debugger", "program.py")
        assert ["stopped at the start" in answer for answer in answers] == [True] * 50
        assert len(processes_in(debugging.folder)) >= 50
    assert processes_in(debugging.folder) == []


def test_changes_over_several_stops_keep_the_first_old_and_the_last_new_value():
    first = (Change(name="a", old="1", new="2"), Change(name="b", old=None, new="5"))
    second = (Change(name="a", old="2", new="3"), Change(name="b", old="5", new=None))
    assert merge_changes([first, second]) == (Change(name="a", old="1", new="3"),)


def test_changes_of_another_frame_do_not_count_as_those_of_the_last_one():
    def step(function: str, change: Change) -> Stopped:
        place = Location(file="a.py", line=1, function=function)
        return Stopped(
            reason="step", thread="MainThread", thread_ident=1, location=place, source=(), changes=(change,)
        )

    inner = step("inner", Change(name="x", old="1", new="2"))
    outer = step("outer", Change(name="y", old="3", new="4"))
    assert combine_steps([inner, outer], 2).changes == outer.changes


async def keep(
    answers: list[str],
    debugging: Debugging,
    tool: str,
    target: str | None = None,
    arguments: dict[str, object] | None = None,
) -> None:
    if target is not None:
        arguments = {"target": target, "cwd": str(debugging.folder)}
    result = await debugging.client.call_tool(tool, arguments)
    answers.extend(block.text for block in result.content if block.type == "text")


async def until(ask: Callable[[], Awaitable[str]], expected: str) -> str:
    """Ask until the answer holds ``expected``; the test's own deadline bounds it."""
    while expected not in (text := await ask()):  # noqa: ASYNC110 - what another process does sets no event of ours
        await anyio.sleep(0.01)
    return text
