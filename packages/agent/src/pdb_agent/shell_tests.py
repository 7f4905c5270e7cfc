"""Test runs that a model makes by a shell command, recognised and read."""

import re
import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import PurePosixPath

_SEPARATORS = re.compile(r"&&|\|\||[;|&\n()]")
_PREFIXES = frozenset(
    {"timeout", "time", "env", "nice", "exec", "command", "xvfb-run", "stdbuf", "if", "then"}
)
_RUNNERS = frozenset({"pytest", "py.test"})
_MODULES = frozenset({"pytest", "unittest"})
_VALUE_OPTIONS = frozenset({"-k", "-m", "-p", "-o", "-c", "-n", "-W", "--rootdir", "--maxfail", "--timeout"})
_FAILED = re.compile(
    r"\b[1-9]\d* (?:failed|errors?)\b|\bFAILED\b|^E   |\bTraceback \(most recent", re.MULTILINE
)
_PASSED = re.compile(r"\b[1-9]\d* passed\b|^OK\b", re.MULTILINE)
_ASSIGNMENT = re.compile(r"\w+=\S*\Z")
_REDIRECTION = re.compile(r"\d?[<>]")


@dataclass(frozen=True, slots=True, kw_only=True)
class TestRun:
    """A run of tests, as far as its call and its answer tell."""

    __test__ = False  # no test class

    selected: tuple[str, ...]
    """What was asked for: files, folders, node ids; empty for all tests."""
    failed: bool
    """Whether a test was seen to fail, or to hang."""
    passed: bool
    """Whether all that ran were seen to pass."""

    def covers(self, test: str) -> bool:
        """Whether ``test``, a node id, was among what was asked for."""
        return not self.selected or any(_includes(part, test) for part in self.selected)


def shell_test_run(command: str, output: str, *, exit_code: int | None, timed_out: bool) -> TestRun | None:
    """The test run that a shell command made, or None when it made none.

    The last command of a pipe sets the exit code, so pytest's own summary is believed first.
    """
    if not any(name in command for name in ("pytest", "py.test", "unittest")):
        return None
    runs = [words for words in _commands(command) if _is_test_run(words)]
    if not runs:
        return None
    failed = timed_out or bool(_FAILED.search(output))
    passed = not failed and bool(_PASSED.search(output))
    if not failed and not passed:
        failed = exit_code not in (0, None)
    selections = [_selected(words) for words in runs]
    selected = () if not all(selections) else tuple(part for parts in selections for part in parts)
    return TestRun(selected=selected, failed=failed, passed=passed)


def _commands(command: str) -> Iterator[list[str]]:
    """The words of each simple command, without what stands before its name."""
    for piece in _SEPARATORS.split(_without_redirections(command)):
        words = _words(piece)
        while words and (
            _ASSIGNMENT.match(words[0])
            or words[0] in _PREFIXES
            or words[0].startswith("-")
            or re.fullmatch(r"\d+(?:\.\d+)?[smh]?", words[0])
        ):
            words = words[1:]
        if words:
            yield words


def _without_redirections(command: str) -> str:
    return re.sub(r"\d?>&\d|&>", " ", command)


def _words(text: str) -> list[str]:
    try:
        return shlex.split(text, comments=True)
    except ValueError:  # a quote that is open: the shell's own affair
        return text.split()


def _is_test_run(words: Sequence[str]) -> bool:
    name = PurePosixPath(words[0]).name
    if name in _RUNNERS:
        return not {"--version", "--help", "-h", "--collect-only", "--co"} & set(words)
    if not name.startswith("python"):
        return False
    return any(flag == "-m" and module in _MODULES for flag, module in pairwise(words)) and not {
        "--version",
        "--collect-only",
        "--co",
    } & set(words)


def _selected(words: Sequence[str]) -> list[str]:
    """Files, folders and node ids among a runner's arguments."""
    name = PurePosixPath(words[0]).name
    position = 1 if name in _RUNNERS else next(i for i, word in enumerate(words) if word in _MODULES) + 1
    found: list[str] = []
    skip = False
    for word in words[position:]:
        if skip or _REDIRECTION.match(word):
            skip = not skip and _REDIRECTION.fullmatch(word) is not None
            continue
        if word.startswith("-"):
            skip = word in _VALUE_OPTIONS
            continue
        found.append(word)
    return found


def _includes(part: str, test: str) -> bool:
    part = part.removeprefix("./").rstrip("/")
    if part in ("", "."):
        return True
    if "/project/" in part:  # an absolute path into a workspace
        part = part.rpartition("/project/")[2]
    return test == part or test.startswith((f"{part}::", f"{part}/", f"{part}["))
