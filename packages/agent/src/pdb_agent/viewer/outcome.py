"""How an episode came out, in words and counts; nothing of a hidden test but how many passed."""

from pdb_agent.episode import Ended, Episode, ExitReason
from pdb_agent.viewer.records import Outcome
from pdb_agent.viewer.visible_text import visible

_GROUPS = {
    "fail_to_pass": "tests that failed",
    "pass_to_pass": "tests that passed",
    "hidden": "hidden tests",
}
_REASONS = {
    ExitReason.DONE: "The model said that it was done",
    ExitReason.NO_CALL_END: "The model answered without a call",
    ExitReason.TURN_CAP: "The turns ran out",
    ExitReason.CONTEXT: "The context was full",
    ExitReason.TOKEN_BUDGET: "The tokens ran out",
    ExitReason.COST_BUDGET: "The money ran out",
    ExitReason.WALL_TIME: "The time ran out",
    ExitReason.GUARD: "A guard ended it",
    ExitReason.REFUSAL: "The model refused",
    ExitReason.FORMAT_LIMIT: "Too many replies could not be read",
    ExitReason.PROVIDER_FATAL: "The provider failed",
    ExitReason.SANDBOX: "The sandbox failed",
    ExitReason.GRADER: "Grading failed",
}


def outcome_of(episode: Episode) -> Outcome:
    """The verdict, or why there is none."""
    ended = episode.ended
    if ended is None:
        return Outcome(solved=None, words="The episode was cut off.")
    why = _REASONS[ended.reason] + (f" ({visible(ended.detail)})" if ended.detail else "")
    graded = ended.graded
    if graded is None:
        return Outcome(solved=None, words=f"{why}. It was not graded.")
    return Outcome(
        solved=graded.solved,
        words=f"{why}. {visible(graded.reason)}{_failure(ended)}",
        groups=tuple((_GROUPS.get(one.name, one.name), one.passed, one.total) for one in graded.groups),
    )


def facts_of(episode: Episode) -> tuple[tuple[str, str], ...]:
    """What one wants to know of an episode beside what happens in it."""
    started, ended = episode.started, episode.ended
    facts = [
        ("policy", started.policy),
        ("arm", started.arm),
        ("toolset", started.toolset),
        ("family", started.family.replace("_", " ")),
        ("difficulty", f"{started.difficulty} of 5"),
        ("debugger", started.preference),
        ("split", started.split),
        ("began", started.began.replace("T", " ")),
    ]
    if ended is not None:
        clock = ended.clock
        facts += [
            ("turns", str(ended.turns)),
            ("tokens in", f"{ended.usage.input + ended.usage.cache_read + ended.usage.cache_write:,}"),
            ("tokens out", f"{ended.usage.output:,}"),
            ("largest context", f"{ended.peak_context:,}"),
            ("time", f"{clock.total:.1f} s, of which model {clock.model:.1f} s, tools {clock.tools:.1f} s"),
        ]
    return tuple((name, visible(value)) for name, value in facts)


def _failure(ended: Ended) -> str:
    return f" Failure class: {ended.failure.value.replace('_', ' ')}." if ended.failure else ""
