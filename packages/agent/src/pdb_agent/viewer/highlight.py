"""Python in pieces by what they are, line by line; text that does not parse stays plain."""

import keyword
import tokenize
from collections.abc import Iterator, Sequence

from pdb_agent.viewer.records import Segments

PLAIN, KEYWORD, STRING, COMMENT, NUMBER, DEFINED = "", "k", "s", "c", "n", "d"
_BY_TYPE = {"STRING": STRING, "COMMENT": COMMENT, "NUMBER": NUMBER}


def highlight(lines: Sequence[str]) -> list[Segments]:
    """Each line in pieces: class, text, class, text, …; the texts of a line together are the line."""
    classes = [[PLAIN] * len(line) for line in lines]
    try:
        for kind, (first, column), (last, end) in _classified(lines):
            for number in range(first, min(last, len(lines)) + 1):
                row = classes[number - 1]
                begin = column if number == first else 0
                stop = min(end, len(row)) if number == last else len(row)
                row[begin:stop] = [kind] * (stop - begin)
    except (tokenize.TokenError, SyntaxError):  # what came before it keeps its classes
        pass
    return [_pieces(line, row) for line, row in zip(lines, classes, strict=True)]


def plain(lines: Sequence[str]) -> list[Segments]:
    """Lines of a file that is no Python."""
    return [(PLAIN, line) for line in lines]


_Position = tuple[int, int]


def _classified(lines: Sequence[str]) -> Iterator[tuple[str, _Position, _Position]]:
    readline = iter([f"{line}\n" for line in lines]).__next__
    before = ""
    for token in tokenize.generate_tokens(readline):
        name = tokenize.tok_name[token.type]
        kind = _BY_TYPE.get(name, PLAIN)
        if name.startswith(("FSTRING", "TSTRING")):
            kind = STRING
        elif name == "NAME":
            if before in ("def", "class"):
                kind = DEFINED
            elif keyword.iskeyword(token.string):
                kind = KEYWORD
        before = token.string
        if kind:
            yield kind, token.start, token.end


def _pieces(line: str, classes: Sequence[str]) -> Segments:
    pieces: list[str] = []
    begin = 0
    for column in range(1, len(line) + 1):
        if column == len(line) or classes[column] != classes[begin]:
            pieces += [classes[begin], line[begin:column]]
            begin = column
    return tuple(pieces)
