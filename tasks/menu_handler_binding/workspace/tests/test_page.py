import pytest

from editor.page import Page


def test_the_menu_lists_keys_and_titles():
    assert Page("").menu.lines()[:2] == ["[u] Upper case", "[b] Bold"]


def test_a_key_changes_the_text():
    page = Page("good day")
    page.menu.press("u")
    assert page.text == "GOOD DAY"


def test_several_keys_are_pressed_in_turn():
    page = Page("good day")
    page.menu.press("u", "s")
    assert page.text == "good day"


def test_a_page_can_be_cleared():
    page = Page("good day")
    page.menu.press("c")
    assert page.text == ""
    assert page.menu.pressed == ["Clear"]


def test_an_unknown_key_is_refused():
    with pytest.raises(KeyError):
        Page("").menu.press("z")
