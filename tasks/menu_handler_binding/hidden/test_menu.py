import pytest

from editor.menu import Entry, Menu
from editor.page import Page


def test_bold_and_quote_put_their_marks_around_the_text():
    page = Page("day")
    page.menu.press("b", "q")
    assert page.text == "> **day**"


def test_lines_are_numbered_and_quoted():
    page = Page("milk\neggs")
    page.menu.press("n", "q")
    assert page.text == "> 1. milk\n2. eggs"


def test_what_was_pressed_is_kept_by_title():
    page = Page("day")
    page.menu.press("s", "b", "c", "u")
    assert page.menu.pressed == ["Swap case", "Bold", "Clear", "Upper case"]


def test_entries_of_one_command_differ_by_their_arguments():
    said: list[str] = []
    entries = [
        Entry("1", "One", "say", ("uno",)),
        Entry("2", "Two", "say", ("due",)),
        Entry("3", "Three", "hush"),
    ]
    menu = Menu(entries, {"say": said.append, "hush": said.clear})
    menu.press("2", "1")
    assert said == ["due", "uno"]


def test_two_menus_do_not_share_their_keys():
    said: list[str] = []
    hello = Menu([Entry("x", "Hello", "say", ("hello",))], {"say": said.append})
    Menu([Entry("x", "Bye", "say", ("bye",))], {"say": said.append})
    hello.press("x")
    assert said == ["hello"]
    assert hello.lines() == ["[x] Hello"]


def test_keys_before_an_unknown_one_have_had_their_effect():
    page = Page("Day")
    with pytest.raises(KeyError):
        page.menu.press("s", "z", "c")
    assert page.text == "dAY"
