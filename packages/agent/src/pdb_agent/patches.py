"""Applies unified diffs to files in memory, forward and in reverse: exactly, never nearly."""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from pdb_agent.errors import TaskError
from pdb_agent.task import Patch

_HUNK = re.compile(r"@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@")
_NO_FILE = "/dev/null"
_NOTES = ("diff --git ", "index ", "new file mode ", "deleted file mode ")


@dataclass(frozen=True, slots=True, kw_only=True)
class Hunk:
    """One place of a change; lines keep their ends."""

    header: str
    old_start: int
    """From 1; for a hunk without old lines, the line before it."""
    new_start: int
    lines: tuple[tuple[str, bytes], ...]
    """Each as its mark (space, minus or plus) and content."""

    def side(self, mark: str) -> list[bytes]:
        """The lines before (``-``) or after (``+``) the change."""
        return [line for kind, line in self.lines if kind in (" ", mark)]


@dataclass(frozen=True, slots=True, kw_only=True)
class FileChange:
    """The changes of one file; None stands for no file, before or after."""

    old: str | None
    new: str | None
    hunks: tuple[Hunk, ...]


def parse_patch(patch: Patch) -> tuple[FileChange, ...]:
    """The changes of a patch. Raises TaskError naming the line that is no unified diff."""
    return _Parser(patch).parse()


def apply_patch(patch: Patch, files: Mapping[str, bytes]) -> dict[str, bytes]:
    """The files after the change. Raises TaskError naming the hunk that does not fit exactly."""
    return _changed(patch, files, reverse=False)


def reverse_patch(patch: Patch, files: Mapping[str, bytes]) -> dict[str, bytes]:
    """The files before the change. Raises TaskError naming the hunk that does not fit exactly."""
    return _changed(patch, files, reverse=True)


def changed_paths(patch: Patch) -> tuple[str, ...]:
    """The files that a patch changes, makes or deletes, sorted."""
    changes = parse_patch(patch)
    return tuple(sorted({path for change in changes for path in (change.old, change.new) if path}))


def changed_line_count(patch: Patch) -> int:
    """How many lines a patch removes and adds, together."""
    return sum(
        kind != " " for change in parse_patch(patch) for hunk in change.hunks for kind, _ in hunk.lines
    )


def added_lines(patch: Patch) -> tuple[str, ...]:
    """The lines that a patch adds, without their ends."""
    return tuple(
        line.decode("utf-8", "replace").rstrip("\n")
        for change in parse_patch(patch)
        for hunk in change.hunks
        for kind, line in hunk.lines
        if kind == "+"
    )


class _Parser:
    def __init__(self, patch: Patch) -> None:
        self._name = patch.name
        self._lines = patch.text.encode().split(b"\n")
        if self._lines[-1] == b"":
            self._lines.pop()
        self._at = 0

    def parse(self) -> tuple[FileChange, ...]:
        changes: list[FileChange] = []
        while self._at < len(self._lines):
            line = self._peek()
            if line.startswith(_NOTES) or not line:
                self._at += 1
            else:
                changes.append(self._file())
        if not changes:
            raise TaskError(f"Patch {self._name} changes nothing: write a unified diff.")
        return tuple(changes)

    def _file(self) -> FileChange:
        old, new = self._path("--- ", "a/"), self._path("+++ ", "b/")
        if old is None and new is None:
            raise self._error("a change from no file to no file")
        hunks: list[Hunk] = []
        while self._at < len(self._lines) and self._peek().startswith("@@"):
            hunks.append(self._hunk())
        if not hunks:
            raise self._error("a file without hunks")
        return FileChange(old=old, new=new, hunks=tuple(hunks))

    def _path(self, mark: str, prefix: str) -> str | None:
        line = self._peek()
        path = line.removeprefix(mark).partition("\t")[0]
        if not line.startswith(mark) or not (path == _NO_FILE or path.startswith(prefix)):
            raise self._error(f"not a line `{mark}{prefix}<path>`")
        self._at += 1
        return None if path == _NO_FILE else path.removeprefix(prefix)

    def _hunk(self) -> Hunk:
        header = self._peek()
        match = _HUNK.match(header)
        if match is None:
            raise self._error("not a hunk's header `@@ -line,count +line,count @@`")
        counts = {"-": int(match[2] or 1), "+": int(match[4] or 1)}
        lines: list[tuple[str, bytes]] = []
        self._at += 1
        while counts["-"] > 0 or counts["+"] > 0:
            kind, line = self._hunk_line()
            for side in counts:
                counts[side] -= kind in (" ", side)
            lines.append((kind, line))
        if min(counts.values()) < 0:
            self._at -= 1
            raise self._error(f"more lines than {header} announces")
        return Hunk(header=header, old_start=int(match[1]), new_start=int(match[3]), lines=tuple(lines))

    def _hunk_line(self) -> tuple[str, bytes]:
        raw = self._lines[self._at] if self._at < len(self._lines) else b"@"
        kind = raw[:1].decode("latin-1") or " "
        if kind not in " +-":
            raise self._error("a hunk that ends before its announced count of lines")
        self._at += 1
        if self._at < len(self._lines) and self._lines[self._at].startswith(b"\\"):
            self._at += 1
            return kind, raw[1:]
        return kind, raw[1:] + b"\n"

    def _peek(self) -> str:
        return self._lines[self._at].decode("utf-8", "replace") if self._at < len(self._lines) else ""

    def _error(self, what: str) -> TaskError:
        return TaskError(
            f"Patch {self._name}, line {self._at + 1}: {what}; make the patch with `diff -u` or `git diff`."
        )


def _changed(patch: Patch, files: Mapping[str, bytes], *, reverse: bool) -> dict[str, bytes]:
    changed = dict(files)
    for change in parse_patch(patch):
        before, after = (change.new, change.old) if reverse else (change.old, change.new)
        if before is None:
            assert after is not None
            if after in changed:
                raise TaskError(f"Patch {patch.name} makes {after}, which is there already.")
            content = b""
        elif before in changed:
            content = changed.pop(before)
        else:
            raise TaskError(f"Patch {patch.name} changes {before}, which is not there.")
        content = _with_hunks(patch.name, change, content, reverse=reverse)
        if after is not None:
            changed[after] = content
        elif content:
            raise TaskError(f"Patch {patch.name} deletes {before} but leaves lines of it: remove them all.")
    return dict(sorted(changed.items()))


def _with_hunks(name: str, change: FileChange, content: bytes, *, reverse: bool) -> bytes:
    old_mark, new_mark = ("+", "-") if reverse else ("-", "+")
    lines = _split(content)
    result: list[bytes] = []
    at = 0
    for hunk in change.hunks:
        expected = hunk.side(old_mark)
        start = hunk.new_start if reverse else hunk.old_start
        begin = start - 1 if expected else start
        if begin < at or lines[begin : begin + len(expected)] != expected:
            raise TaskError(
                f"Patch {name}: hunk {hunk.header} of {change.new or change.old} does not fit"
                f"{' in reverse' if reverse else ''}: make the patch again from the file as it is."
            )
        result += lines[at:begin] + hunk.side(new_mark)
        at = begin + len(expected)
    return b"".join(result + lines[at:])


def _split(content: bytes) -> list[bytes]:
    """The lines of a file, which only a line feed ends."""
    pieces = [piece + b"\n" for piece in content.split(b"\n")]
    pieces[-1] = pieces[-1][:-1]
    return pieces if pieces[-1] else pieces[:-1]
