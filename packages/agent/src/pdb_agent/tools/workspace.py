"""The workspace of an episode: a sandbox, its task, and what has changed in it."""

import difflib
from collections.abc import Mapping
from dataclasses import dataclass

from pdb_agent.grading.submission import is_editable
from pdb_agent.sandbox import MEBIBYTE, Sandbox
from pdb_agent.sandboxes.workspace_files import is_plain_path
from pdb_agent.task import Task

_DIFF_CONTEXT_LINES = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class FileChange:
    """A file whose content is not what it was."""

    path: str
    is_editable: bool
    diff: str


class Workspace:
    """The files that a model works on, followed across tool calls."""

    def __init__(self, sandbox: Sandbox, task: Task) -> None:
        self.sandbox = sandbox
        self.task = task
        self._known: dict[str, bytes] = dict(task.workspace)

    def is_editable(self, path: str) -> bool:
        """Whether grading takes this file from the workspace."""
        return is_editable(path, self.task)

    async def changes(self) -> tuple[FileChange, ...]:
        """What has changed in content since this was asked last."""
        now = await self.contents()
        changed = [
            path for path in sorted(self._known.keys() | now.keys()) if self._known.get(path) != now.get(path)
        ]
        found = tuple(
            FileChange(
                path=path,
                is_editable=self.is_editable(path),
                diff=_diff(path, self._known.get(path, b""), now.get(path, b"")),
            )
            for path in changed
        )
        self._known = now
        return found

    async def contents(self) -> dict[str, bytes]:
        """All plain files of at most one mebibyte."""
        paths = await self.sandbox.list_files()
        read = await self.sandbox.get(paths, limit_bytes=MEBIBYTE)
        return {path: content for path, content in read.items() if content is not None}

    async def read(self, path: str) -> str | None:
        """A file as text, None when there is no such plain file in the workspace."""
        if not is_plain_path(path):
            return None
        content = (await self.sandbox.get([path])).get(path)
        return None if content is None else content.decode(errors="replace")

    async def is_utf8(self, path: str) -> bool:
        """Whether a file is plain text that can be written back as it was read."""
        try:
            ((await self.sandbox.get([path])).get(path) or b"").decode()
        except UnicodeDecodeError:
            return False
        return True


def lines_of(text: str) -> list[str]:
    """The lines as Python counts them: a form feed and the like end none."""
    plain = text.replace("\r\n", "\n").replace("\r", "\n").removesuffix("\n")
    return plain.split("\n") if text else []


def with_ends_of(text: str, piece: str) -> str:
    """``piece`` with the line ends of ``text``, which are not seen where lines are shown."""
    return piece.replace("\n", "\r\n") if "\r\n" in text and "\r" not in piece else piece


def as_text(files: Mapping[str, bytes]) -> dict[str, str]:
    """Files for the record."""
    return {path: content.decode(errors="replace") for path, content in files.items()}


def _diff(path: str, old: bytes, new: bytes) -> str:
    lines = difflib.unified_diff(
        old.decode(errors="replace").splitlines(keepends=True),
        new.decode(errors="replace").splitlines(keepends=True),
        f"a/{path}",
        f"b/{path}",
        n=_DIFF_CONTEXT_LINES,
    )
    return "".join(line if line.endswith("\n") else f"{line}\n" for line in lines)
