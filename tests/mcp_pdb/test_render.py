"""What a model reads, word for word.

``MCP_PDB_REGENERATE_GOLDEN=1 pytest tests/mcp_pdb/test_render.py`` rewrites
the expected texts in tests/golden; review them as a diff.
"""

import os
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from mcp_pdb.budget import Budgets, Section, clip, clip_line, compose, fit_lines
from mcp_pdb.catalog import tools_of
from mcp_pdb.records import (
    Breakpoint,
    BreakpointVerdict,
    Change,
    EngineFacts,
    Evaluation,
    Exited,
    Frame,
    Location,
    LogRecord,
    RaisedException,
    SourceLine,
    Stopped,
    Target,
    ThreadStack,
    TraceTable,
    Variable,
    VariablePage,
)
from mcp_pdb.render import (
    OutputTail,
    Told,
    View,
    breakpoint_line,
    exit_report,
    start_lines,
    still_running,
    stop_report,
)
from mcp_pdb.render_values import (
    breakpoints_report,
    evaluation_report,
    locals_page,
    output_page,
    stack_report,
    threads_report,
    trace_report,
    value_page,
)

GOLDEN = Path(__file__).parents[1] / "golden"
VIEW = View(
    cwd="/home/me/shop", root="/home/me/shop", tools=frozenset(spec.name for spec in tools_of("default"))
)
ALL = replace(VIEW, tools=frozenset(spec.name for spec in tools_of("all")))
TOTAL = Location(file="/home/me/shop/src/basket.py", line=62, function="Basket.total")
CALLER = Location(file="/home/me/shop/tests/test_basket.py", line=7, function="test_total")
SOURCE = (
    SourceLine(line=60, text="        total = 0"),
    SourceLine(line=61, text="        for line in self.lines:"),
    SourceLine(line=62, text="            total += line.price"),
    SourceLine(line=63, text="        return total"),
    SourceLine(line=64, text=""),
)
STEP = Stopped(
    reason="breakpoint",
    thread="MainThread",
    thread_ident=1,
    location=TOTAL,
    source=SOURCE,
    called_from=CALLER,
    depth=2,
    changes=(
        Change(name="total", old="3", new="5"),
        Change(name="line", old=None, new="Line(price=2)"),
        Change(name="draft", old="None", new=None),
    ),
    breakpoint_ids=(1,),
)
BOUND = Breakpoint(
    id=1, at="src/basket.py:60", file=TOTAL.file, line=62, function="Basket.total", text="total += line.price"
)
DEADLOCK = (
    ThreadStack(
        ident=1,
        name="MainThread",
        frames=(Frame(index=0, location=CALLER, source="worker.join()"),),
        waits_on="the end of thread 'worker-1'",
        is_current=True,
    ),
    ThreadStack(
        ident=2,
        name="worker-1",
        frames=(
            Frame(
                index=0,
                location=Location(file="/usr/lib/python3.11/threading.py", line=5, function="wait"),
                source="",
                is_user=False,
            ),
            Frame(index=1, location=TOTAL, source="with lock_b:", repeated=40),
        ),
        waits_on="a lock held by thread 'worker-2'",
    ),
    ThreadStack(
        ident=4,
        name="Finalizer",
        frames=(Frame(index=0, location=replace(CALLER, file="/usr/lib/x.py"), source="x", is_user=False),),
    ),
    ThreadStack(ident=3, name="Task-7", kind="task", frames=(), waits_on="asyncio.sleep(3600)"),
)


def started() -> str:
    target = Target(kind="pytest", target="tests/test_basket.py::test_total", cwd="/home/me/shop")
    target = replace(target, interpreter_source=".venv of the project")
    facts = EngineFacts(
        engine="pdb",
        interpreter="/home/me/shop/.venv/bin/python",
        python_version="3.11.7",
        pid=4242,
        notes=("pytest-xdist is switched off (-n 0)", "coverage is switched off (--no-cov)"),
    )
    opening = [*start_lines(VIEW, "dbg-Ab3dEf12", target, facts), breakpoint_line(VIEW, BOUND)]
    return stop_report(
        VIEW, replace(STEP, reason="entry", breakpoint_ids=(), changes=()), OutputTail(), opening=opening
    )


def raised() -> str:
    raised_here = RaisedException(
        type="BasketError",
        message="no price for 'apple'",
        origin=Location(
            file="/home/me/shop/.venv/lib/python3.11/site-packages/pricing/api.py", line=9, function="Api.get"
        ),
        chain=("caused by KeyError: 'apple' (in src/prices.py:3 in lookup)",),
    )
    stopped = replace(
        STEP, reason="post_mortem", exception=raised_here, breakpoint_ids=(), can_step=False, changes=()
    )
    return stop_report(ALL, stopped, OutputTail(text="buying apple\nfailed\n", omitted=12_345))


def returned() -> str:
    stopped = replace(
        STEP,
        reason="step",
        returned="discounted() -> 13.5",
        thread="worker-1",
        condition_error="NameError: name 'totl' is not defined",
        logs=(LogRecord(breakpoint_id=2, text="total=3"),),
        notes=("entered Basket.price",),
    )
    return stop_report(VIEW, stopped, OutputTail())


def ended() -> str:
    never = BreakpointVerdict(
        breakpoint=replace(BOUND, id=2, at="src/basket.py:80"),
        hit_count=0,
        explanation="Basket.close was never called; called in that file: Basket.total, Basket.add",
    )
    fired = BreakpointVerdict(breakpoint=BOUND, hit_count=3, explanation=None)
    exited = Exited(
        code=1,
        summary=("1 failed, 3 passed", "failed: tests/test_basket.py::test_total"),
        verdicts=(fired, never),
        logs=(LogRecord(breakpoint_id=3, text="n=1"), LogRecord(breakpoint_id=3, text="n=2")),
    )
    return exit_report(ALL, exited, OutputTail(text="1 failed, 3 passed in 0.02s\n"))


def names() -> str:
    page = VariablePage(
        heading="",
        variables=(
            Variable(name="self", value="Basket(lines=[…2…])", type="shop.Basket", path="self"),
            Variable(name="self.lines", value="2 items: ['a', 'b']", type="list", path="self.lines"),
            Variable(name="total", value="5", type="int", path="total"),
            Variable(name="when", value="2026-11-29", type="datetime.date", path="when"),
            Variable(name="again", value="…", type="list", path="again", same_as="self.lines"),
        ),
        hidden=12,
        total=30,
        next_cursor=5,
    )
    return locals_page(VIEW, page, 0)


def value() -> str:
    page = VariablePage(
        heading="3 items: [Worker('a'), Worker('b'), Worker('c')]",
        variables=(
            Variable(name="[0]", value="Worker('a')", type="Worker", path="pool[0]"),
            Variable(name="[2]", value="", type="Worker", path="pool[2]", same_as="pool[0]"),
        ),
        total=3,
    )
    return value_page(VIEW, page, "pool")


def breakpoints() -> str:
    return breakpoints_report(
        ALL,
        (
            replace(BOUND, moved="line 60 is a comment; the next executable line is 62", hit_count=4),
            replace(BOUND, id=2, condition="total > 3", hits=">=2", once=True, pending=True),
            replace(BOUND, id=3, log=("total", "line.price")),
        ),
    )


def stack() -> str:
    return stack_report(
        VIEW,
        (
            Frame(index=0, location=TOTAL, source="total += line.price", repeated=40),
            Frame(index=1, location=CALLER, source="assert basket.total() == 8"),
        ),
    )


def trace() -> str:
    return trace_report(
        ALL, TraceTable(columns=("n", "total"), rows=(("1", "0"), ("2", "1")), hits=2, finished="exited")
    )


def stepped_on() -> str:
    """The second stop in a frame: what the first one showed is not said again."""
    stepped = replace(
        STEP, reason="step", breakpoint_ids=(), changes=(Change(name="total", old="5", new="7"),)
    )
    told = Told().and_then(replace(stepped, location=replace(TOTAL, line=61)), VIEW)
    return stop_report(VIEW, stepped, OutputTail(), told=told)


TEXTS = {
    "stepped_on": stepped_on,
    "started": started,
    "stopped": lambda: stop_report(VIEW, STEP, OutputTail(text="hello\n")),
    "raised": raised,
    "returned": returned,
    "ended": ended,
    "signalled": lambda: exit_report(VIEW, Exited(code=None, signal="SIGKILL"), OutputTail()),
    "still_running": lambda: still_running(ALL, 20.02, DEADLOCK, OutputTail()),
    "pause_pending": lambda: still_running(ALL, 20.02, DEADLOCK, OutputTail(), pause_pending=True),
    "threads": lambda: threads_report(VIEW, DEADLOCK),
    "locals": names,
    "value": value,
    "breakpoints": breakpoints,
    "stack": stack,
    "trace": trace,
    "evaluated": lambda: evaluation_report(
        VIEW,
        Evaluation(
            value="Line(price=2)", type="shop.Line", changes=(Change(name="total", old="5", new="6"),)
        ),
    ),
    "output": lambda: output_page(ALL, "one\ntwo\n", 8, 0),
}


@pytest.mark.parametrize("name", TEXTS)
def test_a_report_reads_as_agreed(name: str):
    text = TEXTS[name]() + "\n"
    path = GOLDEN / f"{name}.txt"
    if os.environ.get("MCP_PDB_REGENERATE_GOLDEN"):
        path.write_text(text, encoding="utf-8")
    assert text == path.read_text(encoding="utf-8")


def test_every_expected_text_still_has_its_report():
    assert {path.stem for path in GOLDEN.glob("*.txt")} == set(TEXTS)


def test_what_was_told_is_repeated_once_the_frame_was_left_or_has_another_caller():
    inner = replace(STEP, location=replace(TOTAL, function="inner"), depth=3, called_from=TOTAL)
    told = Told().and_then(STEP, VIEW).and_then(inner, VIEW)
    assert told.has_line(STEP)
    assert told.has_caller(inner)
    assert not told.has_caller(replace(inner, called_from=replace(TOTAL, line=63)))
    assert not told.has_line(replace(inner, location=replace(inner.location, line=70)))
    assert not told.and_then(STEP, VIEW).has_line(inner)


@given(st.text(), st.integers(0, 200), st.text(max_size=60))
def test_clipped_text_stays_within_its_limit(text: str, limit: int, rest: str):
    clipped = clip(text, limit, rest)
    assert len(clipped) <= limit
    assert clipped == text or len(text) > limit


@given(st.text(), st.integers(0, 100))
def test_a_clipped_line_is_one_line_within_its_limit(text: str, limit: int):
    line = clip_line(text, limit)
    assert len(line) <= limit
    assert "\n" not in line


@given(st.lists(st.text(max_size=40), max_size=30), st.integers(0, 300))
def test_lines_that_do_not_fit_are_counted(lines: list[str], limit: int):
    fitted = fit_lines(lines, limit, lambda count: f"… {count} more")
    assert len("\n".join(fitted)) <= limit
    if fitted and fitted != lines:
        assert fitted == [*lines[: len(fitted) - 1], f"… {len(lines) - len(fitted) + 1} more"]


@given(
    st.lists(
        st.builds(
            Section,
            lines=st.lists(st.text(alphabet="abc ", max_size=90), max_size=9).map(tuple),
            limit=st.integers(0, 300),
            keeps_end=st.booleans(),
        ),
        max_size=6,
    ),
    st.integers(0, 700),
    st.text(alphabet="xyz", max_size=50),
)
def test_an_answer_stays_within_its_budget_and_keeps_its_closing_line(
    sections: list[Section], limit: int, closing: str
):
    text = compose(sections, limit, closing)
    assert len(text) <= limit
    if limit > len(closing):
        assert text.endswith(closing)


VALUES = st.text(max_size=3_000)
CHANGES = st.lists(
    st.builds(Change, name=VALUES, old=st.none() | VALUES, new=st.none() | VALUES), max_size=20
)


@given(CHANGES, VALUES, VALUES, st.lists(VALUES, max_size=5), VALUES)
def test_a_stop_report_stays_within_its_budget_whatever_the_program_holds(
    changes: list[Change], message: str, returned: str, notes: list[str], output: str
):
    stopped = replace(
        STEP,
        changes=tuple(changes),
        returned=returned,
        notes=tuple(notes),
        exception=RaisedException(type=message[:50], message=message, chain=tuple(notes)),
        logs=tuple(LogRecord(breakpoint_id=1, text=note) for note in notes),
        source=(SourceLine(line=62, text=message),),
    )
    text = stop_report(ALL, stopped, OutputTail(text=output, omitted=5))
    assert len(text) <= Budgets().stop
    assert text.startswith("breakpoint 1: src/basket.py:62")
    assert text.endswith("next: step_over, examine_locals, continue_execution")


@given(
    st.lists(st.builds(Variable, name=VALUES, value=VALUES, type=VALUES, path=VALUES), max_size=30), VALUES
)
def test_pages_of_names_and_values_stay_within_their_budgets(variables: list[Variable], heading: str):
    page = VariablePage(heading=heading, variables=tuple(variables), hidden=3, total=99, next_cursor=30)
    assert len(locals_page(VIEW, page, 0)) <= Budgets().locals
    assert len(value_page(VIEW, page, "x")) <= Budgets().value


@given(VALUES, CHANGES, st.none() | VALUES)
def test_an_evaluation_stays_within_its_budget(value: str, changes: list[Change], error: str | None):
    evaluation = Evaluation(value=value, type="X", changes=tuple(changes), error=error)
    assert len(evaluation_report(VIEW, evaluation)) <= Budgets().value


@given(st.integers(0, 10_000), VALUES)
def test_stacks_and_tables_stay_within_their_budgets(count: int, text: str):
    place = Location(file=f"/home/me/shop/{text[:200]}", line=1, function=text[:200])
    frames = tuple(Frame(index=index, location=place, source=text) for index in range(count % 60))
    threads = tuple(ThreadStack(ident=1, name=text, frames=frames, waits_on=text) for _ in range(count % 20))
    rows = tuple((text, text, text) for _ in range(count % 100))
    table = TraceTable(columns=(text, "b", "c"), rows=rows, hits=count, finished="timeout")
    assert len(stack_report(VIEW, frames)) <= Budgets().stack
    assert len(threads_report(VIEW, threads)) <= Budgets().stack
    assert len(still_running(VIEW, 3.0, threads, OutputTail(text=text))) <= Budgets().stop
    assert len(trace_report(VIEW, table)) <= Budgets().trace
