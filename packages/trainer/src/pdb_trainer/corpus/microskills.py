"""Moments of skill in real trajectories: where to cut, and which replies to train.

The conversation up to the moment's end stays as context; only the replies that show the skill are trained.
Moments are found in any episode that solved its task, so an episode that is no example as a whole still
gives what it did well.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from pdb_agent.episode import ExitReason
from pdb_agent.episode_steps import EDITORS, STARTERS, Step, in_workspace, run_of_tests

from pdb_trainer.corpus.gates import Conduct
from pdb_trainer.corpus.settings import Skill

_MOST_RECOVERING = 4
"""Turns from a failed edit to the one that does, at the most; more is no recovery."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Moment:
    """One showing of a skill."""

    skill: Skill
    replies: frozenset[int]
    """To be trained, from 0; the last of them is where to cut."""

    @property
    def last(self) -> int:
        """The reply at which the conversation is cut."""
        return max(self.replies)


def moments(conduct: Conduct, skills: Sequence[Skill]) -> Iterator[Moment]:
    """The first showing of each of the skills in an episode."""
    for skill in skills:
        turns = _FINDERS[skill](conduct)
        if turns:
            yield Moment(skill=skill, replies=frozenset(turn - 1 for turn in turns))


def read_before_edit(conduct: Conduct) -> set[int] | None:
    """The reply that reads a file and the one that first changes it, for the first file changed."""
    files = conduct.episode.started.files
    reads: dict[str, int] = {}
    for step in conduct.steps:
        if step.effective_edits:
            read = reads.get(step.effective_edits[0].path)
            return {read, step.turn} if read is not None and read < step.turn else None
        if step.is_ok and (path := step.result.facts.get("path")) and step.name not in EDITORS:
            reads[in_workspace(str(path), files)] = step.turn
    return None


def debugger_discipline(conduct: Conduct) -> set[int] | None:
    """From a session's start over a breakpoint that stopped it to the first value looked at there.

    The observation has to lead somewhere: an effective edit follows in a later turn. A start that stops
    at no breakpoint, and steps before the inspection, are no discipline.
    """
    edits = [step.turn for step in conduct.steps if step.effective_edits]
    for seen in conduct.behaviour.debugger.inspections:
        session = _session_before(conduct.steps[: seen.index + 1])
        if session and any(turn > seen.turn for turn in edits) and _is_disciplined(session):
            return {step.turn for step in session}
    return None


def retest_before_done(conduct: Conduct) -> set[int] | None:
    """The run of the tests that passes after the last edit, and the reply that says it is finished."""
    started, ended = conduct.episode.started, conduct.episode.ended
    has_done = any(tool.name == "done" for tool in started.tools)
    if ended is None or ended.reason is not (ExitReason.DONE if has_done else ExitReason.NO_CALL_END):
        return None
    if not conduct.behaviour.discipline.retested:
        return None
    runs = [(step, run) for step in conduct.steps if (run := run_of_tests(step)) is not None]
    last, run = runs[-1]
    if not run.passed or ended.turns - last.turn > 1:
        return None
    return {last.turn, ended.turns}


def recover_from_failed_edit(conduct: Conduct) -> set[int] | None:
    """The replies after an edit that was refused, or that tests showed to be wrong, up to the next edit.

    The failed edit itself stays context.
    """
    edits = [step for step in conduct.steps if step.name in EDITORS or step.effective_edits]
    for failed, following in pairwise(edits):
        between = [step for step in conduct.steps if failed.turn < step.turn <= following.turn]
        is_short = 0 < following.turn - failed.turn <= _MOST_RECOVERING
        if is_short and following.effective_edits and _failed(failed, between):
            return {step.turn for step in between if step.is_ok}
    return None


def _failed(edit: Step, after: Sequence[Step]) -> bool:
    if not edit.effective_edits:
        return not edit.is_ok
    return any(run is not None and run.failed for run in map(run_of_tests, after))


def _session_before(steps: Sequence[Step]) -> Sequence[Step]:
    """The calls from the last accepted start on; none without one."""
    starts = [place for place, step in enumerate(steps) if step.name in STARTERS and step.is_ok]
    return steps[starts[-1] :] if starts else ()


def _is_disciplined(session: Sequence[Step]) -> bool:
    if not all(step.is_debugger and step.is_ok for step in session):
        return False
    if session[-1].name == "investigate":
        return len(session) == 1
    has_stopped = any(step.result.facts.get("reason") == "breakpoint" for step in session)
    return has_stopped and not any(step.name.startswith("step_") for step in session)


_FINDERS: Mapping[Skill, Callable[[Conduct], set[int] | None]] = {
    "read_before_edit": read_before_edit,
    "debugger_discipline": debugger_discipline,
    "retest_before_done": retest_before_done,
    "recover_from_failed_edit": recover_from_failed_edit,
}
