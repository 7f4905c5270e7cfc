from hypothesis import given
from hypothesis import strategies as st
from pdb_agent.viewer.highlight import highlight


def test_keywords_strings_comments_and_names_that_are_defined_are_told_apart():
    [line] = highlight(["def total(x): return f'{x}' + 'a' + 1  # sum"])
    pieces = list(zip(line[::2], line[1::2], strict=True))
    assert ("k", "def") in pieces
    assert ("d", "total") in pieces
    assert ("k", "return") in pieces
    assert ("s", "'a'") in pieces
    assert ("n", "1") in pieces
    assert ("c", "# sum") in pieces


def test_a_string_of_several_lines_is_one_on_each():
    assert highlight(['"""a', "  b", 'c"""']) == [("s", '"""a'), ("s", "  b"), ("s", 'c"""')]


def test_what_comes_before_an_error_keeps_its_classes():
    first, second = highlight(["import os", "x = '''never closed"])
    assert first[:2] == ("k", "import")
    assert second == ("", "x = '''never closed")


@given(st.lists(st.text(alphabet=st.characters(exclude_characters="\r\n"), max_size=30), max_size=6))
def test_the_pieces_of_a_line_are_the_line(lines: list[str]):
    assert ["".join(pieces[1::2]) for pieces in highlight(lines)] == lines
