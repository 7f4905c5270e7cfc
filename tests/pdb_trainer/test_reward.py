"""The reward's laws, over all facts an episode may have, and its numbers by hand."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pdb_agent.episode import ExitReason
from pdb_trainer.errors import ConfigError
from pdb_trainer.reward import RewardSettings, terms_of
from pdb_trainer.reward_facts import RewardFacts

from tests.pdb_trainer.strategies import SCORED_EXITS, reward_facts

SLACK = 1e-9
ALL_CREDIT = {
    "inspected_before_edit": True,
    "debugger_fits": True,
    "localised": True,
    "code_changed": True,
}
STALLED = RewardFacts(solved=False, exit=ExitReason.GUARD, turns=9, **ALL_CREDIT)
"""The article's trajectory A: a guard stopped it, and each credit was paid."""
WORKED = RewardFacts(solved=False, exit=ExitReason.TURN_CAP, turns=50, debugger_fits=True, code_changed=True)
"""Its trajectory B: real edits and test runs, until the turns were used up; credits of 0.20."""
FIXED = RewardFacts(solved=True, exit=ExitReason.DONE, turns=15)


def reward(facts: RewardFacts, settings: RewardSettings | None = None) -> float:
    return sum(terms_of(facts, settings or RewardSettings()).values())


def test_stalling_until_a_guard_is_worth_less_than_working_until_the_turn_cap():
    assert reward(STALLED) == pytest.approx(-1.93)
    assert reward(WORKED) == pytest.approx(-1.68)
    assert reward(replace(WORKED, progress=0.25)) == pytest.approx(-1.4175)
    assert reward(replace(WORKED, progress=0.50)) == pytest.approx(-1.155)


def test_the_terms_of_the_stalled_episode_are_named_and_sum_to_its_reward():
    terms = terms_of(STALLED)
    assert {name: value for name, value in terms.items() if value} == pytest.approx(
        {
            "outcome": -1.0,
            "inspection_to_edit": 0.20,
            "debugger_choice": 0.15,
            "localisation": 0.10,
            "code_change": 0.05,
            "credit_cap": -0.40,
            "exit": -0.75,
            "turns": -0.28,
        }
    )


def test_a_success_pays_for_its_turns_and_its_habits():
    assert reward(FIXED) == pytest.approx(0.90)
    assert reward(replace(FIXED, **ALL_CREDIT)) == pytest.approx(1.00 + 0.30 - 0.10)
    assert reward(replace(FIXED, localised=True, repeated_calls=3, unverified=True)) == pytest.approx(
        1.00 + 0.10 - (0.06 + 0.10) - 0.10
    )
    assert reward(replace(FIXED, turns=42)) == pytest.approx(0.72)
    assert reward(replace(FIXED, turns=400)) == pytest.approx(0.72)


def test_a_success_has_a_floor():
    worst = replace(FIXED, turns=400, test_edits=50)
    assert reward(worst) == pytest.approx(0.50)
    terms = terms_of(worst)
    assert (terms["test_edits"], terms["penalty_cap"]) == pytest.approx((-5.0, 4.7))
    assert terms["floor"] == pytest.approx(0.50 - (1.00 - 0.30 - 0.28))


def test_a_failure_that_progressed_pays_less_for_its_tests_and_its_exit():
    facts = RewardFacts(solved=False, exit=ExitReason.DONE, turns=10, progress=0.5, malformed_calls=2)
    terms = terms_of(facts)
    assert terms["outcome"] == pytest.approx(-0.75)
    assert terms["exit"] == pytest.approx(-0.375)
    assert terms["progress"] == pytest.approx(0.15)
    assert terms["turns"] == pytest.approx(-0.28)
    assert terms["malformed_calls"] == pytest.approx(-0.04)
    assert reward(facts) == pytest.approx(0.15 - 0.04 - 0.75 - 0.375 - 0.28)


def test_giving_up_early_costs_what_the_turn_cap_costs():
    early = RewardFacts(solved=False, exit=ExitReason.DONE, turns=1)
    late = RewardFacts(solved=False, exit=ExitReason.TURN_CAP, turns=50)
    assert reward(early) == reward(late)


@given(reward_facts(solved=False), reward_facts(solved=True))
def test_every_failure_is_worth_less_than_every_success(failure: RewardFacts, success: RewardFacts):
    assert reward(failure) <= reward(success) - 1.14 + SLACK


@given(reward_facts())
def test_rewards_stay_in_their_bounds(facts: RewardFacts):
    low, high = (0.50, 1.2934) if facts.solved else (-2.33, -0.64)
    assert low - SLACK <= reward(facts) <= high + SLACK


def test_the_bounds_are_reached():
    worst = replace(STALLED, **dict.fromkeys(ALL_CREDIT, False), test_edits=9)
    best = RewardFacts(solved=False, exit=ExitReason.DONE, turns=3, progress=1.0, **ALL_CREDIT)
    assert reward(worst) == pytest.approx(-2.33)
    assert reward(best) == pytest.approx(-0.6405)
    assert reward(replace(FIXED, turns=1, **ALL_CREDIT)) == pytest.approx(1.29333, abs=1e-5)


@given(reward_facts(), st.floats(0, 1))
def test_progress_never_lowers_a_reward(facts: RewardFacts, more: float):
    further = replace(facts, progress=max(facts.progress, more))
    assert reward(further) >= reward(facts) - SLACK


@given(reward_facts(solved=False), st.sampled_from(SCORED_EXITS))
def test_a_guard_is_the_worst_end_of_the_same_failure(facts: RewardFacts, other: ExitReason):
    guarded = replace(facts, exit=ExitReason.GUARD)
    assert reward(guarded) <= reward(replace(facts, exit=other)) + SLACK
    assert reward(guarded) < reward(replace(facts, exit=ExitReason.TURN_CAP))


@given(reward_facts(solved=False), reward_facts(solved=False))
def test_farming_credit_on_a_failure_gains_a_tenth_at_most(one: RewardFacts, other: RewardFacts):
    credit = {name: getattr(other, name) for name in ALL_CREDIT}
    assert abs(reward(replace(one, **credit)) - reward(one)) <= 0.10 + SLACK


@given(reward_facts())
def test_each_bad_habit_costs_and_all_together_cost_no_more_than_their_cap(facts: RewardFacts):
    worse = replace(facts, test_edits=facts.test_edits + 1, blind_steps=facts.blind_steps + 1)
    assert reward(facts) - 0.30 - SLACK <= reward(worse) <= reward(facts) + SLACK


@given(reward_facts())
def test_every_episode_has_the_same_terms_in_the_same_order(facts: RewardFacts):
    assert list(terms_of(facts)) == list(terms_of(STALLED))


def test_settings_that_would_break_a_law_are_refused():
    with pytest.raises(ConfigError, match="raise success_floor"):
        RewardSettings(success_floor=0.1, failure_credit_cap=1.0)
    with pytest.raises(ConfigError, match=r"exit_guard is 0\.2: make it 0\.5"):
        RewardSettings(exit_guard=0.2)
    with pytest.raises(ConfigError, match="turn_cost is -1"):
        RewardSettings(turn_cost=-1.0)
    with pytest.raises(ConfigError, match="progress is nan"):
        RewardSettings(progress=float("nan"))


def test_other_settings_are_used():
    settings = RewardSettings(turn_cost=0.0, exit_turn_cap=0.4, failure=1.2)
    assert reward(WORKED, settings) == pytest.approx(0.10 - 1.2 - 0.4)
