"""V12 and V16: tasks of different splits are different, and all of it is our own."""

import io
import itertools
import re
import tokenize
from collections.abc import Iterable
from functools import cache

from pdb_agent.reach import is_test_file
from pdb_agent.task import Task
from pdb_agent.validation.rules import Complaint

LICENCES = frozenset({"MIT", "Apache-2.0", "BSD-2-Clause", "BSD-3-Clause"})
SHINGLE_TOKENS = 7
MOST_OVERLAP = 0.5
_FOREIGN = re.compile(
    r"copyright|\(c\) \d{4}|©|licen[sc]ed under|all rights reserved|SPDX-|https?://", re.IGNORECASE
)
_LEFT_OUT = frozenset(
    {tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENCODING}
)


def check_licence(task: Task) -> list[Complaint]:
    """V16: complaints about the licence and signs of foreign text."""
    texts: list[str] = []
    if task.licence not in LICENCES:
        texts.append(f"licence is {task.licence!r}: write one of {', '.join(sorted(LICENCES))}.")
    for path, content in {**task.workspace, **task.hidden}.items():
        if match := _FOREIGN.search(content.decode("utf-8", "replace")):
            texts.append(f"{path} holds {match[0]!r}, a sign of somebody else's text: write it anew.")
    return [Complaint(rule="V16", text=text) for text in texts]


def check_distance(task: Task, others: Iterable[Task]) -> list[Complaint]:
    """V12: complaints about sources that a task of another split nearly has too."""
    own = shingles(_sources(task))
    complaints: list[Complaint] = []
    for other in others:
        if other.split is task.split:
            continue
        overlap = jaccard(own, shingles(_sources(other)))
        if overlap >= MOST_OVERLAP:
            text = (
                f"Its sources overlap by {overlap:.2f} with those of {other.id}, which is in "
                f"{other.split}: rewrite one, or move both into one split and group."
            )
            complaints.append(Complaint(rule="V12", text=text))
    return complaints


def jaccard(one: frozenset[int], other: frozenset[int]) -> float:
    """The share of what either has that both have; 0 for two empty sets."""
    return len(one & other) / (len(one | other) or 1)


@cache
def shingles(sources: tuple[bytes, ...]) -> frozenset[int]:
    """Hashes of all runs of ``SHINGLE_TOKENS`` tokens; comments and layout do not count."""
    found: set[int] = set()
    for source in sources:
        tokens = [
            token.string
            for token in tokenize.tokenize(io.BytesIO(source).readline)
            if token.type not in _LEFT_OUT
        ]
        windows = (itertools.islice(tokens, start, None) for start in range(SHINGLE_TOKENS))
        found.update(map(hash, zip(*windows, strict=False)))
    return frozenset(found)


def _sources(task: Task) -> tuple[bytes, ...]:
    return tuple(
        content for path, content in task.workspace.items() if path.endswith(".py") and not is_test_file(path)
    )
