"""The grid of a report: a row for each task, a mark for each episode, which leads to its page. Pure."""

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape

from pdb_agent.report import wording
from pdb_agent.report.markup import Markup, tag
from pdb_agent.report.tables import Table
from pdb_agent.statistics import quantile
from pdb_agent.summary import EpisodeSummary

_SIGNS = {"solved": "●", "never_edit": "○", "infra": "×"}
_FAILED_SIGN = "◐"
"""An edit that did not do."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Pages:
    """Viewer pages, by the run's arm as its folder is named, task and number."""

    addresses: Mapping[tuple[str, str, int], str]
    """Relative to the report."""


def page_addresses(
    names: Sequence[str], folder: str, summaries: Sequence[EpisodeSummary]
) -> dict[tuple[str, str, int], str]:
    """Which of the viewer's files shows which episode: they are named by task, number and arms."""
    found: dict[tuple[str, str, int], str] = {}
    by_head: defaultdict[str, list[str]] = defaultdict(list)
    for name in sorted(names):
        matched = re.match(r"(.+?-\d+)-.+\.html\Z", name)
        if matched:
            by_head[matched[1]].append(name)
    for one in summaries:
        arm = _file_name(one.arm)
        head = _file_name(f"{one.task}-{one.number}")
        for name in by_head[head]:
            arms = name.removeprefix(f"{head}-").removesuffix(".html")
            if arms == arm or arms.startswith(f"{arm}-") or arms.endswith(f"-{arm}"):
                found.setdefault((one.arm, one.task, one.number), f"{folder}/{name}")
    return found


def grid_table(arms: Mapping[str, Sequence[EpisodeSummary]], pages: Mapping[str, Pages]) -> Table:
    """All episodes; ``pages`` are by the report's name of the arm."""
    first: dict[str, EpisodeSummary] = {}
    cells: defaultdict[tuple[str, str], list[EpisodeSummary]] = defaultdict(list)
    for name, many in arms.items():
        for one in many:
            first.setdefault(one.task, one)
            cells[one.task, name].append(one)
    columns = ["task"]
    for name in arms:
        columns += [name, "turns"]
    columns += ["difficulty", "debugger", "family"]
    rows: list[list[str]] = []
    for task, one in sorted(first.items()):
        row: list[str] = [wording.words_of(task)]
        for name in arms:
            row += _cells(cells[task, name], pages.get(name))
        rows.append([*row, str(one.difficulty), one.preference, wording.words_of(one.family)])
    return Table(
        caption="Every episode, by task",
        columns=columns,
        rows=rows,
        is_sortable=True,
        kind="grid",
        words=frozenset({*range(1, 2 * len(arms), 2), len(columns) - 2, len(columns) - 1}),
    )


def _cells(episodes: Sequence[EpisodeSummary], pages: Pages | None) -> list[Markup]:
    ordered = sorted(episodes, key=lambda one: one.number)
    scored = [one for one in ordered if one.is_valid]
    share = sum(one.solved for one in scored) / len(scored) if scored else -1.0
    marks = tag("span", *(_mark(one, pages) for one in ordered), class_="marks", data_sort=f"{share:.4f}")
    turns = wording.plain(quantile([one.turns for one in scored], 0.5)) if scored else wording.NOTHING
    return [marks, Markup(escape(turns))]


def _mark(one: EpisodeSummary, pages: Pages | None) -> Markup:
    name = one.failure_name
    opened = ", debugger opened" if one.behaviour.debugger.opened else ""
    words = (
        f"{one.number}: {wording.words_of(name)}, {wording.words_of(one.ending)}, {one.turns} turns{opened}"
    )
    kind = name if name in ("solved", "never_edit", "infra") else "failed"
    kind += " opened" if opened else ""
    sign = _SIGNS.get(name, _FAILED_SIGN)
    address = pages.addresses.get((one.arm, one.task, one.number)) if pages else None
    if address:
        return tag("a", sign, href=address, class_=kind, title=words, aria_label=words)
    return tag("span", sign, class_=kind, title=words, role="img", aria_label=words)


def _file_name(text: str) -> str:
    return "".join(sign if sign.isalnum() or sign in "-_." else "_" for sign in text)
