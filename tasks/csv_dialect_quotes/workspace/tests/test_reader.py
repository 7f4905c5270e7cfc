import pytest
from statement.dialect import Dialect, guess
from statement.reader import MalformedText, Reader, transactions


def read(text, dialect=None):
    return list(Reader(dialect or Dialect()).records(text))


def test_records_and_blank_lines():
    assert read("date,amount\n\n2024-03-01,12.50\r\n\n,\n") == [
        ["date", "amount"],
        ["2024-03-01", "12.50"],
        ["", ""],
    ]


def test_delimiter_within_quotes():
    assert read('1,"Miller, Rose",9.00') == [["1", "Miller, Rose", "9.00"]]


def test_line_end_within_quotes():
    assert read('1,"Rent\n\nMarch",9.00\n2,Water,3.00\n') == [
        ["1", "Rent\n\nMarch", "9.00"],
        ["2", "Water", "3.00"],
    ]


def test_doubled_quote_within_quotes():
    assert read('1,"Pipe 5"", steel",9.00') == [["1", 'Pipe 5", steel', "9.00"]]


def test_blanks_around_fields():
    assert read('1, "a" , b ', Dialect(trims=True)) == [["1", "a", "b"]]
    assert read("1, a ,b") == [["1", " a ", "b"]]


def test_text_behind_a_closing_quote():
    with pytest.raises(MalformedText):
        read('1,"Rent" March,9.00')


def test_dialect_is_guessed_by_the_header():
    found = guess("'date'; 'amount, net'; 'payee'\n")

    assert (found.delimiter, found.quote, found.trims) == (";", "'", True)


def test_transactions_by_name():
    text = 'date;payee\n2024-03-01;"Miller; Sons"\n'

    assert transactions(text) == [{"date": "2024-03-01", "payee": "Miller; Sons"}]


def test_record_of_another_length():
    with pytest.raises(MalformedText):
        transactions("date;payee\n2024-03-01\n")
