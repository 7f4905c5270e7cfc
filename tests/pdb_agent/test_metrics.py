from collections.abc import Sequence
from dataclasses import replace
from decimal import Decimal
from typing import Any

import pytest
from pdb_agent.comparison import compare
from pdb_agent.debugger_sessions import Outcome
from pdb_agent.episode import ExitReason, FailureClass
from pdb_agent.messages import CallStatus, ToolSpec
from pdb_agent.metrics import ArmMetrics, arm_metrics
from pdb_agent.shares import Share
from pdb_agent.summary import EpisodeSummary, summarise

from tests.pdb_agent.episode_making import (
    Act,
    act,
    debugging,
    done,
    edit,
    ended,
    episode,
    shell,
    unlocking,
)


def opening(turn: int = 1) -> list[list[Act]]:
    """A start in a given turn, and a look at locals in the next."""
    return [[shell(f"ls {n}")] for n in range(turn - 1)] + [
        [debugging("start_debugger", facts={"reason": "entry"}, target="tests")],
        [debugging("examine_locals")],
    ]


def summary(
    *,
    turns: Sequence[Sequence[Act]] = ([edit()], [done()]),
    solved: bool = True,
    count: int | None = None,
    reason: ExitReason = ExitReason.DONE,
    failure: FailureClass = FailureClass.HIDDEN_FAIL,
    **start: Any,
) -> EpisodeSummary:
    end = ended(
        solved=solved,
        turns=len(turns) if count is None else count,
        reason=reason,
        failure=None if solved or reason.is_infrastructure else failure,
    )
    return summarise(episode(turns, end=end, **start))


def outcomes(solved_of_eight: Sequence[int], **start: Any) -> list[EpisodeSummary]:
    return [
        summary(solved=number < solved, task=f"task_{place:02}", number=number, **start)
        for place, solved in enumerate(solved_of_eight)
        for number in range(8)
    ]


def metrics(summaries: Sequence[EpisodeSummary]) -> ArmMetrics:
    return arm_metrics("debug", summaries)


def test_the_published_final_table_comes_out_of_its_episodes() -> None:
    """175 of 240 solved, 29 of 30 tasks at least once."""
    solved = [8] * 13 + [7] * 5 + [4] * 6 + [2] * 4 + [4, 0]
    assert (len(solved), sum(solved)) == (30, 175)

    found = metrics(outcomes(solved)).rates

    assert (found.tasks, found.episodes, found.solved) == (30, 240, 175)
    assert found.pass_at[1] is not None
    assert f"{100 * found.pass_at[1].value:.1f}" == "72.9"
    assert found.pass_at[1].interval is not None
    assert found.solved_once is not None
    assert found.solved_once.value == 29 / 30
    assert found.solved_always is not None
    assert found.solved_always.value == 13 / 30


def test_pass_at_k_and_pass_hat_k_are_means_over_tasks() -> None:
    found = metrics(outcomes([8, 2, 0])).rates

    assert found.pass_at[3] is not None
    assert found.pass_at[3].value == pytest.approx((1 + (1 - 20 / 56) + 0) / 3)
    assert found.pass_hat[3] is not None
    assert found.pass_hat[3].value == pytest.approx(1 / 3)
    assert found.pass_at[8] is not None
    assert found.pass_at[8].value == pytest.approx(2 / 3)
    assert found.pass_at[1] is not None
    assert found.pass_at[1].interval is None  # three tasks


def test_infrastructure_is_counted_bounded_and_never_scored() -> None:
    summaries = [
        summary(task="a", number=0),
        summary(task="a", number=1, solved=False),
        summary(task="a", number=2, solved=False, reason=ExitReason.SANDBOX),
        summary(task="b", number=0),
        summary(task="b", number=1),
        summary(task="b", number=2),
    ]

    found = metrics(summaries)

    assert (found.episodes, found.infra, found.rates.episodes) == (6, 1, 5)
    assert found.rates.pass_at[1] is not None
    assert found.rates.pass_at[1].value == (0.5 + 1.0) / 2
    assert found.rates.pass_at[3] is None
    assert found.rates.worst == pytest.approx((1 / 3 + 1) / 2)
    assert found.rates.best == pytest.approx((2 / 3 + 1) / 2)
    assert found.endings["sandbox"] == {"infra": 1}
    assert found.failures == {"hidden_fail": 1}


def test_failure_classes_are_crossed_with_exit_reasons() -> None:
    summaries = [
        summary(solved=False, reason=ExitReason.TURN_CAP, failure=FailureClass.NEVER_EDIT, turns=[[done()]]),
        summary(solved=False, reason=ExitReason.TURN_CAP, failure=FailureClass.VISIBLE_FAIL),
        summary(solved=False, failure=FailureClass.REGRESSION),
        summary(),
    ]

    found = metrics(summaries)

    assert found.endings == {
        "turn_cap": {"never_edit": 1, "visible_fail": 1},
        "done": {"regression": 1, "solved": 1},
    }
    assert found.wrong_fixes == 2
    assert found.effort.at_turn_cap == Share(count=2, total=4)
    assert found.discipline.never_edited == Share(count=1, total=4)


def test_strata_are_by_preference_difficulty_and_family() -> None:
    summaries = [
        summary(task="a", preference="avoid", difficulty=1, family="dates"),
        summary(task="b", preference="recommended", difficulty=5, family="locks", solved=False),
    ]

    found = metrics(summaries).strata

    assert {name: list(values) for name, values in found.items()} == {
        "preference": ["avoid", "recommended"],
        "difficulty": ["1", "5"],
        "family": ["dates", "locks"],
    }
    assert found["preference"]["avoid"].solved == 1
    assert found["family"]["locks"].solved == 0


def test_turns_tokens_and_time_are_of_scored_episodes() -> None:
    summaries = [
        summary(count=10),
        summary(count=20),
        summary(count=50, solved=False, reason=ExitReason.TURN_CAP),
        summary(count=3, solved=False, reason=ExitReason.PROVIDER_FATAL),
    ]

    found = metrics(summaries).effort

    assert found.turns is not None
    assert (found.turns.median, found.turns.first_quartile, found.turns.third_quartile) == (20, 15, 35)
    assert found.turns_when_solved is not None
    assert found.turns_when_solved.median == 15
    assert found.tokens_per_episode["input"] == pytest.approx(8000 / 3)
    assert found.tokens_per_solved == (8000 + 1600) / 2
    assert found.seconds_per_episode["model"] == pytest.approx(0.7 * 80 / 3)
    assert sum(found.seconds_per_episode.values()) == pytest.approx(80 / 3 + 2)


def test_an_unknown_price_makes_the_cost_unknown_and_never_zero() -> None:
    known = summarise(episode([[edit()], [done()]]), price=lambda policy, reply: Decimal("0.25"))
    unknown = summarise(episode([[done()]]), price=lambda policy, reply: None)
    unasked = summarise(episode([[done()]]))

    assert known.cost == Decimal("0.50")
    assert metrics([known, known]).effort.cost_per_episode == Decimal("0.50")
    assert metrics([known]).effort.cost_per_solved == Decimal("0.50")
    assert unknown.cost is None
    mixed = metrics([known, unknown, unasked]).effort
    assert (mixed.cost_per_episode, mixed.cost_per_solved, mixed.unpriced_episodes) == (None, None, 2)


def test_appropriate_use_weighs_opening_where_it_helps_and_leaving_where_it_does_not() -> None:
    summaries = [
        summary(turns=opening(), preference="recommended"),
        summary(turns=opening(), preference="recommended"),
        summary(preference="recommended"),
        summary(preference="recommended"),
        summary(turns=opening(), preference="avoid"),
        *[summary(preference="avoid") for _ in range(3)],
    ]

    found = metrics(summaries).debugger

    assert found is not None
    assert found.opened == Share(count=3, total=8)
    assert found.opened_by_preference == {
        "avoid": Share(count=1, total=4),
        "recommended": Share(count=2, total=4),
    }
    assert found.appropriate_use == (0.5 + 0.75) / 2


def test_debugger_numbers_are_of_openers_and_sessions() -> None:
    bound = {"id": 1, "at": "x", "file": "shop/cart.py", "line": 1, "is_moved": False}
    good = [
        *opening(turn=3)[:-1],
        [debugging("add_breakpoint", "breakpoint 1 at x", facts={"breakpoints": [bound]})],
        [debugging("continue_execution", facts={"reason": "breakpoint", "breakpoint_ids": [1]})],
        [debugging("examine_locals")],
        [edit()],
        [done()],
    ]
    refused = [*opening(), [debugging("add_breakpoint", "no", status=CallStatus.FAILED)]]

    found = metrics([summary(turns=good), summary(turns=refused), summary()]).debugger

    assert found is not None
    assert found.first_open_turn is not None
    assert found.first_open_turn.median == 2
    assert found.first_open_position is not None
    assert found.first_open_position.median == pytest.approx((3 / 8 + 1 / 3) / 2)
    assert (found.sessions_per_opener, found.calls_per_session) == (1.0, 2.5)
    assert found.sessions_with_stop == Share(count=1, total=2)
    assert found.breakpoints[Outcome.HIT] == found.breakpoints[Outcome.REJECTED] == 1
    assert found.wasted_breakpoints == Share(count=1, total=2)
    assert found.inspection_to_edit == Share(count=1, total=2)
    assert found.inspections_per_opener == 1.0
    assert found.share_of_calls == Share(count=7, total=13)


def test_an_arm_whose_debugger_appears_later_says_when_and_how_often() -> None:
    turns = [[edit()], [edit()], [edit()], [done()]]
    early, late = (summarise(unlocking(turns, turn=turn)) for turn in (1, 3))
    tools = tuple(ToolSpec(name=name, description="", schema={}) for name in ("bash", "done"))
    never = summary(turns=turns, toolset="unlock-after-k", tools=tools)

    found = metrics([early, late, never]).debugger

    assert found is not None
    assert found.appeared == Share(count=2, total=3)
    assert found.appeared_turn is not None
    assert found.appeared_turn.median == 2
    assert early.conditions.tools_hash == late.conditions.tools_hash
    always = metrics([summary()]).debugger
    assert always is not None
    assert (always.appeared, always.appeared_turn) == (Share(count=1, total=1), None)


def test_an_arm_without_a_debugger_has_no_debugger_numbers() -> None:
    assert metrics([summary(toolset="no-debugger")]).debugger is None


def test_tool_errors_are_shares_of_the_calls_of_that_tool() -> None:
    bad = act("read_file", status=CallStatus.FAILED)

    found = metrics([summary(turns=[[bad], [act("read_file")], [edit()], [done()]])]).tools

    assert found["read_file"].failed == Share(count=1, total=2)
    assert found["read_file"].malformed == Share(count=0, total=2)


def test_the_final_edit_position_is_a_share_of_the_turns() -> None:
    found = metrics([summary(turns=[[shell("ls")], [edit()], [shell("pytest")], [done()]])]).discipline

    assert found.first_edit_position is not None
    assert found.first_edit_position.median == 0.5
    assert found.retested == Share(count=1, total=1)
    assert found.edited_after_reading == Share(count=0, total=1)


def test_two_arms_are_compared_on_the_tasks_that_both_have() -> None:
    before = [*outcomes([8, 4, 0, 2], toolset="no-debugger"), summary(task="only_before")]
    after = outcomes([8, 2, 1, 8])

    found = compare(before, after, ("without", "with"))

    assert found is not None
    assert (found.tasks, found.left_out) == (4, ("only_before",))
    assert found.pass_at_1.before == pytest.approx(14 / 32)
    assert found.pass_at_1.after == pytest.approx(19 / 32)
    assert found.pass_at_1.change.value == pytest.approx(5 / 32)
    assert found.pass_at_1.change.interval is None
    assert (found.pass_at_1.tally.wins, found.pass_at_1.tally.losses, found.pass_at_1.tally.ties) == (2, 1, 1)
    # of the 8 assignments of signs to 6, 2 and 1 eighths, those of at least |6-2+1| = 5: +-9, +-7, +-5
    assert found.pass_at_1.p == 6 / 8
    assert found.opening is None


def test_what_opening_costs_is_told_per_opener_and_over_all_tasks() -> None:
    before = [summary(task=task, count=10, toolset="no-debugger") for task in ("a", "b", "c")]
    after = [
        summary(task="a", count=42, turns=opening()),
        summary(task="a", count=12),
        summary(task="b", count=48, turns=opening()),
        summary(task="c", count=10),
    ]

    found = compare(before, after, ("without", "with"))

    assert found is not None
    assert found.turns.change.value == pytest.approx((17 + 38 + 0) / 3)
    assert found.opening is not None
    assert (found.opening.tasks, found.opening.episodes) == (2, 2)
    assert found.opening.turns.value == (32 + 38) / 2
    assert found.opening.tokens_ratio == pytest.approx(4.5)


def test_arms_without_a_common_task_cannot_be_compared() -> None:
    assert compare([summary(task="a")], [summary(task="b")], ("x", "y")) is None


def test_tasks_of_one_template_count_as_one_in_intervals() -> None:
    alone = outcomes([8, 0] * 10)
    alike = [replace(one, group=one.task[-1]) for one in alone]  # ten templates of two tasks

    wide, narrow = metrics(alike).rates.pass_at[1], metrics(alone).rates.pass_at[1]

    assert wide is not None
    assert narrow is not None
    assert wide.interval is not None
    assert narrow.interval is not None
    assert (wide.value, wide.interval.tasks, narrow.interval.tasks) == (narrow.value, 10, 20)
    assert wide.interval.high - wide.interval.low > narrow.interval.high - narrow.interval.low
