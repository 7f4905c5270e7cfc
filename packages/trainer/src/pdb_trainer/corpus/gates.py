"""Behaviour gates: what an episode has to be, besides solved, for a model to learn it whole.

Each gate is a function of the episode's record that gives None, or in words what it objects to. What
counts as an edit, a test run, an inspection or a repetition is what reports of episodes say it is.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from pdb_agent.behaviour import Behaviour, measure
from pdb_agent.episode import Episode, ExitReason
from pdb_agent.episode_steps import STARTERS, Step, run_of_tests, steps_of
from pdb_agent.messages import CallStatus

from pdb_trainer.corpus.settings import GateSettings

_WITHOUT_SESSION = STARTERS | {"attach", "list_sessions"}
_WITHOUT_PROGRAM = frozenset(
    {"stop_debugger", "restart_debugger", "where_am_i", "read_output", "list_breakpoints"}
)
"""Debugger tools that make sense after the program has ended."""
_ENDED = frozenset({"exited", "failed"})
_UNREAD = "Read "
"""How the refusal of an edit begins that was not preceded by a reading."""


class Gate(StrEnum):
    """Why an episode is refused, as the table of reasons says it."""

    DEBUGGER_SHARE = "debugger treadmill"
    DEBUGGER_STREAK = "consecutive debugger run"
    LATE_EDIT = "late source edit"
    NO_RETEST = "final source edit was never retested"
    ORDER = "invalid tool order"
    BLIND_STEPPING = "blind stepping"
    REPEATS = "repeated identical call"
    UNREAD_EDIT = "edit without a prior read of that file"
    UNUSED_OBSERVATION = "debugger observation informs no later edit or run"
    UNVERIFIED_END = "done before a passing run"


@dataclass(frozen=True, slots=True, kw_only=True)
class Rejection:
    """One gate that an episode did not pass."""

    gate: Gate
    detail: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Conduct:
    """An episode with all that gates ask of it."""

    episode: Episode
    steps: Sequence[Step]
    behaviour: Behaviour


def conduct_of(episode: Episode) -> Conduct:
    """Measure an episode once for all gates."""
    return Conduct(episode=episode, steps=steps_of(episode), behaviour=measure(episode))


def rejections(conduct: Conduct, settings: GateSettings) -> tuple[Rejection, ...]:
    """Every gate that an episode does not pass, in a fixed order; none for one that a model may learn."""
    found = ((gate, check(conduct, settings)) for gate, check in _GATES.items())
    return tuple(Rejection(gate=gate, detail=detail) for gate, detail in found if detail is not None)


def debugger_share(conduct: Conduct, settings: GateSettings) -> str | None:
    """Too many of all calls go to the debugger."""
    calls = len(conduct.steps)
    share = conduct.behaviour.debugger.calls / calls if calls else 0.0
    if share <= settings.debugger_share:
        return None
    return f"{conduct.behaviour.debugger.calls} of {calls} calls"


def debugger_streak(conduct: Conduct, settings: GateSettings) -> str | None:
    """Too many calls to the debugger in a row."""
    longest = conduct.behaviour.debugger.longest_run
    return f"{longest} calls in a row" if longest > settings.debugger_streak else None


def late_edit(conduct: Conduct, settings: GateSettings) -> str | None:
    """Too many of the turns are over before the first effective edit."""
    first, turns = conduct.behaviour.discipline.first_edit_turn, conduct.behaviour.turns
    if first is None or first - 1 <= settings.first_source_edit * turns:
        return None
    return f"in turn {first} of {turns}"


def no_retest(conduct: Conduct, settings: GateSettings) -> str | None:
    """No run of a test to be repaired follows the last effective edit."""
    if not settings.require_final_verify or conduct.behaviour.discipline.retested is not False:
        return None
    return "no run of its tests after the last edit"


def order(conduct: Conduct, settings: GateSettings) -> str | None:
    """A call that cannot be answered at its time: without a session, after the program's end, unread."""
    if not settings.require_order:
        return None
    is_open, has_ended = False, False
    for step in conduct.steps:
        if fault := _order_fault(step, is_open=is_open, has_ended=has_ended):
            return f"turn {step.turn}: {step.name} {fault}"
        is_open, has_ended = _session_after(step, is_open, has_ended)
    return None


def blind_stepping(conduct: Conduct, settings: GateSettings) -> str | None:
    """Steps in a row without a look at any value."""
    longest = conduct.behaviour.debugger.longest_step_run
    return f"{longest} steps in a row" if longest >= settings.blind_steps else None


def repeated_call(conduct: Conduct, settings: GateSettings) -> str | None:
    """Equal calls with equal answers in a row."""
    longest = conduct.behaviour.discipline.longest_repeat
    return f"{longest} times in a row" if longest >= settings.repeats else None


def unread_edit(conduct: Conduct, settings: GateSettings) -> str | None:
    """A file that was there is changed before it was read."""
    if not settings.require_read or conduct.behaviour.discipline.edited_after_reading is not False:
        return None
    return f"first edit in turn {conduct.behaviour.discipline.first_edit_turn}"


def unused_observation(conduct: Conduct, settings: GateSettings) -> str | None:
    """An inspection after which there is neither an effective edit nor a run of tests."""
    last = max(
        (step.index for step in conduct.steps if step.effective_edits or run_of_tests(step) is not None),
        default=-1,
    )
    late = [seen for seen in conduct.behaviour.debugger.inspections if seen.index > last]
    if not settings.require_use or not late:
        return None
    return f"inspection in turn {late[0].turn}, and no edit or test run after it"


def unverified_end(conduct: Conduct, settings: GateSettings) -> str | None:
    """It says that it is finished, and its last run of tests did not pass, or there is none."""
    ended = conduct.episode.ended
    is_last_word = ended is not None and ended.reason in (ExitReason.DONE, ExitReason.NO_CALL_END)
    if not settings.require_passing_run or not is_last_word:
        return None
    runs = [run for step in conduct.steps if (run := run_of_tests(step)) is not None]
    if not runs:
        return "no test was run"
    return None if runs[-1].passed else "the last test run did not pass"


def _order_fault(step: Step, *, is_open: bool, has_ended: bool) -> str | None:
    if not step.is_debugger:
        is_unread = step.result.status is CallStatus.FAILED and step.result.text.startswith(_UNREAD)
        return "of a file that was not read" if is_unread else None
    if step.name in _WITHOUT_SESSION:
        return None
    if not is_open:
        return "without a session"
    if has_ended and step.name not in _WITHOUT_PROGRAM:
        return "after the program's end"
    return None


def _session_after(step: Step, is_open: bool, has_ended: bool) -> tuple[bool, bool]:
    """Whether a session is open after a call, and whether its program has ended."""
    if not step.is_debugger or step.name == "investigate":
        return is_open, has_ended
    facts: Mapping[str, Any] = step.result.facts
    if step.name in ("start_debugger", "attach") and "session_id" in facts:
        return True, facts.get("state") in _ENDED
    if step.name == "stop_debugger" and step.is_ok:
        return False, False
    if "state" in facts:
        has_ended = facts["state"] in _ENDED
    return is_open, has_ended


_GATES: Mapping[Gate, Callable[[Conduct, GateSettings], str | None]] = {
    Gate.DEBUGGER_SHARE: debugger_share,
    Gate.DEBUGGER_STREAK: debugger_streak,
    Gate.LATE_EDIT: late_edit,
    Gate.NO_RETEST: no_retest,
    Gate.ORDER: order,
    Gate.BLIND_STEPPING: blind_stepping,
    Gate.REPEATS: repeated_call,
    Gate.UNREAD_EDIT: unread_edit,
    Gate.UNUSED_OBSERVATION: unused_observation,
    Gate.UNVERIFIED_END: unverified_end,
}
