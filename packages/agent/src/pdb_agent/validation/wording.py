"""V8: the workspace tells nothing of the defect or of its solution."""

import ast
import builtins
import io
import keyword
import re
import sys
import tokenize
from collections.abc import Iterator, Mapping

from pdb_agent.patches import added_lines, apply_patch, changed_paths
from pdb_agent.reach import docstring_nodes, is_test_file, parse_module
from pdb_agent.task import Task
from pdb_agent.validation.rules import Complaint

FORBIDDEN = frozenset(
    {"bug", "buggy", "fix", "wrong", "should", "hack", "todo", "fixme", "xxx", "race", "deadlock", "broken"}
    | {"incorrect"}
)
_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")
_IDENTIFIER = re.compile(r"[A-Za-z_]\w*")
_BUILT_IN_TYPES = (object, str, bytes, int, float, dict, list, set, tuple, type, BaseException)
_COMMON = frozenset(sys.stdlib_module_names).union(
    keyword.kwlist, keyword.softkwlist, dir(builtins), *map(dir, _BUILT_IN_TYPES)
)
"""Names that everybody uses, so that they give nothing away."""


def check_wording(task: Task) -> list[Complaint]:
    """Complaints about words, comments and names."""
    return [
        Complaint(rule="V8", text=text)
        for text in (*_forbidden_words(task), *_changed_comments(task), *_known_names(task))
    ]


def words_of(text: str) -> list[str]:
    """The words of a text in small letters, identifiers split at underscores and capitals."""
    return [word.lower() for word in _WORD.findall(text)]


def comments_of(path: str, content: bytes) -> list[str]:
    """The comments and docstrings of a module, in order."""
    tokens = tokenize.tokenize(io.BytesIO(content).readline)
    comments = [(token.start[0], token.string) for token in tokens if token.type == tokenize.COMMENT]
    docstrings = [(node.lineno, str(node.value)) for node in docstring_nodes(path, content)]
    return [text for _, text in sorted(comments + docstrings)]


def _forbidden_words(task: Task) -> Iterator[str]:
    for path, content in task.workspace.items():
        for word in sorted(FORBIDDEN.intersection(words_of(path))):
            yield f"The name {path} holds the word {word!r}: name it otherwise."
        for number, line in enumerate(content.decode("utf-8", "replace").splitlines(), 1):
            for word in sorted(FORBIDDEN.intersection(words_of(line))):
                yield f"{path}, line {number} holds the word {word!r}: say it otherwise."


def _changed_comments(task: Task) -> Iterator[str]:
    after = apply_patch(task.solution, task.workspace)
    for path in changed_paths(task.solution):
        if path in task.workspace and path in after and path.endswith(".py"):
            old, new = comments_of(path, task.workspace[path]), comments_of(path, after[path])
            if old != new:
                changed = next(
                    (text for text in [*old, *new] if old.count(text) != new.count(text)), "one moved"
                )
                yield (
                    f"The solution changes a comment or docstring of {path} ({changed.strip()[:60]!r}): make "
                    "them equal in both versions."
                )


def _known_names(task: Task) -> Iterator[str]:
    """New names of the solution that the workspace knows already."""
    sources = {path: content for path, content in task.workspace.items() if path.endswith(".py")}
    used = {
        name for path, content in sources.items() if not is_test_file(path) for name in _names(path, content)
    }
    added = {name for line in added_lines(task.solution) for name in _IDENTIFIER.findall(_code(line))}
    coined = added - used - _COMMON
    for name in sorted(coined | _newly_defined(task, sources)):
        for path, content in task.workspace.items():
            if name in _IDENTIFIER.findall(content.decode("utf-8", "replace")):
                yield f"The solution brings the name {name!r}, which {path} holds already: take another name."
                break


def _newly_defined(task: Task, sources: Mapping[str, bytes]) -> set[str]:
    """Functions, classes and attributes that the solution defines and nothing defined before."""
    after = apply_patch(task.solution, task.workspace)
    before = {name for path, content in sources.items() for name in _definitions(path, content)}
    paths = [path for path in changed_paths(task.solution) if path in after and path.endswith(".py")]
    return {name for path in paths for name in _definitions(path, after[path])} - before - _COMMON


def _definitions(path: str, content: bytes) -> Iterator[str]:
    for node in ast.walk(parse_module(path, content)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield node.name
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            yield node.attr
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            yield node.target.id


def _names(path: str, content: bytes) -> Iterator[str]:
    """The identifiers in a module's code."""
    parse_module(path, content)
    for token in tokenize.tokenize(io.BytesIO(content).readline):
        if token.type == tokenize.NAME:
            yield token.string


def _code(line: str) -> str:
    """A line without its strings and comment, roughly."""
    return re.sub(r"(\"[^\"]*\"|'[^']*')", "", line).partition("#")[0]
