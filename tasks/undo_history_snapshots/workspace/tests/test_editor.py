import pytest

from weaving.editor import Editor
from weaving.plan import Plan


def new_editor() -> Editor:
    plan = Plan(4, 2)
    plan.describe("r", colour="madder")
    plan.describe("b", colour="woad")
    return Editor(plan)


def test_undo_takes_back_one_cell() -> None:
    editor = new_editor()
    editor.paint(0, 0, "r")
    editor.paint(1, 0, "b")
    assert editor.undo() == "paint b"
    assert editor.plan.picture() == ["r...", "...."]


def test_redo_puts_every_step_on_again() -> None:
    editor = new_editor()
    editor.stripe(0, "rb")
    editor.stripe(1, "br")
    editor.undo()
    editor.undo()
    assert editor.plan.picture() == ["....", "...."]
    assert [editor.redo(), editor.redo(), editor.redo()] == ["stripe rb", "stripe br", None]
    assert editor.plan.picture() == ["rbrb", "brbr"]


def test_new_step_ends_what_could_be_put_on_again() -> None:
    editor = new_editor()
    editor.paint(0, 0, "r")
    editor.undo()
    editor.paint(3, 1, "b")
    assert editor.redo() is None
    assert editor.steps() == ["open", "paint b"]


def test_step_made_after_an_undo_is_taken_back_too() -> None:
    editor = new_editor()
    editor.stripe(0, "r")
    editor.stripe(1, "b")
    editor.undo()
    editor.paint(2, 1, "r")
    assert editor.plan.picture() == ["rrrr", "..r."]
    assert editor.undo() == "paint r"
    assert editor.plan.picture() == ["rrrr", "...."]


def test_group_is_one_step() -> None:
    editor = new_editor()
    with editor.group("border"):
        editor.stripe(0, "b")
        editor.stripe(1, "b")
    assert editor.plan.used() == {"b": 8}
    assert editor.undo() == "border"
    assert editor.plan.used() == {}


def test_group_that_raises_leaves_no_trace() -> None:
    editor = new_editor()
    editor.paint(0, 0, "r")
    with pytest.raises(KeyError), editor.group("border"):
        editor.stripe(0, "b")
        editor.paint(0, 1, "g")
    assert editor.plan.picture() == ["r...", "...."]
    assert editor.steps() == ["open", "paint r"]


def test_undo_takes_back_a_dye() -> None:
    editor = new_editor()
    editor.dye("r", "cochineal")
    editor.undo()
    assert editor.plan.yarns["r"] == {"colour": "madder"}
