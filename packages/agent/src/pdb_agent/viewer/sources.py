"""The files of a workspace through an episode: each text that a file had, and which lines an edit made."""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from pdb_agent.viewer.highlight import highlight, plain
from pdb_agent.viewer.records import Diff, Focus, Segments
from pdb_agent.viewer.visible_text import visible

LINES_LIMIT = 4_000
"""Of one text; more is left out, and the text says so."""
CHARS_LIMIT = 400
"""Of one line."""
_HUNK = re.compile(r"@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Hunk:
    old_start: int
    old: tuple[str, ...]
    new_start: int
    new: tuple[str, ...]
    first_changed: int
    """Of the new text's lines, from 1."""
    last_changed: int


class Sources:
    """Texts by file and version; every different line is kept once."""

    def __init__(self, files: Mapping[str, str]) -> None:
        self._current = dict(files)
        self._indexes: dict[Segments, int] = {}
        self._texts: dict[str, list[tuple[int, ...]]] = {}
        for path in sorted(files):
            self._keep(path)

    @property
    def lines(self) -> tuple[Segments, ...]:
        """Every different line in the order of its index."""
        return tuple(self._indexes)

    @property
    def texts(self) -> dict[str, tuple[tuple[int, ...], ...]]:
        """Of each file its texts in order, as indexes into ``lines``."""
        return {path: tuple(texts) for path, texts in self._texts.items()}

    @property
    def versions(self) -> dict[str, int]:
        """Of each file, which of its texts is the present one."""
        return {path: len(texts) - 1 for path, texts in self._texts.items()}

    def text(self, path: str) -> str | None:
        """The present text of a file."""
        return self._current.get(path)

    def apply(self, path: str, diff: str) -> Focus | None:
        """Change a file as a unified diff says, and tell which lines are new.

        A diff that does not fit leaves the text as it is: the diff itself is shown in any case.
        """
        hunks = _hunks(diff)
        changed = _patched(self._current.get(path, ""), hunks)
        if changed is None or not hunks:
            return None
        self._current[path] = changed
        self._keep(path)
        return Focus(
            first=min(hunk.first_changed for hunk in hunks),
            last=max(hunk.last_changed for hunk in hunks),
            kind="edit",
        )

    def _keep(self, path: str) -> None:
        lines = visible(self._current[path]).split("\n")
        if lines[-1] == "":
            lines.pop()
        lines = [line if len(line) <= CHARS_LIMIT else f"{line[:CHARS_LIMIT]}…" for line in lines]
        left_out = len(lines) - LINES_LIMIT
        if left_out > 0:
            lines = [*lines[:LINES_LIMIT], f"… {left_out} more lines"]
        pieces = highlight(lines) if path.endswith((".py", ".pyi")) else plain(lines)
        indexes = tuple(self._indexes.setdefault(line, len(self._indexes)) for line in pieces)
        self._texts.setdefault(path, []).append(indexes)


def diff_view(path: str, diff: str, *, is_editable: bool) -> Diff:
    """A unified diff as marked lines, without its header."""
    lines: list[tuple[str, str]] = []
    for line in diff.splitlines():
        if found := _HUNK.match(line):
            lines.append(("@", found[3]))
        elif lines and line[:1] in (" ", "-", "+"):
            lines.append((line[0], visible(line[1:])[:CHARS_LIMIT]))
    return Diff(path=path, is_editable=is_editable, lines=tuple(lines))


def _hunks(diff: str) -> list[_Hunk]:
    hunks: list[_Hunk] = []
    lines = diff.splitlines(keepends=True)
    position = 0
    while position < len(lines):
        found = _HUNK.match(lines[position])
        position += 1
        if found is None:
            continue
        begin = position
        while position < len(lines) and lines[position][:1] in (" ", "-", "+"):
            position += 1
        hunks.append(_hunk(found, lines[begin:position]))
    return hunks


def _hunk(head: re.Match[str], lines: list[str]) -> _Hunk:
    new_start = int(head[3])
    number, changed = new_start, list[int]()
    for line in lines:
        if line[0] != " ":
            changed.append(number)
        number += line[0] != "-"
    first = changed[0] if changed else new_start
    last = max(first, changed[-1] if lines and lines[-1][0] == "+" else (changed[-1] if changed else first))
    return _Hunk(
        old_start=int(head[1]),
        old=tuple(line[1:] for line in lines if line[0] in " -"),
        new_start=new_start,
        new=tuple(line[1:] for line in lines if line[0] in " +"),
        first_changed=first,
        last_changed=last,
    )


def _patched(text: str, hunks: list[_Hunk]) -> str | None:
    lines = text.splitlines(keepends=True)
    for hunk in reversed(hunks):
        begin = hunk.old_start - 1 if hunk.old else hunk.old_start
        there = lines[begin : begin + len(hunk.old)]
        if [_bare(line) for line in there] != [_bare(line) for line in hunk.old]:
            return None
        lines[begin : begin + len(hunk.old)] = hunk.new
    return "".join(lines)


def _bare(line: str) -> str:
    return line.rstrip("\r\n")
