"""Which arms of a report are set against which, and the table of it. Pure."""

from collections.abc import Mapping, Sequence
from itertools import combinations

from pdb_agent.comparison import Comparison, Difference, compare
from pdb_agent.report import wording
from pdb_agent.report.tables import Table
from pdb_agent.summary import EpisodeSummary

_ALL_PAIRS = 4
"""Up to so many arms every pair is compared; beyond, each with the first."""
_TOKENS = 0

Arms = Mapping[str, Sequence[EpisodeSummary]]


def debugger_pairs(arms: Arms) -> list[tuple[str, str]]:
    """Arms without the debugger, each with those that have it under the same policy.

    Where an arm has the same tools but for the debugger, no other stands for doing without.
    """
    plain = [name for name, many in arms.items() if many and not many[0].has_debugger]
    plain = [name for name in plain if arms[name][0].conditions.toolset == "no-debugger"] or plain
    having = [name for name, many in arms.items() if many and many[0].has_debugger]
    same = [
        (early, late) for early in plain for late in having if _policy(arms[early]) == _policy(arms[late])
    ]
    return same or [(early, late) for early in plain[:1] for late in having]


def compare_arms(arms: Arms) -> list[Comparison]:
    """Every pair of a few arms, the one without a debugger first; of many, each with the first."""
    known = debugger_pairs(arms)
    names = list(arms)
    pairs = (
        list(combinations(names, 2)) if len(names) <= _ALL_PAIRS else [(names[0], name) for name in names[1:]]
    )
    ordered = [(late, early) if (late, early) in known else (early, late) for early, late in pairs]
    found = [compare(arms[early], arms[late], (early, late)) for early, late in ordered]
    return [one for one in found if one is not None]


def notable(comparisons: Sequence[Comparison], arms: Arms) -> list[Comparison]:
    """The ones to tell first: what the debugger does, and what another policy does with the same tools."""
    pairs = debugger_pairs(arms)
    return [
        one
        for one in comparisons
        if (one.before, one.after) in pairs
        or (
            _policy(arms[one.before]) != _policy(arms[one.after])
            and arms[one.before][0].conditions.toolset == arms[one.after][0].conditions.toolset
        )
    ]


def comparison_table(comparisons: Sequence[Comparison]) -> Table:
    """All comparisons, one in a column."""
    rows = {
        "tasks in both": [str(one.tasks) for one in comparisons],
        "pass@1": [_levels(one.pass_at_1) for one in comparisons],
        "difference of pass@1": [wording.points(one.pass_at_1.change) for one in comparisons],
        "sign-flip test": [wording.p_value(one.pass_at_1.p) for one in comparisons],
        "tasks won, lost, equal": [_tally(one.pass_at_1) for one in comparisons],
        "difference of pass@3": [
            wording.points(one.pass_at_3.change) if one.pass_at_3 else wording.NOTHING for one in comparisons
        ],
        "turns per episode, all tasks": [wording.change_of(one.turns.change) for one in comparisons],
        "tokens per episode, all tasks": [
            wording.change_of(one.tokens.change, _TOKENS) for one in comparisons
        ],
        "tasks on which it was opened": [
            str(one.opening.tasks) if one.opening else "0" for one in comparisons
        ],
        "turns of opening, on those": [
            wording.change_of(one.opening.turns) if one.opening else wording.NOTHING for one in comparisons
        ],
        "tokens of opening, on those": [_opening_tokens(one) for one in comparisons],
    }
    return Table(
        caption="Arms compared, on the tasks that both have",
        columns=("", *(f"{one.after} − {one.before}" for one in comparisons)),
        rows=[
            [name, *cells] for name, cells in rows.items() if any(cell != wording.NOTHING for cell in cells)
        ],
    )


def _policy(many: Sequence[EpisodeSummary]) -> str:
    return many[0].conditions.policy


def _levels(one: Difference) -> str:
    return f"{wording.percent(one.before)} → {wording.percent(one.after)}"


def _tally(one: Difference) -> str:
    return f"{one.tally.wins}, {one.tally.losses}, {one.tally.ties}"


def _opening_tokens(one: Comparison) -> str:
    if one.opening is None:
        return wording.NOTHING
    ratio = f", ×{one.opening.tokens_ratio:.1f}" if one.opening.tokens_ratio else ""
    return wording.change_of(one.opening.tokens, _TOKENS) + ratio
