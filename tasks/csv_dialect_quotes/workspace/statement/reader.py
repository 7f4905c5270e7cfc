"""Records out of text, character by character."""

from collections.abc import Iterator
from enum import Enum

from statement.dialect import Dialect, guess

LINE_END = "\n"


class MalformedText(ValueError):
    """The text does not keep to its dialect; the message names the line."""


class State(Enum):
    """Where in a field the reader is."""

    BEGIN = "before its first character"
    PLAIN = "in a field without quotes"
    QUOTED = "between its quotes"
    QUOTE = "behind a quote within quotes"


class Reader:
    """Takes one text apart."""

    def __init__(self, dialect: Dialect) -> None:
        self._dialect = dialect
        self._state = State.BEGIN
        self._characters: list[str] = []
        self._fields: list[str] = []
        self._line = 1

    def records(self, text: str) -> Iterator[list[str]]:
        """The records of the text in order."""
        text = text.replace("\r\n", LINE_END)
        for character in text if text.endswith(LINE_END) else text + LINE_END:
            if self._take(character) and self._fields != [""]:
                yield self._fields
            if character == LINE_END:
                self._line += 1
                if self._state is not State.QUOTED:
                    self._fields = []
        if self._state is State.QUOTED:
            raise MalformedText(f"A quote is still open at the end, line {self._line - 1}.")

    def _take(self, character: str) -> bool:
        """Take one character in; answers whether it completes a record."""
        if self._state is State.QUOTED:
            if character == self._dialect.quote:
                self._state = State.QUOTE
            else:
                self._characters.append(character)
            return False
        if character in (self._dialect.delimiter, LINE_END):
            self._end_field()
            return character == LINE_END
        self._take_within(character)
        return False

    def _take_within(self, character: str) -> None:
        is_quote = character == self._dialect.quote
        if self._state is State.BEGIN and is_quote:
            self._state = State.QUOTED
        elif self._state is State.BEGIN and self._dialect.trims and character == " ":
            pass
        elif self._state is State.QUOTE and not is_quote:
            if character != " " or not self._dialect.trims:
                raise MalformedText(f"Line {self._line}: {character!r} follows a closing quote.")
        else:
            self._characters.append(character)
            self._state = State.PLAIN

    def _end_field(self) -> None:
        field = "".join(self._characters)
        trims = self._dialect.trims and self._state is State.PLAIN
        self._fields.append(field.rstrip(" ") if trims else field)
        self._characters.clear()
        self._state = State.BEGIN


def transactions(text: str, dialect: Dialect | None = None) -> list[dict[str, str]]:
    """The records below the header, each by the names that the header gives."""
    records = Reader(dialect or guess(text)).records(text)
    header = next(records, [])
    rows: list[dict[str, str]] = []
    for record in records:
        if len(record) != len(header):
            raise MalformedText(f"{len(record)} fields where the header names {len(header)}: {record}")
        rows.append(dict(zip(header, record)))
    return rows
