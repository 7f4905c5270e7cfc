"""Tables of a report: rows that say one thing of every arm. Pure."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from pdb_agent.debugger_metrics import DebuggerMetrics
from pdb_agent.debugger_sessions import Outcome
from pdb_agent.metrics import ArmMetrics, DisciplineMetrics, Effort, SolveRates
from pdb_agent.report import wording
from pdb_agent.report.markup import Markup, tag

FAILURES = ("never_edit", "broken", "test_timeout", "visible_fail", "regression", "hidden_fail")
_Say = Callable[[ArmMetrics], str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """Cells of text or markup; the first column names the rows."""

    caption: str
    columns: Sequence[str]
    rows: Sequence[Sequence[str]]
    is_sortable: bool = False
    kind: str = ""
    words: frozenset[int] = frozenset()
    """Columns of words, which begin at the left as the first does; numbers end at the right."""


def render(table: Table) -> Markup:
    """As HTML, in a frame that scrolls sideways by itself where it is too wide."""
    heads = [tag("th", name, scope="col") for name in table.columns]
    rows = [
        tag("tr", tag("th", row[0], scope="row"), *(tag("td", cell) for cell in row[1:]))
        for row in table.rows
    ]
    inside = tag(
        "table",
        tag("caption", table.caption),
        tag("thead", tag("tr", *heads)),
        tag("tbody", *rows),
        class_=f"{table.kind} sortable".strip() if table.is_sortable else table.kind or None,
    )
    return tag("div", inside, class_="scroll", tabindex="0", role="region", aria_label=table.caption)


def outcome_table(arms: Sequence[ArmMetrics]) -> Table:
    """What each arm solved, and at what price."""
    return _by_arm(
        "Outcome",
        arms,
        {
            "tasks": lambda arm: str(arm.rates.tasks),
            "episodes scored": lambda arm: str(arm.rates.episodes),
            "infrastructure failures": lambda arm: str(arm.infra),
            "solved": lambda arm: str(arm.rates.solved),
            "pass@1": lambda arm: wording.estimate(arm.rates.pass_at[1]),
            "bounds with what is missing": lambda arm: _bounds(arm.rates),
            "pass@3": lambda arm: wording.estimate(arm.rates.pass_at[3]),
            "pass@8": lambda arm: wording.estimate(arm.rates.pass_at[8]),
            "pass^3": lambda arm: wording.estimate(arm.rates.pass_hat[3]),
            "pass^8": lambda arm: wording.estimate(arm.rates.pass_hat[8]),
            "tasks solved once": lambda arm: wording.tasks_of(arm.rates.solved_once),
            "tasks solved always": lambda arm: wording.tasks_of(arm.rates.solved_always),
        },
    )


def effort_table(arms: Sequence[ArmMetrics]) -> Table:
    """What episodes took, in turns, tokens, seconds and money."""
    rows: dict[str, _Say] = {
        "turns, median (quartiles)": lambda arm: wording.spread(arm.effort.turns),
        "turns when solved": lambda arm: wording.spread(arm.effort.turns_when_solved),
        "ended by the turn cap": lambda arm: wording.share(arm.effort.at_turn_cap),
        "test runs per episode": lambda arm: wording.plain(arm.effort.test_runs_per_episode),
        "peak context, tokens": lambda arm: wording.spread(arm.effort.peak_context, 0),
    }
    for name in ("input", "cache_read", "cache_write", "output", "reasoning"):
        rows[f"{wording.words_of(name)} tokens per episode"] = lambda arm, name=name: wording.tokens(
            arm.effort.tokens_per_episode[name]
        )
    rows["tokens per solved episode"] = lambda arm: wording.tokens(arm.effort.tokens_per_solved)
    rows["cost per episode"] = lambda arm: wording.dollars(arm.effort.cost_per_episode)
    rows["cost per solved episode"] = lambda arm: wording.dollars(arm.effort.cost_per_solved)
    rows["seconds: model, tools, sandbox, grading, other"] = lambda arm: _seconds(arm.effort)
    return _by_arm("Effort", arms, rows)


def debugger_table(arms: Sequence[ArmMetrics]) -> Table | None:
    """How the debugger was used; None where no arm has one."""
    having = [arm for arm in arms if arm.debugger is not None]
    if not having:
        return None
    preferences = sorted({name for _, use in _uses(having) for name in use.opened_by_preference})
    rows: dict[str, Callable[[DebuggerMetrics], str]] = {
        "there at some time": _appeared,
        "appeared in turn": lambda use: wording.spread(use.appeared_turn),
        "opened": lambda use: wording.share(use.opened),
        **{f"opened where {name}": _opened_where(name) for name in preferences},
        "appropriate use": lambda use: wording.percent(use.appropriate_use),
        "first opened in turn": lambda use: wording.spread(use.first_open_turn),
        "first opened, share of the turns": lambda use: wording.spread(use.first_open_position, 2),
        "sessions per opener": lambda use: wording.plain(use.sessions_per_opener, 2),
        "calls per session": lambda use: wording.plain(use.calls_per_session),
        "debugger's share of calls": lambda use: wording.share(use.share_of_calls),
        "longest run of debugger calls": lambda use: wording.spread(use.longest_run),
        "targeted starts": lambda use: wording.share(use.targeted_starts),
        "sessions with a stop at a breakpoint": lambda use: wording.share(use.sessions_with_stop),
        "empty runs, of sessions": lambda use: wording.share(use.empty_runs),
        **{f"breakpoints {wording.words_of(one)}": _breakpoints_that(one) for one in Outcome},
        "breakpoints wasted": lambda use: wording.share(use.wasted_breakpoints),
        "inspections per opener": lambda use: wording.plain(use.inspections_per_opener),
        "undefined reads per opener": lambda use: wording.plain(use.undefined_reads_per_opener, 2),
        "openers with blind steps": lambda use: wording.share(use.with_blind_steps),
        "inspection followed by an edit": lambda use: wording.share(use.inspection_to_edit),
        "the same, strictly": lambda use: wording.share(use.inspection_to_edit_strict),
        "cause in sight before the first edit": lambda use: wording.share(use.witness_before_edit),
    }
    said = [[name, *(say(use) for _, use in _uses(having))] for name, say in rows.items()]
    return Table(caption="Debugger", columns=("", *(arm.arm for arm in having)), rows=_defined(said))


def discipline_table(arms: Sequence[ArmMetrics]) -> Table:
    """Habits around edits, tests and the last word."""
    rows: dict[str, Callable[[DisciplineMetrics], str]] = {
        "never edited": lambda one: wording.share(one.never_edited),
        "reproduced before the edit": lambda one: wording.share(one.reproduced_before_edit),
        "read before the edit": lambda one: wording.share(one.edited_after_reading),
        "first edit, share of the turns": lambda one: wording.spread(one.first_edit_position, 2),
        "tested again after the last edit": lambda one: wording.share(one.retested),
        "said done while visible tests fail": lambda one: wording.share(one.false_done),
        "effective edits per episode": lambda one: wording.plain(one.effective_edits_per_episode, 2),
        "edits taken back": lambda one: str(one.reverted_edits),
        "edits that change nothing": lambda one: str(one.no_change_edits),
        "repeated calls per episode": lambda one: wording.plain(one.repeats_per_episode, 2),
        "longest repeat": lambda one: str(one.longest_repeat),
        "episodes that try to edit tests": lambda one: wording.share(one.with_test_edit_attempts),
        "touched the file of the cause": lambda one: wording.share(one.found_gold_file),
        "calls found in the text": lambda one: str(one.parser_fallbacks),
        "turns with calls that do not parse": lambda one: str(one.format_error_turns),
        "nudges": lambda one: ", ".join(f"{name} {n}" for name, n in one.nudges.items()) or "0",
    }
    said = [[name, *(say(arm.discipline) for arm in arms)] for name, say in rows.items()]
    return Table(caption="Discipline", columns=("", *(arm.arm for arm in arms)), rows=_defined(said))


def failure_table(arms: Sequence[ArmMetrics]) -> Table:
    """Failure classes, the first that fits an episode that did not solve its task."""
    rows: dict[str, _Say] = {wording.words_of(name): _failures_of(name) for name in FAILURES}
    rows["wrong fixes: the last three"] = lambda arm: str(arm.wrong_fixes)
    rows["all failures"] = lambda arm: str(sum(arm.failures.values()))
    rows["infra, not scored"] = lambda arm: str(arm.infra)
    return _by_arm("Failure classes", arms, rows)


def ending_table(arm: ArmMetrics) -> Table:
    """Exit reasons of an arm, crossed with what became of the task."""
    columns = ["solved", *FAILURES, "infra"]
    used = [name for name in columns if any(counts.get(name) for counts in arm.endings.values())]
    ordered = sorted(arm.endings.items(), key=lambda one: -sum(one[1].values()))
    rows = [
        [
            ending.replace("_", " "),
            *(str(counts.get(name, 0) or "·") for name in used),
            str(sum(counts.values())),
        ]
        for ending, counts in ordered
    ]
    return Table(
        caption=f"Exit reasons: {arm.arm}",
        columns=("", *(wording.words_of(name) for name in used), "all"),
        rows=rows,
    )


def tool_table(arms: Sequence[ArmMetrics]) -> Table:
    """Calls by tool, and how many of them went wrong in which way."""
    names = sorted({name for arm in arms for name in arm.tools})
    columns = [""]
    for arm in arms:
        columns += [f"{arm.arm}: calls", "malformed", "failed", "timed out"]
    rows: list[list[str]] = []
    for name in names:
        row = [name]
        for arm in arms:
            tool = arm.tools.get(name)
            if tool is None:
                row += ["·"] * 4
            else:
                rates = (tool.malformed, tool.failed, tool.timed_out)
                row += [str(tool.calls), *(wording.percent(one.value) if one.count else "·" for one in rates)]
        rows.append(row)
    return Table(caption="Calls by tool", columns=columns, rows=rows, is_sortable=True, kind="narrow")


def strata_table(arms: Sequence[ArmMetrics], kind: str) -> Table:
    """pass@1 of one kind of strata, with the numbers of tasks."""
    values = sorted({value for arm in arms for value in arm.strata[kind]})
    rows = [[value, *(_stratum(arm.strata[kind].get(value)) for arm in arms)] for value in values]
    return Table(caption=f"pass@1 by {kind}", columns=("", *(arm.arm for arm in arms)), rows=rows)


def _by_arm(caption: str, arms: Sequence[ArmMetrics], rows: Mapping[str, _Say]) -> Table:
    said = [[name, *(say(arm) for arm in arms)] for name, say in rows.items()]
    return Table(caption=caption, columns=("", *(arm.arm for arm in arms)), rows=_defined(said))


def _defined(rows: Sequence[Sequence[str]]) -> list[Sequence[str]]:
    """The rows in which there is anything to say of any arm."""
    return [row for row in rows if any(cell != wording.NOTHING for cell in row[1:])]


def _uses(arms: Sequence[ArmMetrics]) -> list[tuple[str, DebuggerMetrics]]:
    return [(arm.arm, arm.debugger) for arm in arms if arm.debugger is not None]


def _appeared(use: DebuggerMetrics) -> str:
    """Of arms whose debugger is not there from the start; of others it goes without saying."""
    is_always_there = use.appeared_turn is None and use.appeared.count == use.appeared.total
    return wording.NOTHING if is_always_there else wording.share(use.appeared)


def _opened_where(preference: str) -> Callable[[DebuggerMetrics], str]:
    def say(use: DebuggerMetrics) -> str:
        found = use.opened_by_preference.get(preference)
        return wording.share(found) if found else wording.NOTHING

    return say


def _breakpoints_that(outcome: Outcome) -> Callable[[DebuggerMetrics], str]:
    return lambda use: str(use.breakpoints[outcome])


def _failures_of(name: str) -> _Say:
    def say(arm: ArmMetrics) -> str:
        total = sum(arm.failures.values())
        count = arm.failures.get(name, 0)
        return f"{count} ({wording.percent(count / total, 0)})" if count else "·"

    return say


def _bounds(rates: SolveRates) -> str:
    if rates.worst is None:
        return wording.NOTHING
    return f"{wording.percent(rates.worst)} to {wording.percent(rates.best)}"


def _seconds(effort: Effort) -> str:
    return ", ".join(wording.plain(value) for value in effort.seconds_per_episode.values())


def _stratum(rates: SolveRates | None) -> str:
    if rates is None or rates.pass_at[1] is None:
        return wording.NOTHING
    return f"{wording.estimate(rates.pass_at[1])}, {rates.tasks} tasks"
