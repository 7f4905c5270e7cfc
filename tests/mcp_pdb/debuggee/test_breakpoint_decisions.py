"""What happens when a breakpoint is reached, and why it never was."""

import sys
from types import FrameType

import pytest
from mcp_pdb.debuggee import breakpoints
from mcp_pdb.debuggee.safe_repr import summarize

PLACE = {"file": "/shop/prices.py", "line": 4, "function": "total", "text": "return amount"}


def made(**spec: object) -> breakpoints.Breakpoint:
    return breakpoints.BreakpointTable().add({"at": "prices.py:4", **spec}, PLACE)


def frame_with(amount: object) -> FrameType:
    return sys._getframe()


def reached(breakpoint: breakpoints.Breakpoint, amount: object = 1) -> object:
    return breakpoints.reached([breakpoint], frame_with(amount), None, [], summarize)


@pytest.mark.parametrize(
    ("text", "hits"),
    [("3", [3]), ("==3", [3]), (">=4", [4, 5, 6]), ("> 4", [5, 6]), ("%2", [2, 4, 6]), (" % 3 ", [3, 6])],
)
def test_a_hit_count_holds_for_its_hits(text, hits):
    holds = breakpoints.parse_hits(text)
    assert [count for count in range(1, 7) if holds(count)] == hits


@pytest.mark.parametrize("text", ["", "x", "0", "-1", "%0", ">=", "1.5", "<3"])
def test_a_hit_count_that_means_nothing_is_refused_with_examples(text):
    with pytest.raises(breakpoints.Rejected, match=r"write '3'"):
        breakpoints.parse_hits(text)


def test_a_function_breakpoint_counts_a_call_once_though_its_line_comes_again():
    table = breakpoints.BreakpointTable()
    breakpoint = table.add({"at": "total"}, {**PLACE, "by_function": True})
    frame = frame_with(1)
    assert breakpoints.reached([breakpoint], frame, "total", [], summarize)
    assert not breakpoints.reached([breakpoint], frame, None, [], summarize)


def test_a_condition_false_each_time_is_explained_with_the_last_value():
    breakpoint = made(condition="amount > 10")
    for amount in (1, 2, 3):
        assert not reached(breakpoint, amount)
    explained = breakpoints.explain(breakpoint, ["total"], 3, summarize)
    assert explained == "reached 3 times, its condition amount > 10 was false each time (last: amount = 3)"


def test_a_condition_that_raises_stops_once_with_its_error():
    breakpoint = made(condition="amount.missing")
    hits = reached(breakpoint)
    assert isinstance(hits, list)
    assert "AttributeError" in str(hits[0].error)
    assert not reached(breakpoint)


def test_a_hit_count_never_met_is_explained():
    breakpoint = made(hits="5")
    reached(breakpoint)
    assert "reached 1 times, which never met hits=5" in (
        breakpoints.explain(breakpoint, ["total"], 1, summarize) or ""
    )


@pytest.mark.parametrize(
    ("functions_run", "calls", "said"),
    [
        (None, 0, "its file was never imported"),
        (["<module>", "tax"], 0, "total was never called (of this file these ran: tax)"),
        (["<module>"], 0, "total was never called (no function of this file ran)"),
        (["<module>", "total"], 4, "total ran 4 times, but never reached this line"),
        (["<module>", "total"], 1, "total ran once, but never reached this line"),
    ],
)
def test_a_breakpoint_never_reached_is_explained(functions_run, calls, said):
    assert breakpoints.explain(made(), functions_run, calls, summarize) == said


def test_an_unknown_number_is_refused_with_those_that_are_set():
    table = breakpoints.BreakpointTable()
    table.add({"at": "prices.py:4"}, PLACE)
    with pytest.raises(breakpoints.Rejected, match="set are: 1"):
        table.remove(7)


def test_hidden_breakpoints_are_not_among_the_models_own():
    table = breakpoints.BreakpointTable()
    table.add({"hidden": True}, PLACE)
    own = table.add({"at": "prices.py:4"}, PLACE)
    assert (own.id, table.visible()) == (1, [own])
