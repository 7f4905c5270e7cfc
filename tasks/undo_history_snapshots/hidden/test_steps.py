import pytest

from weaving.editor import Editor
from weaving.plan import Plan


def new_editor() -> Editor:
    plan = Plan(3, 2)
    plan.describe("w", colour="white")
    plan.describe("g", colour="grey")
    return Editor(plan)


def test_many_rounds_of_undo_and_paint_come_back_to_the_start() -> None:
    editor = new_editor()
    for x in range(3):
        editor.paint(x, 0, "w")
        editor.undo()
    assert editor.plan.picture() == ["...", "..."]
    editor.paint(0, 1, "g")
    assert editor.plan.picture() == ["...", "g.."]
    editor.undo()
    assert editor.plan.used() == {}


def test_dye_after_an_undo_is_taken_back() -> None:
    editor = new_editor()
    editor.dye("w", "cream")
    editor.dye("w", "ivory")
    editor.undo()
    editor.dye("w", "chalk")
    editor.undo()
    assert editor.plan.yarns == {"w": {"colour": "cream"}, "g": {"colour": "grey"}}


def test_new_yarn_after_an_undo_is_taken_back() -> None:
    editor = new_editor()
    editor.repeat(3)
    editor.undo()
    editor.dye("k", "black")
    editor.undo()
    assert sorted(editor.plan.yarns) == ["g", "w"]


def test_paint_after_a_redo_is_taken_back() -> None:
    editor = new_editor()
    editor.stripe(0, "wg")
    editor.undo()
    editor.redo()
    editor.paint(1, 0, "w")
    assert editor.plan.picture() == ["www", "..."]
    editor.undo()
    assert editor.plan.picture() == ["wgw", "..."]


def test_row_added_after_an_undo_is_taken_back() -> None:
    editor = new_editor()
    editor.stripe(0, "g")
    editor.repeat(2)
    editor.undo()
    editor.add_row(0)
    assert editor.plan.picture() == ["...", "ggg", "..."]
    editor.undo()
    assert editor.plan.picture() == ["ggg", "..."]


def test_paint_after_a_group_that_raised_is_taken_back() -> None:
    editor = new_editor()
    editor.paint(0, 0, "w")
    with pytest.raises(IndexError), editor.group("edge"):
        editor.paint(2, 0, "g")
        editor.paint(3, 0, "g")
    editor.paint(1, 1, "g")
    assert editor.plan.picture() == ["w..", ".g."]
    editor.undo()
    assert editor.plan.picture() == ["w..", "..."]


def test_two_groups_that_raised_leave_the_same_plan() -> None:
    editor = new_editor()
    editor.stripe(1, "g")
    for letter in ("w", "g"):
        with pytest.raises(KeyError), editor.group("edge"):
            editor.stripe(0, letter)
            editor.dye("w", "black")
            editor.paint(0, 0, "x")
    assert editor.plan.picture() == ["...", "ggg"]
    assert editor.plan.yarns["w"] == {"colour": "white"}


def test_history_keeps_no_more_steps_than_its_depth() -> None:
    plan = Plan(2, 1)
    editor = Editor(plan, depth=3)
    for times in (2, 3, 4, 5):
        editor.repeat(times)
    assert editor.steps() == ["repeat 3", "repeat 4", "repeat 5"]
    assert [editor.undo(), editor.undo(), editor.undo()] == ["repeat 5", "repeat 4", None]
    assert plan.repeats == 3


def test_swap_after_an_undo_is_taken_back() -> None:
    editor = new_editor()
    editor.stripe(0, "wwg")
    editor.stripe(1, "g")
    editor.undo()
    editor.swap("w", "g")
    assert editor.plan.picture() == ["ggw", "..."]
    editor.undo()
    assert editor.plan.picture() == ["wwg", "..."]
