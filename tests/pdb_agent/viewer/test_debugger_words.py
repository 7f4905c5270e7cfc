from hypothesis import given
from hypothesis import strategies as st
from pdb_agent.viewer import debugger_words as words
from pdb_agent.viewer.records import Place


def test_changes_on_one_line_and_on_several_are_read():
    text = (
        "stepped: a.py:3 in f\n"
        "-> 3     new: list = []\n"
        "changed: total: 3 → 5; name: 'a; b' → 'c'\n"
        "new: first = Cart(items=[1, 2])\n"
        "  second = 'x; y = 1'\n"
        "gone: old; older\n"
        "| changed: printed: 1 → 2"
    )
    changes = words.changes_in(text)
    assert changes.changed == (("total", "3", "5"), ("name", "'a; b'", "'c'"))
    assert changes.new == (("first", "Cart(items=[1, 2])"), ("second", "'x; y = 1'"))
    assert changes.gone == ("old", "older")


def test_a_place_may_hold_a_class_and_a_thread():
    assert words.place_in("a/b.py:7 in C.f.<locals>.g [thread Worker-1]") == Place(
        path="a/b.py", line=7, function="C.f.<locals>.g"
    )
    assert words.place_in("nothing of the kind") is None


def test_frames_that_repeat_are_one():
    text = "#0 a.py:1 in f (×40) | f()\n#40 a.py:9 in main | f()\n3 frames further out left out"
    assert [(place.line, place.function) for place in words.frames_in(text)] == [(1, "f"), (9, "main")]


def test_names_of_a_page_come_without_its_head_and_foot():
    text = (
        "frame 0:\nself = Cart, 2 attributes:\nself.a = 1\nother is self\n"
        "2 names hidden; filter='' shows them\nnext: step_over"
    )
    assert words.names_in(text) == (("self", "Cart"), ("self.a", "1"), ("other", "self"))


def test_a_condition_may_hold_brackets():
    text = "breakpoint 3 at a.py:4 in f: x = y[0] [if y[0] > [1][0]] [hits 2]\nnext: continue_execution"
    assert words.condition_in(text) == (3, "y[0] > [1][0]")


def test_pytest_summaries_give_passed_and_failed():
    assert words.test_counts("=== 2 failed, 3 passed, 1 error in 0.20s ===") == (3, 3)
    assert words.test_counts("5 passed in 61.00s (0:01:01)") == (5, 0)
    assert words.test_counts("12 lines in 3 files") is None


@given(st.text(alphabet="newchangedgone:;= →#0\n |.py1f[]", max_size=80))
def test_no_text_is_an_error(text: str):
    words.changes_in(text)
    words.names_in(text)
    words.frames_in(text)
    words.table_stops(text, ["a"])
    words.condition_in(text)
    words.test_counts(text)
