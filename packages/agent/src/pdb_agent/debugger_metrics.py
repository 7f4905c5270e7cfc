"""How an arm's episodes used the debugger, in numbers. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pdb_agent.debugger_sessions import Outcome
from pdb_agent.shares import Share, Spread, per, share_of, spread
from pdb_agent.summary import EpisodeSummary


@dataclass(frozen=True, slots=True, kw_only=True)
class DebuggerMetrics:
    """How the debugger was used; per opener means: in episodes in which it was opened."""

    appeared: Share
    """Episodes in which there was a debugger at some time."""
    appeared_turn: Spread | None
    """Of those in which it was not there from the start."""
    opened: Share
    opened_by_preference: Mapping[str, Share]
    appropriate_use: float | None
    """Mean of the open rate on recommended tasks and its complement on avoid tasks."""
    first_open_turn: Spread | None
    first_open_position: Spread | None
    """Of the episode's turns, 0 to 1."""
    sessions_per_opener: float | None
    calls_per_session: float | None
    """The start left out."""
    share_of_calls: Share
    longest_run: Spread | None
    targeted_starts: Share
    refused_starts: int
    sessions_with_stop: Share
    empty_runs: Share
    """Of sessions."""
    breakpoints: Mapping[Outcome, int]
    wasted_breakpoints: Share
    inspections_per_opener: float | None
    undefined_reads_per_opener: float | None
    with_blind_steps: Share
    """Openers with a run of three steps or more without an inspection."""
    inspection_to_edit: Share
    """Of episodes with an inspection."""
    inspection_to_edit_strict: Share
    witness_before_edit: Share


def debugger_metrics(scored: Sequence[EpisodeSummary]) -> DebuggerMetrics:
    """Of scored episodes of one arm."""
    uses = [one.behaviour.debugger for one in scored]
    openers = [one for one in scored if one.behaviour.debugger.opened]
    count = len(openers)
    sessions = [calls for use in uses for calls in use.session_calls]
    starts = sum(use.sessions for use in uses)
    requests = sum(use.requests for use in uses)
    calls = sum(tool.calls for one in scored for tool in one.behaviour.tools.values())
    firsts = [
        (first, one.turns) for one in openers if (first := one.behaviour.debugger.first_open_turn) is not None
    ]
    by_preference = {
        value: share_of(
            [one for one in scored if one.preference == value], lambda one: one.behaviour.debugger.opened
        )
        for value in sorted({one.preference for one in scored})
    }
    since = [turn for one in scored if (turn := one.behaviour.debugger_from_turn) is not None]
    return DebuggerMetrics(
        appeared=Share(count=len(since), total=len(scored)),
        appeared_turn=spread([turn for turn in since if turn > 0]),
        opened=Share(count=count, total=len(scored)),
        opened_by_preference=by_preference,
        appropriate_use=_appropriate(by_preference),
        first_open_turn=spread([first for first, _ in firsts]),
        first_open_position=spread([first / turns for first, turns in firsts]),
        sessions_per_opener=per(starts, count),
        calls_per_session=per(sum(sessions), len(sessions)),
        share_of_calls=Share(count=sum(use.calls for use in uses), total=calls),
        longest_run=spread([one.behaviour.debugger.longest_run for one in openers]),
        targeted_starts=Share(count=sum(use.targeted_starts for use in uses), total=starts),
        refused_starts=sum(use.refused_starts for use in uses),
        sessions_with_stop=Share(count=sum(use.sessions_with_stop for use in uses), total=starts),
        empty_runs=Share(count=sum(use.empty_runs for use in uses), total=starts),
        breakpoints={outcome: sum(use.breakpoints[outcome] for use in uses) for outcome in Outcome},
        wasted_breakpoints=Share(count=sum(use.wasted for use in uses), total=requests),
        inspections_per_opener=per(sum(len(use.inspections) for use in uses), count),
        undefined_reads_per_opener=per(sum(use.undefined_reads for use in uses), count),
        with_blind_steps=share_of(openers, lambda one: one.behaviour.debugger.blind_step_runs > 0),
        inspection_to_edit=share_of(scored, _converted),
        inspection_to_edit_strict=share_of(scored, _converted_strictly),
        witness_before_edit=share_of(scored, lambda one: one.behaviour.witness_before_edit),
    )


def _converted(one: EpisodeSummary) -> bool | None:
    return one.behaviour.inspection_led_to_edit if one.behaviour.debugger.inspections else None


def _converted_strictly(one: EpisodeSummary) -> bool | None:
    return one.behaviour.inspection_led_to_edit_strictly if one.behaviour.debugger.inspections else None


def _appropriate(by_preference: Mapping[str, Share]) -> float | None:
    none = Share(count=0, total=0)
    wanted = by_preference.get("recommended", none).value
    unwanted = by_preference.get("avoid", none).value
    return None if wanted is None or unwanted is None else (wanted + 1.0 - unwanted) / 2
