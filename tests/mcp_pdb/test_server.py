"""The server as a client meets it: what is listed, what is refused, what an answer is made of."""

import logging

import mcp_types as types
import pytest
from mcp.shared.exceptions import MCPError
from mcp_pdb.budget import Budgets
from mcp_pdb.catalog import DEFAULT_TOOLS, EXTENDED_TOOLS
from mcp_pdb.guidance import INSTRUCTIONS
from mcp_pdb.options import ServerOptions
from mcp_pdb.records import VariablePage

from tests.mcp_pdb.conftest import LOOP, Connect
from tests.mcp_pdb.scripted_backend import ScriptedBackend, scripted

pytestmark = pytest.mark.anyio

SPECIFIED = """
start_debugger: target args kind engine python cwd breakpoints run on_failure timeout_seconds
add_breakpoint: at condition hits log once session_id
remove_breakpoint: id session_id
continue_execution: timeout_seconds session_id
step_over: count timeout_seconds session_id
step_into: count timeout_seconds session_id
step_out: count timeout_seconds session_id
where_am_i: all_threads session_id
examine_locals: frame filter cursor session_id
print_variable: path frame depth cursor session_id
run_expression: code frame timeout_seconds session_id
stop_debugger: session_id
""".strip().splitlines()


def nothing(_: ScriptedBackend) -> None: ...


@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_both_eras_of_the_protocol_list_the_same_default_tools(connect: Connect, mode: str):
    async with connect(mode=mode, options=ServerOptions()) as debugging:
        tools = (await debugging.client.list_tools()).tools
        assert [f"{tool.name}: {' '.join(tool.input_schema['properties'])}" for tool in tools] == SPECIFIED
        assert debugging.client.instructions == INSTRUCTIONS


async def test_the_default_tools_take_less_than_two_thousand_tokens(connect: Connect):
    async with connect(options=ServerOptions()) as debugging:
        listed = await debugging.client.list_tools()
        size = len(listed.model_dump_json(by_alias=True, exclude_none=True))
        assert size / 4 < 2_000


async def test_every_tool_says_whether_it_changes_anything(connect: Connect):
    async with connect() as debugging:
        tools = (await debugging.client.list_tools()).tools
        assert [tool.name for tool in tools] == [spec.name for spec in (*DEFAULT_TOOLS, *EXTENDED_TOOLS)]
        hints = {tool.name: tool.annotations or types.ToolAnnotations() for tool in tools}
        assert all(hint.open_world_hint is False for hint in hints.values())
        readers = {name for name, hint in hints.items() if hint.read_only_hint}
        assert readers == {
            "where_am_i",
            "examine_locals",
            "print_variable",
            "read_output",
            "list_sessions",
            "list_breakpoints",
        }
        assert hints["run_expression"].destructive_hint is True
        assert all(tool.output_schema is None for tool in tools)


@pytest.mark.parametrize(
    ("tool", "arguments", "sentence"),
    [
        ("step_ovr", {}, "there is no tool 'step_ovr'; did you mean 'step_over'?"),
        ("step_over", {"cuont": 3}, "step_over has no argument 'cuont'; did you mean 'count'?"),
        (
            "stop_debugger",
            {"xyzzy": 3},
            "stop_debugger has no argument 'xyzzy'; it takes: session_id",
        ),
        ("step_over", {"count": "three"}, 'step_over: count must be a whole number, not "three"'),
        ("step_over", {"count": 0}, "step_over: count must be at least 1"),
        ("step_over", {"count": 501}, "step_over: count can be at most 500"),
        ("step_over", {"count": 1.5}, "step_over: count must be a whole number, not 1.5"),
        ("step_over", {"count": True}, "step_over: count must be a whole number, not true"),
        (
            "where_am_i",
            {"all_threads": "maybe"},
            'where_am_i: all_threads must be true or false, not "maybe"',
        ),
        ("run_expression", {}, "run_expression needs code"),
        ("run_expression", {"code": None}, "run_expression needs code"),
        ("run_expression", {"code": ["1"]}, 'run_expression: code must be text, not ["1"]'),
        (
            "print_variable",
            {"path": {}},
            "print_variable: path must be text, not {}",
        ),
        (
            "start_debugger",
            {"target": "x", "engine": "gdb"},
            "start_debugger: engine must be one of pdb, debugpy, not 'gdb'",
        ),
        (
            "start_debugger",
            {"target": "x", "breakpoints": [{"at": "a.py:1", "conditon": "x"}]},
            "start_debugger: breakpoints has no argument 'conditon'; did you mean 'condition'?",
        ),
        ("start_debugger", {"target": "x", "args": 3}, "start_debugger: args must be a list of texts, not 3"),
    ],
)
async def test_a_wrong_argument_is_refused_in_one_sentence(
    connect: Connect, tool: str, arguments: dict[str, object], sentence: str
):
    async with connect() as debugging:
        assert await debugging.refused(tool, **arguments) == sentence


async def test_what_clients_send_instead_of_numbers_lists_and_nothing_is_accepted(connect: Connect):
    async with connect() as debugging:
        text = await debugging.start(
            LOOP,
            args='["--verbose"]',
            breakpoints='[{"at": "program.py:4", "hits": 2}]',
            run="true",
            timeout_seconds="20",
            engine=None,
        )
        assert "breakpoint 1 at program.py:4 in total_of: total += number [hits 2]" in text
        assert "total = 3" in await debugging.done("examine_locals", frame="0", filter="tot*")


async def test_a_longer_wait_than_clients_stand_is_lowered_not_refused(connect: Connect):
    async with connect(make_backend=scripted(nothing)) as debugging:
        await debugging.start(LOOP, timeout_seconds=600)


async def test_a_defect_of_ours_is_one_sentence_to_the_model_and_a_traceback_in_the_log(
    connect: Connect, caplog: pytest.LogCaptureFixture
):
    def broken(backend: ScriptedBackend) -> None:
        backend.locals_page = RuntimeError("secret detail")

    async with connect(make_backend=scripted(broken)) as debugging:
        await debugging.start(LOOP)
        with caplog.at_level(logging.ERROR):
            text = await debugging.refused("examine_locals")
        assert text.startswith("examine_locals failed inside the debugger itself;")
        assert "secret detail" not in text
        assert "secret detail" in caplog.text


async def test_no_answer_is_longer_than_its_budget_and_says_what_was_cut(connect: Connect):
    page = VariablePage(heading="z" * 100_000, variables=())

    def long_locals(backend: ScriptedBackend) -> None:
        backend.locals_page = page

    async with connect(make_backend=scripted(long_locals)) as debugging:
        await debugging.start(LOOP)
        budgets = Budgets()
        assert len(await debugging.done("examine_locals")) <= budgets.locals
        text = await debugging.done("run_expression", code="x")
        assert len(text) <= budgets.value
        assert "(100,000 characters in all; " in text
        assert len(await debugging.done("pdb_command", command="pp x")) <= budgets.hard_cap


async def test_an_expression_that_raises_is_an_error_and_names_what_is_near(connect: Connect):
    async with connect() as debugging:
        await debugging.start(LOOP, breakpoints=["program.py:4"], run=True)
        assert await debugging.refused("run_expression", code="1/0") == "ZeroDivisionError: division by zero"
        assert "did you mean 'total'?" in await debugging.refused("run_expression", code="totl")
        assert await debugging.done("run_expression", code="total = 40") == "done\nchanged: total: 0 → 40"
        assert await debugging.done("run_expression", code="[total + n for n in numbers]") == "[43, 45, 47]"


async def test_machine_fields_say_where_the_program_is(connect: Connect):
    async with connect() as debugging:
        await debugging.start(LOOP, breakpoints=["program.py:4"], run=True)
        machine = debugging.machine
        assert machine.pop("session_id").startswith("dbg-")
        assert machine == {
            "state": "stopped",
            "reason": "breakpoint",
            "location": {
                "file": str(debugging.folder / "program.py"),
                "line": 4,
                "function": "total_of",
            },
            "breakpoint_ids": [1],
            "breakpoints": [
                {
                    "id": 1,
                    "at": "program.py:4",
                    "file": str(debugging.folder / "program.py"),
                    "line": 4,
                    "is_moved": False,
                }
            ],
        }


async def test_machine_fields_of_an_ended_program_tell_how_often_each_breakpoint_was_hit(connect: Connect):
    async with connect() as debugging:
        await debugging.start(LOOP, breakpoints=["program.py:4"])
        await debugging.done("add_breakpoint", at="program.py:4", condition="total == 'never'")
        for _ in range(6):
            await debugging.done("continue_execution")
            if debugging.machine["state"] == "exited":
                break
        hits = {verdict["id"]: verdict["hit_count"] for verdict in debugging.machine["verdicts"]}
        silent = [verdict["id"] for verdict in debugging.machine["verdicts"] if verdict["explanation"]]
        assert debugging.machine["exit_code"] == 0
        assert hits[2] == 0
        assert hits[1] > 0
        assert silent == [2]


async def test_the_prompt_teaches_with_the_names_of_listed_tools(connect: Connect):
    async with connect(options=ServerOptions()) as debugging:
        assert [prompt.name for prompt in (await debugging.client.list_prompts()).prompts] == [
            "debug_failing_test"
        ]
        prompt = await debugging.client.get_prompt("debug_failing_test", {"test": "tests/test_x.py::test_y"})
        content = prompt.messages[0].content
        assert isinstance(content, types.TextContent)
        assert "start_debugger(target='tests/test_x.py::test_y', run=true)" in content.text
        with pytest.raises(MCPError, match="needs the argument test"):
            await debugging.client.get_prompt("debug_failing_test", {})
        with pytest.raises(MCPError, match="there is no prompt 'other'"):
            await debugging.client.get_prompt("other", {})


async def test_answers_name_only_tools_that_the_model_has(connect: Connect):
    async with connect(options=ServerOptions()) as debugging:
        text = await debugging.start(LOOP, breakpoints=["program.py:4"], run=True)
        assert text.endswith("next: step_over, examine_locals, continue_execution")
        text = await debugging.done("continue_execution", timeout_seconds=50)
        await debugging.done("remove_breakpoint", id="all")
        text = await debugging.done("continue_execution")
        assert text.endswith("next: start_debugger, stop_debugger")


async def test_pdb_words_move_the_same_session_as_the_tools(connect: Connect):
    async with connect() as debugging:
        await debugging.start(LOOP)
        assert "breakpoint 1 at program.py:4" in await debugging.done(
            "pdb_command", command="b 4, number > 3"
        )
        assert "breakpoint 1: program.py:4" in await debugging.done("pdb_command", command="c")
        assert await debugging.done("pdb_command", command="p number") == "5"
        assert "#1 program.py:9 in <module>" in await debugging.done("pdb_command", command="u")
        assert "stepped: program.py:3" in await debugging.done("pdb_command", command="n")
        await debugging.done("pdb_command", command="cl 1")
        assert "program.py:5 in total_of" in await debugging.done("pdb_command", command="unt 5")
        assert "stop_debugger ends the session" in await debugging.refused("pdb_command", command="q")
        assert "exited with code 0" in await debugging.done("pdb_command", command="c")


async def test_a_trace_tabulates_each_hit_and_says_where_the_program_is_then(connect: Connect):
    async with connect() as debugging:
        await debugging.start(LOOP)
        text = await debugging.done(
            "trace_lines", where="program.py:4", expressions=["number", "total"], max_hits=10
        )
        assert "hit | number | total\n1 | 3 | 0\n2 | 5 | 3\n3 | 7 | 8" in text
        assert "exited with code 0" in text


async def test_a_watch_stops_at_the_line_that_changes_the_value(connect: Connect):
    async with connect() as debugging:
        await debugging.start(LOOP, breakpoints=["program.py:2"], run=True)
        await debugging.done("step_over")
        await debugging.done("watch", expression="total")
        text = await debugging.done("continue_execution")
        assert "a watched value changed" in text
        assert "0 → 3" in text


async def test_log_points_report_without_stopping(connect: Connect):
    async with connect() as debugging:
        text = await debugging.start(
            LOOP, breakpoints=[{"at": "program.py:4", "log": ["number", "total"]}], run=True
        )
        assert "exited with code 0" in text
        assert text.count("log 1: ") == 3


async def test_a_silent_breakpoint_is_explained_when_the_program_has_ended(connect: Connect):
    async with connect() as debugging:
        text = await debugging.start(
            LOOP, breakpoints=[{"at": "program.py:4", "condition": "number > 100"}], run=True
        )
        assert "breakpoint 1 (program.py:4) never fired: " in text
        assert "number > 100" in text
