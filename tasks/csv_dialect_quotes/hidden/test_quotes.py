import pytest
from statement.dialect import Dialect
from statement.reader import MalformedText, Reader, transactions


def read(text, **dialect):
    return list(Reader(Dialect(**dialect)).records(text))


def test_empty_quotes():
    assert read('"",1\n2,""\n"","",""\n') == [["", "1"], ["2", ""], ["", "", ""]]


def test_quoted_text_within_a_field():
    assert read('1,"The ""Crown"", Leeds",2') == [["1", 'The "Crown", Leeds', "2"]]


def test_field_of_nothing_but_quotes():
    assert read('"""",1\n"""""",2\n') == [['"', "1"], ['""', "2"]]


def test_doubled_quotes_at_both_ends():
    assert read('"""a, b""",c\n') == [['"a, b"', "c"]]


def test_line_end_behind_a_doubled_quote():
    assert read('1,"5""\nlong",2\n3,4,5\n') == [["1", '5"\nlong', "2"], ["3", "4", "5"]]


def test_blanks_behind_a_doubled_quote():
    assert read('"5"" ", "7""" ,8', trims=True) == [['5" ', '7"', "8"]]


def test_other_quote_and_delimiter():
    text = "'payee';'amount'\n'O''Neill; Sons';'1'\n"

    assert transactions(text) == [{"payee": "O'Neill; Sons", "amount": "1"}]


def test_quotes_in_a_field_without_quotes_around():
    assert read('1,Pipe 5",9.00\n2,6" to 7",8.00') == [["1", 'Pipe 5"', "9.00"], ["2", '6" to 7"', "8.00"]]
    assert read('a""b,1\nc ""d"",2\n') == [['a""b', "1"], ['c ""d""', "2"]]


def test_quote_left_open_behind_a_doubled_one():
    with pytest.raises(MalformedText) as caught:
        read('1,2\n"3"",4\n')
    assert str(caught.value) == "A quote is still open at the end, line 2."


def test_text_behind_the_closing_quote_of_a_doubled_one():
    with pytest.raises(MalformedText) as caught:
        read('1,2\n"a"" b"c,4\n')
    assert str(caught.value) == "Line 2: 'c' follows a closing quote."
