"""Makes the unified diff between two states of some files; ``patches`` applies it."""

import difflib
from collections.abc import Iterator, Mapping

from pdb_agent.errors import TaskError
from pdb_agent.task import Patch

_NO_FILE = "/dev/null"
_NO_NEWLINE = "\n\\ No newline at end of file\n"
_CONTEXT_LINES = 3


def make_patch(
    name: str, before: Mapping[str, bytes], after: Mapping[str, bytes], *, reason: str = ""
) -> Patch:
    """The change that makes ``after`` of ``before``; files that are in one of them only come or go.

    An empty text when nothing changes. Raises TaskError for a changed file that is not UTF-8, and for
    one without a line that comes or goes, which a diff cannot express.
    """
    paths = sorted(path for path in before.keys() | after.keys() if before.get(path) != after.get(path))
    text = "".join(_file_diff(path, before.get(path), after.get(path)) for path in paths)
    return Patch(name=name, text=text, reason=reason)


def _file_diff(path: str, before: bytes | None, after: bytes | None) -> str:
    if not before and not after:
        raise TaskError(f"{path} is empty and comes or goes: a diff cannot say that, leave it as it is.")
    lines = difflib.unified_diff(
        _lines(path, before),
        _lines(path, after),
        _NO_FILE if before is None else f"a/{path}",
        _NO_FILE if after is None else f"b/{path}",
        n=_CONTEXT_LINES,
    )
    return "".join(_ended(lines))


def _lines(path: str, content: bytes | None) -> list[str]:
    """The lines with their ends; only a line feed ends one."""
    try:
        pieces = (content or b"").decode().split("\n")
    except UnicodeDecodeError:
        raise TaskError(f"{path} is not UTF-8 text: a diff cannot carry it, leave it as it is.") from None
    return [f"{piece}\n" for piece in pieces[:-1]] + ([pieces[-1]] if pieces[-1] else [])


def _ended(lines: Iterator[str]) -> Iterator[str]:
    for line in lines:
        yield line if line.endswith("\n") else line + _NO_NEWLINE
