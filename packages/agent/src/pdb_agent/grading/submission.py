"""What grading takes from an episode: the editable source files, and nothing beside them."""

import ast
from collections.abc import Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase

from pdb_agent.grading.suite import is_test_of, is_test_path
from pdb_agent.grading.verdict import TamperKind
from pdb_agent.sandbox import Sandbox
from pdb_agent.task import Task

FILE_LIMIT_BYTES = 256 * 1024
NEW_FILES_LIMIT = 50
"""Files beyond those that the task came with."""
_LINK_TEST_SECONDS = 10.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Rejection:
    """Why a file of the submission makes it a failed attempt."""

    path: str
    why: str
    """Ends a sentence that begins with the path."""
    tamper: TamperKind | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Submission:
    """The editable files of a workspace after an episode."""

    files: Mapping[str, bytes]
    """Relative POSIX path to content: what ``select`` accepted."""
    rejections: tuple[Rejection, ...] = ()


def is_editable(path: str, task: Task) -> bool:
    """Whether grading takes this file from a submission: a Python source that the task's globs name."""
    parts = path.split("/")
    if not path.endswith(".py") or any(part.startswith(".") or not part for part in parts):
        return False
    if is_test_of(task, path) or is_test_path(path):
        return False
    return any(_matches(parts, glob.split("/")) for glob in task.editable)


def select(files: Mapping[str, bytes], task: Task) -> Submission:
    """The editable files among ``files``; a missing, oversized or unreadable one is a rejection."""
    present = {path: content for path, content in files.items() if is_editable(path, task)}
    expected = {path for path in task.workspace if is_editable(path, task)}
    rejections = [Rejection(path=path, why="is missing") for path in sorted(expected - present.keys())]
    if len(present.keys() - expected) > NEW_FILES_LIMIT:
        rejections.append(Rejection(path="The submission", why=f"has more than {NEW_FILES_LIMIT} new files"))
        present = {path: content for path, content in present.items() if path in expected}
    for path, content in sorted(present.items()):
        why = _fault(content)
        if why is not None:
            rejections.append(Rejection(path=path, why=why))
    rejected = {rejection.path for rejection in rejections}
    accepted = {path: content for path, content in present.items() if path not in rejected}
    return Submission(files=accepted, rejections=tuple(rejections))


async def collect(sandbox: Sandbox, task: Task) -> Submission:
    """Read a submission out of an episode's sandbox, through no link.

    Raises SandboxEndedError when the sandbox is gone.
    """
    listed = set(await sandbox.list_files())
    wanted = {path for path in listed | task.workspace.keys() if is_editable(path, task)}
    contents = await sandbox.get(sorted(wanted), limit_bytes=FILE_LIMIT_BYTES)
    submission = select({path: data for path, data in contents.items() if data is not None}, task)
    unread = {path for path, data in contents.items() if data is None}
    if not unread:
        return submission
    kept = [rejection for rejection in submission.rejections if rejection.path not in unread]
    kept += [await _explain(sandbox, path, listed) for path in sorted(unread)]
    return Submission(files=submission.files, rejections=tuple(kept))


def _fault(content: bytes) -> str | None:
    """What is wrong with a file, or None."""
    if len(content) > FILE_LIMIT_BYTES:
        return f"is larger than {FILE_LIMIT_BYTES // 1024} KB"
    try:
        ast.parse(content.decode("utf-8"))
    except UnicodeDecodeError:
        return "is not UTF-8"
    except SyntaxError as error:
        return f"does not parse (line {error.lineno})"
    except (ValueError, RecursionError, MemoryError):
        return "does not parse"
    return None


async def _explain(sandbox: Sandbox, path: str, listed: set[str]) -> Rejection:
    """Why a file could not be read; the sandbox's answer serves the log only, never the verdict."""
    if path in listed:
        return Rejection(path=path, why=f"has a second link or is larger than {FILE_LIMIT_BYTES // 1024} KB")
    link = await sandbox.run(["test", "-L", path], timeout_seconds=_LINK_TEST_SECONDS)
    if link.exit_code == 0:
        return Rejection(path=path, why="is a link, not a file", tamper=TamperKind.LINK)
    return Rejection(path=path, why="is missing")


def _matches(parts: list[str], pattern: list[str]) -> bool:
    """Match a path to a glob part by part; ``**`` stands for any number of folders."""
    if not pattern:
        return not parts
    if pattern[0] == "**":
        return any(_matches(parts[skipped:], pattern[1:]) for skipped in range(len(parts) + 1))
    return bool(parts) and fnmatchcase(parts[0], pattern[0]) and _matches(parts[1:], pattern[1:])
