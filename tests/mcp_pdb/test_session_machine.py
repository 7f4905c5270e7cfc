"""A session driven at random against the real debugger: it stays in step, in words and within budgets."""

import shutil
import sys
import tempfile
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import mcp_types as types
from anyio.from_thread import BlockingPortal, start_blocking_portal
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from mcp.client.client import Client
from mcp_pdb.client import open_debugger
from mcp_pdb.options import ServerOptions

from tests.mcp_pdb.conftest import processes_in, write_program

OPTIONS = ServerOptions(toolset="all", python=sys.executable)
PROGRAM = """
    class Account:
        def __init__(self, owner):
            self.owner = owner
            self.entries = []

        def book(self, amount):
            self.entries.append(amount)
            return sum(self.entries)


    def squares(limit):
        for number in range(limit):
            yield number * number


    def main():
        account = Account("me")
        for amount in squares(4):
            try:
                total = account.book(amount)
                if amount == 4:
                    raise ValueError(amount)
            except ValueError as error:
                print("caught", error)
            finally:
                text = f"{amount}"
        return total


    print(main())
"""
LINES = PROGRAM.count("\n") - 1
PLACES = st.one_of(
    st.integers(1, LINES + 3).map(lambda line: f"program.py:{line}"),
    st.sampled_from(["main", "Account.book", "squares", "nowhere", "program.py~total =", "program.py~sum("]),
)
EXPRESSIONS = st.sampled_from(
    [
        "1 + 1",
        "account.owner",
        "amount",
        "nothing",
        "1/0",
        "x = 3",
        "[a for a in dir()]",
        "locals()",
        "def",
        "total",
    ]
)


@contextmanager
def debugger(portal: BlockingPortal) -> Generator[Client]:
    with portal.wrap_async_context_manager(open_debugger(options=OPTIONS)) as client:
        yield client


class SessionMachine(RuleBasedStateMachine):
    """Calls tools in any order; the model of a session is no more than its state."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = Path(tempfile.mkdtemp(prefix="mcp-pdb-machine-"))
        write_program(self.folder, PROGRAM)
        self.portal_manager = start_blocking_portal()
        self.portal = self.portal_manager.__enter__()
        self.client_manager = debugger(self.portal)
        self.client = self.client_manager.__enter__()
        self.state = "none"
        self.last = ""

    def call(self, tool: str, **arguments: object) -> bool:
        """Call, note the state that the answer claims, and say whether it was a success."""
        result: types.CallToolResult = self.portal.call(self.client.call_tool, tool, arguments)
        (block,) = result.content
        assert isinstance(block, types.TextContent)
        self.last = block.text
        machine: dict[str, Any] = (result.meta or {}).get("mcp-pdb", {})
        self.state = machine.get("state", self.state)
        return not result.is_error

    @initialize(run=st.booleans(), places=st.lists(PLACES, max_size=2))
    def begin(self, run: bool, places: list[str]) -> None:
        self.start(run, places)

    @rule(run=st.booleans(), places=st.lists(PLACES, max_size=2))
    @precondition(lambda self: self.state in ("none", "exited"))
    def start_again(self, run: bool, places: list[str]) -> None:
        self.start(run, places)

    def start(self, run: bool, places: list[str]) -> None:
        if self.state == "exited":
            assert self.call("stop_debugger")
        arguments = {"target": "program.py", "cwd": str(self.folder), "run": run, "breakpoints": places}
        assert self.call("start_debugger", **arguments), self.last
        assert self.state in ("stopped", "exited")

    @rule(tool=st.sampled_from(["step_over", "step_into", "step_out"]), count=st.integers(1, 4))
    def step(self, tool: str, count: int) -> None:
        was = self.state
        assert self.call(tool, count=count) == (was == "stopped"), self.last

    @rule()
    def proceed(self) -> None:
        was = self.state
        assert self.call("continue_execution") == (was == "stopped"), self.last

    @rule(place=PLACES)
    def run_to(self, place: str) -> None:
        was = self.state
        if self.call("run_to", at=place):
            assert was == "stopped"

    @rule(place=PLACES, condition=st.sampled_from([None, "amount > 1", "nope > 1"]), once=st.booleans())
    def set_breakpoint(self, place: str, condition: str | None, once: bool) -> None:
        was = self.state
        if self.call("add_breakpoint", at=place, condition=condition, once=once):
            assert was == "stopped"

    @rule()
    def clear(self) -> None:
        was = self.state
        assert self.call("remove_breakpoint", id="all") == (was != "none") or was == "exited", self.last

    @rule(frame=st.integers(0, 3), name_filter=st.sampled_from([None, "", "a*"]))
    def look(self, frame: int, name_filter: str | None) -> None:
        if self.call("examine_locals", frame=frame, filter=name_filter):
            assert self.state == "stopped"

    @rule(code=EXPRESSIONS, frame=st.integers(0, 1))
    def evaluate(self, code: str, frame: int) -> None:
        if self.call("run_expression", code=code, frame=frame):
            assert self.state == "stopped"

    @rule(path=st.sampled_from(["account", "account.entries[0]", "self", "nothing.x", "account..", "error"]))
    def open(self, path: str) -> None:
        self.call("print_variable", path=path)

    @rule(everything=st.booleans())
    def where(self, everything: bool) -> None:
        was = self.state
        assert self.call("where_am_i", all_threads=everything) == (was != "none"), self.last

    @rule(place=PLACES)
    def trace(self, place: str) -> None:
        self.call("trace_lines", where=place, expressions=["amount"], max_hits=3)

    @rule(command=st.sampled_from(["w", "u", "d", "l", "n", "pp locals()", "b 20", "unt", "help", "", "zzz"]))
    def say_pdb(self, command: str) -> None:
        self.call("pdb_command", command=command)

    @rule(run=st.booleans())
    def restart(self, run: bool) -> None:
        was = self.state
        assert self.call("restart_debugger", run=run) == (was != "none"), self.last

    @rule()
    def list_all(self) -> None:
        was = self.state
        assert self.call("list_breakpoints") == (was != "none"), self.last

    @rule()
    def stop(self) -> None:
        was = self.state
        assert self.call("stop_debugger") == (was != "none"), self.last
        self.state = "none"

    @invariant()
    def no_answer_is_long_or_a_defect(self) -> None:
        assert len(self.last) <= OPTIONS.budgets.hard_cap
        assert "inside the debugger itself" not in self.last
        assert "failed inside the program" not in self.last
        assert "mcp_pdb/debuggee" not in self.last
        assert self.state in ("none", "stopped", "exited")

    def teardown(self) -> None:
        self.client_manager.__exit__(None, None, None)
        self.portal_manager.__exit__(None, None, None)
        assert processes_in(self.folder) == []
        shutil.rmtree(self.folder)


SessionMachine.TestCase.settings = settings(
    max_examples=25,
    stateful_step_count=20,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
)
TestSessionMachine = SessionMachine.TestCase
