"""What a lab found: solve rates with intervals over tasks, their differences, and whether these are proof."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import pairwise
from typing import Any

from pdb_agent.episode import Answered, Episode, Replied, Said
from pdb_agent.messages import AssistantMessage
from pdb_agent.statistics import Estimate, differences, estimate, paired_estimate, tally

BASE, SFT, RL = "base", "sft", "rl"
STAGES = (BASE, SFT, RL)
LIMITS = (
    "The policy is taught one gym: nothing follows for other programs or models.",
    "Held-out programs come from the same 18 shapes as those met; they differ in constants, operators, names "
    "and defect, and no whole program is shared.",
    "One seed is one sample of training: intervals are over tasks, not over trainings.",
    "An edit menu is easier than writing a patch: the right change is one of six entries.",
)
LIMITS_OF_A_MADE_BASE = (
    "The base has a million parameters. It begins with random weights that lean towards copying, and has "
    "read right programs of the training set and how tools are called, with entries of the menu drawn by "
    "chance.",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """What one stage brought, over tasks."""

    before: str
    after: str
    estimate: Estimate
    wins: int
    losses: int
    ties: int

    @property
    def is_a_rise(self) -> bool:
        """Whether the whole interval lies above zero."""
        return self.estimate.interval is not None and self.estimate.interval.low > 0


def solved_of(episodes: Mapping[str, Episode]) -> dict[str, float]:
    """1 or 0 by task."""
    return {task: float(episode.solved) for task, episode in episodes.items()}


def differences_of(solved: Mapping[str, Mapping[str, float]]) -> list[Difference]:
    """Stage by stage, on the tasks of the earlier one. Raises ValueError where the later one lacks some."""
    found: list[Difference] = []
    for before, after in pairwise(STAGES):
        if not solved[before].keys() <= solved[after].keys():
            raise ValueError(f"{before} and {after} were measured on different tasks")
        earlier = list(solved[before].values())
        later = [solved[after][task] for task in solved[before]]
        whole = paired_estimate(earlier, later)
        assert whole is not None
        counts = tally(differences(earlier, later))
        found.append(Difference(before=before, after=after, estimate=whole, **asdict(counts)))
    return found


def stage_record(episodes: Mapping[str, Episode]) -> dict[str, Any]:
    """One evaluation: rate, interval, counts per task, and how episodes ended."""
    solved = solved_of(episodes)
    reasons = Counter(str(episode.ended.reason) for episode in episodes.values() if episode.ended)
    turns = [episode.ended.turns for episode in episodes.values() if episode.ended]
    return {
        "solved": estimate_record(estimate(list(solved.values()))),
        "tasks": {task: {"episodes": 1, "solved": int(value)} for task, value in solved.items()},
        "ends": dict(sorted(reasons.items())),
        "mean_turns": sum(turns) / len(turns) if turns else 0.0,
    }


def difference_record(difference: Difference) -> dict[str, Any]:
    """A difference, for the results file."""
    counts = {"wins": difference.wins, "losses": difference.losses, "ties": difference.ties}
    return {
        "before": difference.before,
        "after": difference.after,
        **estimate_record(difference.estimate),
        **counts,
        "is_a_rise": difference.is_a_rise,
    }


def estimate_record(value: Estimate | None) -> dict[str, Any]:
    """A mean with its 95% interval over tasks."""
    if value is None:
        return {"mean": None, "low": None, "high": None, "tasks": 0}
    interval = value.interval
    return {
        "mean": value.value,
        "low": interval.low if interval else None,
        "high": interval.high if interval else None,
        "tasks": value.tasks,
    }


def transcript(episode: Episode) -> list[dict[str, str]]:
    """What was said, from the task on."""
    lines: list[dict[str, str]] = []
    for event in episode.events:
        match event:
            case Said(text=text):
                lines.append({"who": "user", "text": text})
            case Replied(reply=reply):
                lines.append({"who": "model", "text": _words(reply.message)})
            case Answered(result=result):
                lines.append({"who": result.name or "tool", "text": result.text})
            case _:
                pass
    end = episode.ended
    lines.append({"who": "end", "text": f"{end.reason}, solved: {episode.solved}" if end else "cut off"})
    return lines


def summary(records: Mapping[str, Mapping[str, Any]], found: Sequence[Difference]) -> str:
    """A few lines for a person."""
    lines = [f"{'stage':8} {'solved':>7}   95% over tasks"]
    for stage in STAGES:
        rate = records[stage]["solved"]
        lines.append(f"{stage:8} {rate['mean']:7.1%}   {_interval(rate)}  of {rate['tasks']} tasks")
    for one in found:
        words = "a rise" if one.is_a_rise else "NO RISE that can be told from chance"
        value = estimate_record(one.estimate)
        lines.append(f"{one.before} to {one.after}: {value['mean']:+.1%}  {_interval(value)}  {words}")
    return "\n".join(lines) + "\n"


def _interval(record: Mapping[str, Any]) -> str:
    return "(too few tasks)" if record["low"] is None else f"({record['low']:+.1%} to {record['high']:+.1%})"


def _words(message: AssistantMessage) -> str:
    calls = [f"{call.name}({call.raw})" if call.error is None else call.raw for call in message.calls]
    return "\n".join([message.text, *calls])
