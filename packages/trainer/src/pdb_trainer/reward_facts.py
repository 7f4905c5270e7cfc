"""What a reward is made of: a few facts of one episode, read from its record and its task."""

import io
import tokenize
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from pdb_agent.behaviour import Behaviour, measure
from pdb_agent.episode import Ended, Episode, ExitReason, Graded, GroupCount
from pdb_agent.episode_steps import gold_of
from pdb_agent.grading.submission import is_editable
from pdb_agent.task import Preference, Task

from pdb_trainer.errors import RewardError

_NO_CODE = frozenset({tokenize.COMMENT, tokenize.NL, tokenize.ENCODING})
_STARTS = frozenset({tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT})
_LAYOUT = _STARTS | {tokenize.ENDMARKER}
_WITH_DEBUGGER = frozenset({"debug", "unlock-after-k", "compound"})


@dataclass(frozen=True, slots=True, kw_only=True)
class RewardFacts:
    """One scored episode, as far as its reward goes."""

    solved: bool
    exit: ExitReason
    turns: int
    progress: float = 0.0
    """0 to 1: of the tests that failed at first, the share that passes; 0 where a test was broken, where the
    program is what it was, and where the tests were interfered with."""
    inspected_before_edit: bool = False
    """An inspection, then an effective edit, and the program differs at the end. Where a debugger is
    recommended that is the state of a halted program; elsewhere reading the file first will do."""
    debugger_fits: bool = False
    """A halted program was inspected where a debugger is recommended; none was started where it is to be
    avoided. False where there was no choice."""
    localised: bool = False
    """A file of the fix was read, stopped in or edited."""
    code_changed: bool = False
    """The program at the end differs from that at the start in more than comments, docstrings and layout."""
    malformed_calls: int = 0
    repeated_calls: int = 0
    """Equal to an earlier one, with an equal answer."""
    blind_steps: int = 0
    """Runs of three steps or more through the program without a look."""
    test_edits: int = 0
    """Attempts to change tests or what sets them up."""
    idle_edits: int = 0
    """Calls to edit that left every file as it was."""
    unverified: bool = False
    """No test to be repaired was run after the last effective edit."""


def facts_of(episode: Episode, task: Task, *, before: Sequence[GroupCount] | None = None) -> RewardFacts:
    """The facts of an episode.

    ``before`` is what grading says of the task's program as it is. With it hidden tests count as progress
    too; without, only the visible ones, of which the task itself says what passes.
    Raises RewardError for an episode that says nothing of the policy.
    """
    ended, graded = verdict_of(episode)
    behaviour = measure(episode, gold_of(task))
    changed = _is_changed(ended, task)
    habits = behaviour.discipline
    return RewardFacts(
        solved=graded.solved,
        exit=ended.reason,
        turns=ended.turns,
        progress=_progress(graded, before) if changed else 0.0,
        inspected_before_edit=changed and _has_inspected(behaviour, task.preference),
        debugger_fits=episode.started.toolset in _WITH_DEBUGGER and _fits(behaviour, task.preference),
        localised=behaviour.localisation is not None and behaviour.localisation.file_turn is not None,
        code_changed=changed,
        malformed_calls=sum(tool.malformed for tool in behaviour.tools.values()),
        repeated_calls=habits.repeats,
        blind_steps=behaviour.debugger.blind_step_runs,
        test_edits=habits.test_edit_attempts,
        idle_edits=habits.no_change_edits,
        unverified=habits.retested is False,
    )


def verdict_of(episode: Episode) -> tuple[Ended, Graded]:
    """The end and the verdict of an episode that is scored. Raises RewardError for any other."""
    ended = episode.ended
    name = f"Episode {episode.started.number} of {episode.started.task}"
    if ended is None:
        raise RewardError(f"{name} was cut off: run it again.")
    if ended.reason.is_infrastructure or ended.graded is None:
        raise RewardError(f"{name} ended by {ended.reason.value} ({ended.detail}): run it again.")
    return ended, ended.graded


def is_same_code(one: str, other: str) -> bool:
    """Whether two Python texts differ in comments, docstrings and layout only."""
    return one == other or _code(one) == _code(other)


def _has_inspected(behaviour: Behaviour, preference: Preference) -> bool:
    if preference is Preference.RECOMMENDED:
        return behaviour.inspection_led_to_edit
    return behaviour.inspection_led_to_edit or behaviour.discipline.edited_after_reading is True


def _fits(behaviour: Behaviour, preference: Preference) -> bool:
    match preference:
        case Preference.RECOMMENDED:
            return bool(behaviour.debugger.inspections)
        case Preference.AVOID:
            return not behaviour.debugger.opened
        case Preference.OPTIONAL:
            return False


def _progress(graded: Graded, before: Sequence[GroupCount] | None) -> float:
    if graded.tamper:
        return 0.0
    passed = _passed_before(graded.groups) if before is None else {one.name: one.passed for one in before}
    known = [(one, passed[one.name]) for one in graded.groups if one.name in passed]
    failing = sum(one.total - then for one, then in known)
    if not failing or any(one.passed < then for one, then in known):
        return 0.0
    return sum(one.passed - then for one, then in known) / failing


def _passed_before(groups: Sequence[GroupCount]) -> Mapping[str, int]:
    """What the names of the visible groups say."""
    totals = {one.name: one.total for one in groups}
    return {"fail_to_pass": 0, "pass_to_pass": totals.get("pass_to_pass", 0)}


def _is_changed(ended: Ended, task: Task) -> bool:
    start = {
        path: content.decode(errors="replace")
        for path, content in task.workspace.items()
        if is_editable(path, task)
    }
    return any(
        not is_same_code(start.get(path, ""), ended.final.get(path, "")) for path in {*start, *ended.final}
    )


def _code(text: str) -> list[tuple[int, str]] | str:
    """The tokens that make the program; the text where it is none."""
    try:
        return list(_code_tokens(text))
    except (tokenize.TokenError, SyntaxError):
        return text


def _code_tokens(text: str) -> Iterator[tuple[int, str]]:
    tokens = [one for one in tokenize.generate_tokens(io.StringIO(text).readline) if one.type not in _NO_CODE]
    is_start = True
    place = 0
    while place < len(tokens):
        one = tokens[place]
        if is_start and one.type == tokenize.STRING and tokens[place + 1].type == tokenize.NEWLINE:
            place += 2  # a statement that is only a text
            continue
        yield one.type, "" if one.type in _LAYOUT else one.string
        is_start = one.type in _STARTS
        place += 1
