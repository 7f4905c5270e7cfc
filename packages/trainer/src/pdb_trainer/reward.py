"""The reward of an episode, term by term; their sum is the reward. Pure.

    solved:  max(0.50, 1.00 + min(credits, 0.30) - min(penalties, 0.30) - 0.20 min(1.4, turns/30))
    failed:  0.30 p + min(credits, 0.10) - min(penalties, 0.30) - 1.00 k - e k - 0.28,   k = 1 - 0.5 p

where ``p`` is progress and ``e`` depends on the exit. A failure always pays the whole turn cost, so that
giving up early saves nothing, and a guard that ends an episode is the dearest exit, so that stalling until it
does is no way out. Whatever the credits: every failure is worth less than every success.
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass

from pdb_agent.episode import Episode, ExitReason, GroupCount
from pdb_agent.task import Task

from pdb_trainer.errors import ConfigError
from pdb_trainer.reward_facts import RewardFacts, facts_of, verdict_of

HIDDEN = "hidden"


@dataclass(frozen=True, slots=True, kw_only=True)
class RewardSettings:
    """Every number of the reward; penalties and costs are positive here. Raises ConfigError.

    Refused are negative numbers, and settings under which some failure would be worth as much as some
    success, or a guard's end would be cheaper than another.
    """

    success: float = 1.00
    success_floor: float = 0.50
    success_credit_cap: float = 0.30
    failure: float = 1.00
    failure_credit_cap: float = 0.10
    penalty_cap: float = 0.30

    inspection_to_edit: float = 0.20
    debugger_choice: float = 0.15
    localisation: float = 0.10
    code_change: float = 0.05

    malformed_call: float = 0.02
    repeated_call: float = 0.02
    blind_steps: float = 0.05
    test_edit: float = 0.10
    idle_edit: float = 0.02
    unverified_edit: float = 0.10

    turn_cost: float = 0.20
    turn_cost_most: float = 1.4
    """Times ``turn_cost``."""
    turn_cost_scale: float = 30.0
    """Turns that cost ``turn_cost``."""

    exit_turn_cap: float = 0.50
    exit_done: float = 0.50
    """Said to be done, with or without the tool for it, or refused."""
    exit_context: float = 0.50
    exit_budget: float = 0.50
    """Of time, tokens or money."""
    exit_guard: float = 0.75
    """A process guard, or too many turns in a row whose calls do not parse."""

    progress: float = 0.30
    progress_relief: float = 0.50
    """Share of the failing tests' and the exit's deduction that whole progress would take away."""
    most_progress: float = 0.99
    """All visible tests pass, and the task is still not solved."""

    def __post_init__(self) -> None:
        for name, value in asdict(self).items():
            if not value >= 0:
                raise ConfigError(f"{name} is {value}: give the reward no negative numbers.")
        exits = (self.exit_turn_cap, self.exit_done, self.exit_context, self.exit_budget)
        if self.exit_guard < max(exits):
            raise ConfigError(
                f"exit_guard is {self.exit_guard}: make it {max(exits)} at least, or stalling until a guard "
                "ends the episode is the cheapest way to fail."
            )
        best = max(
            self._failure(progress, exit_) for progress in (0.0, self.most_progress) for exit_ in exits
        )
        if best >= self.success_floor:
            raise ConfigError(
                f"A failure can be worth {best:.2f} and a success {self.success_floor:.2f}: raise "
                "success_floor, or lower failure_credit_cap or progress."
            )

    def _failure(self, progress: float, exit_: float) -> float:
        """The most that a failure can be worth at some progress and exit."""
        kept = 1.0 - self.progress_relief * progress
        full_turns = self.turn_cost * self.turn_cost_most
        return self.progress * progress + self.failure_credit_cap - (self.failure + exit_) * kept - full_turns


DEFAULT = RewardSettings()


def itemised(
    episode: Episode,
    task: Task,
    settings: RewardSettings = DEFAULT,
    *,
    before: Sequence[GroupCount] | None = None,
) -> dict[str, float]:
    """The terms of an episode's reward; see ``facts_of`` for ``before``.

    Raises RewardError for an episode that ended by infrastructure or was cut off: it is run again.
    """
    return terms_of(facts_of(episode, task, before=before), settings)


def outcome_only(episode: Episode) -> dict[str, float]:
    """1 when every hidden test passes and none was interfered with, else 0. Raises RewardError."""
    _, graded = verdict_of(episode)
    hidden = [group for group in graded.groups if group.name == HIDDEN]
    is_whole = all(group.passed == group.total > 0 for group in hidden) if hidden else graded.solved
    return {"outcome": float(is_whole and not graded.tamper)}


def terms_of(facts: RewardFacts, settings: RewardSettings = DEFAULT) -> dict[str, float]:
    """The terms, the same names in the same order for every episode; what does not apply is 0."""
    one = settings
    credits_ = _credits(facts, one)
    penalties = _penalties(facts, one)
    credit_cap = one.success_credit_cap if facts.solved else one.failure_credit_cap
    parts = {
        **credits_,
        "credit_cap": min(0.0, credit_cap - sum(credits_.values())),
        **{name: -value for name, value in penalties.items()},
        "penalty_cap": max(0.0, sum(penalties.values()) - one.penalty_cap),
    }
    return _success(facts, parts, one) if facts.solved else _failure(facts, parts, one)


def _success(facts: RewardFacts, parts: dict[str, float], one: RewardSettings) -> dict[str, float]:
    turns = one.turn_cost * min(one.turn_cost_most, facts.turns / one.turn_cost_scale)
    terms = {"outcome": one.success, "progress": 0.0, **parts, "exit": 0.0, "turns": -turns}
    return {**terms, "floor": max(0.0, one.success_floor - sum(terms.values()))}


def _failure(facts: RewardFacts, parts: dict[str, float], one: RewardSettings) -> dict[str, float]:
    progress = min(max(facts.progress, 0.0), one.most_progress)
    kept = 1.0 - one.progress_relief * progress
    return {
        "outcome": -one.failure * kept,
        "progress": one.progress * progress,
        **parts,
        "exit": -_exit(facts.exit, one) * kept,
        "turns": -one.turn_cost * one.turn_cost_most,
        "floor": 0.0,
    }


def _credits(facts: RewardFacts, one: RewardSettings) -> dict[str, float]:
    return {
        "inspection_to_edit": one.inspection_to_edit * facts.inspected_before_edit,
        "debugger_choice": one.debugger_choice * facts.debugger_fits,
        "localisation": one.localisation * facts.localised,
        "code_change": one.code_change * facts.code_changed,
    }


def _penalties(facts: RewardFacts, one: RewardSettings) -> dict[str, float]:
    return {
        "malformed_calls": one.malformed_call * facts.malformed_calls,
        "repeated_calls": one.repeated_call * facts.repeated_calls,
        "blind_steps": one.blind_steps * facts.blind_steps,
        "test_edits": one.test_edit * facts.test_edits,
        "idle_edits": one.idle_edit * facts.idle_edits,
        "unverified_edit": one.unverified_edit * facts.unverified,
    }


def _exit(reason: ExitReason, one: RewardSettings) -> float:
    match reason:
        case ExitReason.GUARD | ExitReason.FORMAT_LIMIT:
            return one.exit_guard
        case ExitReason.TURN_CAP:
            return one.exit_turn_cap
        case ExitReason.CONTEXT:
            return one.exit_context
        case ExitReason.TOKEN_BUDGET | ExitReason.COST_BUDGET | ExitReason.WALL_TIME:
            return one.exit_budget
        case _:
            return one.exit_done
