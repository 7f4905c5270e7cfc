"""Calls that should not be made, or not now, or not like this."""

import anyio
import pytest

pytestmark = pytest.mark.anyio

ASKING = "answer = input()\nprint('got', answer)\n"


async def test_a_call_without_any_session_names_the_way_to_one(debugging):
    for tool in ("where_am_i", "step_over", "read_output"):
        assert "start_debugger opens one" in await debugging.refused(tool)
    assert "start_debugger opens one" in await debugging.done("list_sessions")


async def test_an_unknown_session_is_answered_with_those_that_are_open(debugging):
    assert "none is open" in await debugging.refused("where_am_i", session_id="dbg-nothing")
    await debugging.start("x = 1\n")
    own = debugging.machine["session_id"]
    text = await debugging.refused("where_am_i", session_id="dbg-nothing")
    assert own in text
    assert len(await debugging.refused("where_am_i", session_id="s" * 100_000)) < 500


async def test_two_sessions_need_their_names(debugging):
    await debugging.start("x = 1\n")
    first = debugging.machine["session_id"]
    text = await debugging.start("x = 1\n")
    assert f"also open: {first}" in text
    refused = await debugging.refused("where_am_i")
    assert "2 sessions are open, pass session_id" in refused
    assert first in refused
    assert f"[{first}]" in await debugging.done("where_am_i", session_id=first)


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("examine_locals", {"frame": 7}),
        ("run_expression", {"frame": 99, "code": "x"}),
        ("print_variable", {"frame": 3, "path": "x"}),
        ("set_variable", {"frame": 3, "path": "x", "expression": "1"}),
        ("watch", {"frame": 3, "expression": "x"}),
    ],
)
async def test_an_unknown_frame_is_refused_with_the_range(debugging, engine, tool, arguments):
    if (engine, tool) == ("debugpy", "watch"):
        pytest.skip("watches are the pdb engine's")
    await debugging.start("x = 1\ny = 2\n")
    text = await debugging.refused(tool, **arguments)
    assert f"There is no frame {arguments['frame']}; frames go from 0 (innermost) to 0" in text
    assert "where_am_i" in text


@pytest.mark.parametrize(
    ("tool", "arguments", "said"),
    [
        ("examine_local", {}, "did you mean 'examine_locals'?"),
        ("examine_locals", {"frane": 1}, "did you mean 'frame'?"),
        ("examine_locals", {"frame": -1}, "frame must be at least 0"),
        ("step_over", {"count": 0}, "count must be at least 1"),
        ("step_over", {"count": 10**9}, "count can be at most"),
        ("print_variable", {}, "path"),
        ("print_variable", {"path": "x", "depth": 99}, "depth can be at most 4"),
        ("run_expression", {"code": ["x"]}, "code"),
        ("remove_breakpoint", {"id": "77"}, "There is no breakpoint 77"),
        ("remove_breakpoint", {"id": "x" * 50_000}, "id must be"),
        ("start_debugger", {"target": "program.py", "engine": "gdb"}, "engine"),
        ("start_debugger", {"target": "program.py", "kind": "perl"}, "kind"),
        ("start_debugger", {"target": "program.py", "breakpoints": [{"at": "x", "bogus": 1}]}, "bogus"),
    ],
)
async def test_a_wrong_call_is_refused_in_one_sentence(debugging, tool, arguments, said):
    await debugging.start("x = 1\n")
    text = await debugging.refused(tool, **arguments)
    assert said in text
    assert "\n" not in text
    assert "program.py:1" in await debugging.done("where_am_i")


async def test_a_second_command_while_one_runs_is_answered_at_once(debugging):
    await debugging.start(ASKING)
    async with anyio.create_task_group() as group:
        group.start_soon(debugging.client.call_tool, "continue_execution", {"timeout_seconds": 30})
        await anyio.wait_all_tasks_blocked()
        for tool in ("step_over", "continue_execution", "examine_locals"):
            with anyio.fail_after(2):
                text = await debugging.refused(tool)
            assert "busy: continue_execution has been waiting for" in text
            assert "pause_execution" in text
        assert "input" in await debugging.done("where_am_i", all_threads=True)
        await debugging.done("add_breakpoint", at="program.py:2")
        await debugging.done("send_input", text="now\n")
    text = await debugging.done("where_am_i")
    assert "program.py:2" in text
    assert await debugging.value("answer") == "'now'"


async def test_stopping_frees_whoever_waits(debugging):
    await debugging.start(ASKING)
    async with anyio.create_task_group() as group:
        group.start_soon(debugging.client.call_tool, "continue_execution", {"timeout_seconds": 50})
        await anyio.wait_all_tasks_blocked()
        with anyio.fail_after(5):
            assert "closed" in await debugging.done("stop_debugger")
    assert "start_debugger opens one" in await debugging.refused("where_am_i")


async def test_a_wait_that_runs_out_interrupts_nothing(debugging):
    await debugging.start(ASKING)
    for _ in range(2):
        text = await debugging.done("continue_execution", timeout_seconds=0.1)
        assert "nothing was interrupted" in text
    await debugging.done("send_input", text="late\n")
    assert "got late" in await debugging.done("continue_execution")


STRANGE = [
    "\0",
    "\ud800",
    "a" * 5000,
    "²",
    "-1",
    "--",
    "~",
    "~~",
    ":",
    "a.py:",
    "x\ny",
    "\x1b[31m",
    "@",
    "../..",
]


@pytest.mark.parametrize("text", STRANGE)
async def test_a_strange_string_is_answered_wherever_it_is_given(debugging, text):
    await debugging.start("x = [1]\ny = 2\nz = 3\n", breakpoints=["program.py:2"], run=True)
    calls: list[tuple[str, dict[str, object]]] = [
        ("add_breakpoint", {"at": text}),
        ("add_breakpoint", {"at": f"program.py~{text}"}),
        ("add_breakpoint", {"at": "program.py:3", "condition": text}),
        ("add_breakpoint", {"at": "program.py:3", "log": [text]}),
        ("remove_breakpoint", {"id": text}),
        ("examine_locals", {"filter": text}),
        ("print_variable", {"path": text}),
        ("run_expression", {"code": text}),
        ("set_variable", {"path": text, "expression": "1"}),
        ("pdb_command", {"command": f"p {text}"}),
        ("send_input", {"text": text}),
        ("where_am_i", {"session_id": text}),
        ("start_debugger", {"target": text, "cwd": str(debugging.folder / "none")}),
        ("start_debugger", {"target": "program.py", "cwd": f"{debugging.folder}/{text}/none"}),
        ("start_debugger", {"target": "program.py", "cwd": str(debugging.folder), "python": text}),
    ]
    for tool, arguments in calls:
        answer = await debugging.call(tool, **arguments)
        assert "failed inside" not in answer, (tool, arguments)
    assert await debugging.value("x") == "[1]"
