"""A session driven at random against what Python itself does: the same lines with the same values.

The model is the trace that ``sys.settrace`` gives of the same program in this
process: for every line that runs, the depth of its frame and that frame's
locals. Each movement has one right end in that trace.
"""

import sys
import tempfile
import types
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from anyio.from_thread import BlockingPortal, start_blocking_portal
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from mcp.client.client import Client
from mcp_pdb.client import open_debugger
from mcp_pdb.options import ServerOptions

pytestmark = [pytest.mark.slow, pytest.mark.timeout(180)]

PROGRAM = """\
def grow(items, amount):
    size = len(items)
    if amount % 2:
        items.append(amount)
    else:
        items = items + [amount, size]
    return items


def total(items):
    result = 0
    for item in items:
        result += item
    return result


def run(limit):
    items = []
    totals = {}
    number = 0
    while number < limit:
        items = grow(items, number)
        try:
            totals[number] = total(items) // (number - 1)
        except ZeroDivisionError:
            totals[number] = None
        number += 1
    return totals


print(run(4))
"""
NAMES = ("items", "amount", "size", "result", "item", "totals", "number", "limit")
LINES = st.integers(1, PROGRAM.count("\n"))
MOVED = {1: 2, 5: 6, 8: 11, 9: 11, 10: 11, 15: 18, 16: 18, 17: 18, 29: 31, 30: 31}
"""Lines where no breakpoint can be: definitions, blank lines, an ``else:``."""
FILE = "program.py"


@dataclass(frozen=True, slots=True)
class Line:
    """One line that ran: in which frame, how deep, and what its names held before it ran."""

    number: int
    frame: int
    depth: int
    values: dict[str, str]


def lines_of_plain_python(source: str) -> list[Line]:
    """What runs, in order, without any debugger."""
    seen: list[Line] = []
    frames: dict[types.FrameType, int] = {}
    code = compile(source, FILE, "exec")

    def depth_of(frame: types.FrameType | None) -> int:
        depth = 0
        while frame is not None and frame.f_code.co_filename == FILE:
            depth, frame = depth + 1, frame.f_back
        return depth

    def trace(frame: types.FrameType, event: str, _arg: object) -> Any:
        if frame.f_code.co_filename != FILE:
            return None
        if event == "line":
            frames.setdefault(frame, len(frames))
            values = {name: repr(frame.f_locals[name]) for name in NAMES if name in frame.f_locals}
            seen.append(Line(frame.f_lineno, frames[frame], depth_of(frame), values))
        return trace

    previous = sys.gettrace()
    sys.settrace(trace)
    try:
        exec(code, {"__name__": "__main__", "print": lambda *_: None})
    finally:
        sys.settrace(previous)
    return seen


TRACE = lines_of_plain_python(PROGRAM)


class SessionMachine(RuleBasedStateMachine):
    """One program, moved and asked at random; ``at`` is where plain Python would be."""

    def __init__(self) -> None:
        super().__init__()
        self.portal, self.client = SHARED[0]
        self.folder = tempfile.TemporaryDirectory(prefix="machine-")
        (Path(self.folder.name) / FILE).write_text(PROGRAM, encoding="utf-8")
        self.session = ""
        self.at: int | None = None
        self.breakpoints: dict[int, int] = {}
        self.state = "none"
        self.text = ""
        self.meta: dict[str, Any] = {}

    def call(self, tool: str, **arguments: object) -> bool:
        """True when the answer is no error."""
        given = {**arguments, "session_id": self.session} if self.session else arguments
        result = self.portal.call(self.client.call_tool, tool, given)
        self.text = "\n".join(block.text for block in result.content if block.type == "text")
        self.meta = (result.meta or {}).get("mcp-pdb", self.meta)
        assert 0 < len(self.text) <= 2_500, self.text
        assert "failed inside" not in self.text
        return not result.is_error

    @initialize()
    def start(self) -> None:
        assert self.call("start_debugger", target=FILE, cwd=self.folder.name)
        self.session = self.meta["session_id"]
        self.at, self.state = 0, "stopped"

    def arrive(self, expected: int | None) -> None:
        """The answer must be the stop at ``expected``, or the end."""
        self.at = expected
        self.state = "stopped" if expected is not None else "exited"
        assert self.meta["state"] == self.state, self.text
        if expected is not None:
            assert self.meta["location"]["line"] == TRACE[expected].number, self.text

    def next_stop(self, wanted: Any = None) -> int | None:
        """The first later line that a breakpoint or ``wanted`` stops at."""
        assert self.at is not None
        for index in range(self.at + 1, len(TRACE)):
            line = TRACE[index]
            if line.number in self.breakpoints or (wanted is not None and wanted(line)):
                return index
        return None

    @precondition(lambda self: self.state == "stopped")
    @rule()
    def step_over(self) -> None:
        depth = TRACE[self.at or 0].depth
        expected = self.next_stop(lambda line: line.depth <= depth)
        assert self.call("step_over")
        self.arrive(expected)

    @precondition(lambda self: self.state == "stopped")
    @rule(count=st.integers(2, 6))
    def step_over_several(self, count: int) -> None:
        origin = self.at
        for _ in range(count):
            assert self.at is not None
            depth = TRACE[self.at].depth
            self.at = self.next_stop(lambda line, depth=depth: line.depth <= depth)
            if self.at is None or TRACE[self.at].number in self.breakpoints:
                break
        expected, self.at = self.at, origin
        assert self.call("step_over", count=count)
        self.arrive(expected)

    @precondition(lambda self: self.state == "stopped")
    @rule(asked=LINES)
    def run_to(self, asked: int) -> None:
        number = MOVED.get(asked, asked)
        expected = self.next_stop(lambda line: line.number == number)
        assert self.call("run_to", at=f"{FILE}:{asked}")
        assert ("moved: " in self.text) == (asked != number)
        self.arrive(expected)

    @precondition(lambda self: self.state == "stopped")
    @rule()
    def step_into(self) -> None:
        expected = self.next_stop(lambda line: True)
        assert self.call("step_into")
        self.arrive(expected)

    @precondition(lambda self: self.state == "stopped")
    @rule()
    def continue_execution(self) -> None:
        expected = self.next_stop()
        assert self.call("continue_execution")
        self.arrive(expected)

    @precondition(lambda self: self.state == "stopped")
    @rule(line=LINES)
    def add_breakpoint(self, line: int) -> None:
        assert self.call("add_breakpoint", at=f"{FILE}:{line}")
        bound = MOVED.get(line, line)
        number = self.text.split()[1]
        assert f"breakpoint {number} at {FILE}:{bound} in" in self.text
        if bound in self.breakpoints:
            assert self.call("remove_breakpoint", id=number)
        else:
            self.breakpoints[bound] = int(number)

    @precondition(lambda self: self.state == "stopped" and self.breakpoints)
    @rule(data=st.data())
    def remove_breakpoint(self, data: st.DataObject) -> None:
        line = data.draw(st.sampled_from(sorted(self.breakpoints)))
        assert self.call("remove_breakpoint", id=str(self.breakpoints.pop(line)))

    @precondition(lambda self: self.state == "stopped")
    @rule()
    def values_are_those_of_plain_python(self) -> None:
        assert self.at is not None
        for name, value in TRACE[self.at].values.items():
            assert self.call("run_expression", code=name)
            assert self.text == value
            assert self.call("print_variable", path=name)
            assert f"{name} = {value}" in self.text

    @precondition(lambda self: self.state == "stopped")
    @rule()
    def locals_are_those_of_plain_python(self) -> None:
        assert self.at is not None
        assert self.call("examine_locals")
        for name, value in TRACE[self.at].values.items():
            assert f"{name} = {value}" in self.text or f"{name} is " in self.text

    @precondition(lambda self: self.state == "stopped")
    @rule(
        code=st.sampled_from(["1 / 0", "nothing_here", "x =", "raise SystemExit", "[n for n in range(3)][9]"])
    )
    def a_failing_expression_changes_nothing(self, code: str) -> None:
        assert not self.call("run_expression", code=code)

    @precondition(lambda self: self.state == "stopped")
    @rule(frame=st.integers(0, 5))
    def callers_have_their_own_values(self, frame: int) -> None:
        assert self.at is not None
        depth = TRACE[self.at].depth
        found = self.call("run_expression", code="number", frame=frame)
        if frame >= depth:
            assert not found
            assert f"There is no frame {frame}" in self.text
        elif (depth, frame) == (3, 1):
            callers = [line for line in TRACE[: self.at] if line.depth == 2]
            assert found
            assert self.text == callers[-1].values["number"]

    @precondition(lambda self: self.state == "exited")
    @rule()
    def an_ended_program_says_so(self) -> None:
        assert not self.call("step_over")
        assert "has ended" in self.text
        assert self.call("where_am_i")
        assert "exited with code 0" in self.text

    @precondition(lambda self: self.state == "exited")
    @rule()
    def restart(self) -> None:
        assert self.call("restart_debugger")
        assert self.call("remove_breakpoint", id="all")
        self.breakpoints.clear()
        self.arrive(0)

    @invariant()
    def the_stack_is_as_deep_as_plain_python_says(self) -> None:
        if self.state != "stopped" or self.at is None:
            return
        assert self.call("where_am_i")
        frames = [line for line in self.text.splitlines() if line.startswith("#")]
        assert len(frames) == TRACE[self.at].depth
        assert f"{FILE}:{TRACE[self.at].number} in " in frames[0]

    def teardown(self) -> None:
        if self.session:
            assert self.call("stop_debugger")
        self.folder.cleanup()


SHARED: list[tuple[BlockingPortal, Client]] = []
"""The one client that every run of the machine talks to: a server starts once."""


@contextmanager
def shared_client() -> Generator[None]:
    options = ServerOptions(toolset="all", python=sys.executable)
    with (
        start_blocking_portal() as portal,
        portal.wrap_async_context_manager(open_debugger(options=options)) as client,
    ):
        SHARED.append((portal, client))
        try:
            yield
        finally:
            SHARED.clear()


def test_a_session_moved_at_random_is_always_where_plain_python_would_be():
    with shared_client():
        SessionMachine.TestCase.settings = settings(
            max_examples=60,
            stateful_step_count=25,
            deadline=None,
            phases=(Phase.generate,),
            suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
        )
        SessionMachine.TestCase("runTest").runTest()
