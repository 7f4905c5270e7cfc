import dataclasses
import sys
import threading
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from mcp_pdb.debuggee.deadline import Deadline, Watchdog
from mcp_pdb.debuggee.evaluation import DELETED, evaluate, write_back
from mcp_pdb.debuggee.inspector import describe_locals


def ask(source: str, limit_chars: int = 3000, /, **names: Any):
    return evaluate(source, globals(), names, limit_chars)


def value_of(source: str, **names: Any):
    result, _ = ask(source, **names)
    assert result["error"] is None
    return result["value"]


@pytest.mark.parametrize(
    ("source", "value"),
    [
        ("total + 1", "4"),
        ("(doubled := total * 2) + doubled", "12"),
        ("(lambda n: n + total)(1)", "4"),
        ("[n * total for n in items]", "[3, 6]"),
        ("{n: total for n in items if n < total}", "{1: 3, 2: 3}"),
        ("sum(n for n in items if n < total)", "3"),
        ("[[m + n + total for m in items] for n in items]", "[[5, 6], [6, 7]]"),
        ("max(items, key=lambda n: -n * total)", "1"),
        ("list(map(lambda n: (lambda: n + total)(), items))", "[4, 5]"),
        ("x = total\nx * 2", "6"),
        ("if total:\n    y = 1\nelse:\n    y = 2\ny", "1"),
        ("def deep():\n    def deeper():\n        return total\n    return deeper()\ndeep()", "3"),
        ("class Box:\n    held = total\n    def get(self): return total\nBox().get(), Box.held", "(3, 3)"),
        ("    items[0]  ", "1"),
        ("\n    x = 1\n    x + total\n", "4"),
        ("import json; json.dumps(items)", "'[1, 2]'"),
        ("f'{total:>4}'", "'   3'"),
        ("items", "[1, 2]"),
        ("None", "None"),
        ("__name__[-15:]", "'test_evaluation'"),
    ],
)
def test_expressions_see_the_frame_s_names_at_any_depth(source, value):
    assert value_of(source, total=3, items=[1, 2]).endswith(value)


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("total = 5", {"total": 5}),
        ("total += 1", {"total": 4}),
        ("fresh = total", {"fresh": 3}),
        ("del total", {"total": DELETED}),
        ("(n := 9)", {"n": 9}),
        ("for i in range(3): pass", {"i": 2}),
        ("a, *b = items", {"a": 1, "b": [2]}),
        ("items.append(3)", {}),
        ("total = total", {}),
        ("[n for n in items]", {}),
        ("total = 4\n1 / 0", {"total": 4}),
        ("total + 1", {}),
    ],
)
def test_bindings_hold_what_was_bound_or_deleted_and_nothing_else(source, expected):
    _, bindings = ask(source, total=3, items=[1, 2])
    assert bindings == expected


def test_a_statement_has_no_value():
    result, _ = ask("x = 1")
    assert result == {"value": None, "type": None, "error": None}


def test_none_as_a_value_is_told_from_no_value():
    result, _ = ask("None")
    assert (result["value"], result["type"]) == ("None", "NoneType")


def test_printed_text_goes_to_the_program_s_output(capsys):
    assert value_of("print('shown')") == "None"
    assert capsys.readouterr().out == "shown\n"


def test_module_level_code_uses_the_real_globals():
    namespace: dict[str, Any] = {"__name__": "app", "base": 1}
    evaluate("def grown():\n    return base + 1", namespace, namespace)
    namespace["base"] = 5
    assert namespace["grown"]() == 6


def error_of(source: str, **names: Any) -> str:
    result, _ = ask(source, **names)
    assert result["value"] is None
    return result["error"]


class Pump:
    def __init__(self):
        self.__secret = 1


def raise_deep():
    raise ValueError("deep inside")


@pytest.mark.parametrize(
    ("source", "error"),
    [
        ("1/0", "ZeroDivisionError: division by zero"),
        (
            "totl + 1",
            "NameError: name 'totl' is not defined (did you mean 'total'?; names here: total, items)",
        ),
        ("qqqqqq", "NameError: name 'qqqqqq' is not defined (names here: total, items)"),
        ("1 +", "SyntaxError: invalid syntax: 1 +"),
        ("x = 1\ny = = 2", "SyntaxError: invalid syntax at line 2: y = = 2"),
        ("x = 1\nfor n in items:\n    n / 0", "ZeroDivisionError: division by zero at line 3: n / 0"),
        ("items.apend(1)", "AttributeError: 'list' object has no attribute 'apend' (did you mean 'append'?)"),
        ("raise_deep()", "ValueError: deep inside (raised at test_evaluation.py:"),
        (
            "pump.__secret",
            "AttributeError: 'Pump' object has no attribute '__secret' (did you mean '_Pump__secret'?)",
        ),
        ("super().ask()", "RuntimeError: super(): no arguments (outside its class write super(Class, self))"),
        ("exit(3)", "SystemExit: 3 (the code asked to exit; the program was not ended)"),
        ("raise KeyError", "KeyError"),
        ("yield 1", "SyntaxError: 'yield' outside function: yield 1"),
    ],
)
def test_failures_are_sentences_with_the_way_on(source, error):
    names: dict[str, Any] = {"total": 3, "items": [1, 2]}
    if "pump" in source:
        names["pump"] = Pump()
    assert error_of(source, **names).startswith(error)


@pytest.mark.parametrize("source", ["", "   ", "# a comment", "pass"])
def test_nothing_to_do_is_no_error(source):
    assert ask(source)[0] == {"value": None, "type": None, "error": None}


def test_null_bytes_and_deep_nesting_are_errors_and_not_crashes():
    assert "null bytes" in error_of("a\0b")
    assert error_of("(" * 1000 + ")" * 1000)
    assert error_of("-" * 100_000 + "1")


def test_await_explains_itself():
    assert "a stopped program cannot await" in error_of("await thing", thing=1)


def test_a_program_s_own_control_flow_exceptions_are_reported():
    text = error_of("pytest.fail('not good')")
    assert text.startswith("Failed: not good")


@dataclasses.dataclass
class Point:
    x: Any


class Own:
    def __init__(self, act):
        self.size = 2
        self.act = act

    def __repr__(self):
        return self.act(self)


def test_the_program_s_repr_is_used_where_the_model_asks_for_the_value():
    assert value_of("own", own=Own(lambda self: "mine")) == "mine"


def test_a_repr_written_in_a_code_string_is_used():
    namespace: dict[str, Any] = {}
    exec(compile("class Said:\n    def __repr__(self): return 'mine'", "<code>", "exec"), namespace)
    assert value_of("said", said=namespace["Said"]()) == "mine"


def test_a_generated_repr_gives_way_to_the_safe_summary():
    assert value_of("point", point=Point(Own(lambda self: 1 // 0))).startswith("Point(x=Own(size=2")


def test_a_repr_that_raises_is_reported_with_the_attributes():
    text = value_of("own", own=Own(lambda self: 1 // 0))
    assert text.startswith(
        "<repr raised ZeroDivisionError: integer division or modulo by zero> Own(size=2, act="
    )


def test_a_repr_of_a_megabyte_is_cut():
    text = value_of("own", own=Own(lambda self: "x" * 2**20))
    assert len(text) <= 3000
    assert text.endswith("… (1048576 chars)")


def test_a_repr_with_surrogates_stays_encodable():
    assert value_of("own", own=Own(lambda self: "\ud800")) == "\\ud800"


def test_a_repr_that_returns_no_text_is_reported():
    assert value_of("own", own=Own(lambda self: 5)).startswith(
        "<repr raised TypeError: __repr__ returned non-string"
    )


def test_a_repr_that_mutates_and_prints_runs_once(capsys):
    ran: list[int] = []

    def act(self):
        ran.append(1)
        print("noise")
        return "done"

    assert value_of("own", own=Own(act)) == "done"
    assert ran == [1]
    assert capsys.readouterr().out == "noise\n"


def test_a_repr_that_reenters_the_inspection_works():
    def act(self):
        inner, _ = evaluate("size + 1", {}, {"size": self.size})
        return f"{inner['value']} {describe_locals({'a': 1})['total']}"

    assert value_of("own", own=Own(act)) == "3 1"


def hang(self):
    while True:
        pass


@pytest.mark.parametrize("in_main", [True, False])
def test_a_hanging_repr_ends_at_the_deadline(in_main):
    watchdog = Watchdog(threading.main_thread().ident)
    outcome: list[str] = []

    def run():
        try:
            watchdog.run(lambda: ask("own", own=Own(hang)), 0.2)
        except Deadline:
            outcome.append("deadline")

    if in_main:
        run()
    else:
        thread = threading.Thread(target=run)
        thread.start()
        thread.join(10)
    assert outcome == ["deadline"]


@pytest.mark.parametrize(
    "source",
    [
        "while True: pass",
        "while True:\n    try:\n        x = 1\n    except Exception:\n        pass",
        "[n for n in iter(int, 1)]",
    ],
)
def test_endless_code_ends_at_the_deadline(source):
    watchdog = Watchdog(threading.main_thread().ident)
    with pytest.raises(Deadline):
        watchdog.run(lambda: ask(source), 0.2)


@pytest.mark.parametrize(
    ("source", "end"),
    [
        ("list(range(100_000))", "99999] (100000 items)"),
        ("'x' * 50_000", "(50000 chars)"),
        ("{i: i for i in range(5000)}", "4999: 4999} (5000 keys)"),
        ("10 ** 5000", "<int of about 5001 digits>"),
        ("np.arange(100_000)", "99999]) (100000 values)"),
    ],
)
def test_big_results_are_shown_by_their_ends(source, end):
    result, _ = evaluate(source, {"np": np}, {})
    assert result["value"].endswith(end)
    assert len(result["value"]) <= 3000


@given(text=st.text(max_size=5000), limit=st.integers(min_value=100, max_value=3000))
def test_no_answer_is_longer_than_its_limit(text, limit):
    for source in ("text", "own", "own.missing", "fail()", "1/0", text):
        names = {
            "text": text,
            "own": Own(lambda self: text),
            "fail": lambda: (_ for _ in ()).throw(ValueError(text)),
        }
        result, _ = evaluate(source, {}, names, limit)
        assert len(result["value"] or result["error"] or "") <= limit


def test_locals_of_the_calling_frame_are_rebound():
    cell = total = 1

    def reads():
        return cell

    frame = sys._getframe()
    _, bindings = evaluate(
        "total = 2; cell = 3; fresh = 4", frame.f_globals, frame.f_locals, 3000, frame.f_code
    )
    assert write_back(frame, bindings) == []
    assert (total, cell, reads()) == (2, 3, 3)
    assert frame.f_locals["fresh"] == 4
