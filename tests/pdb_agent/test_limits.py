"""When an episode ends: budgets and guards."""

import json
from collections.abc import Sequence
from decimal import Decimal

import pytest
from pdb_agent.episode import ExitReason
from pdb_agent.limits import EpisodeLimits, Exit, LimitKeeper, Nudge
from pdb_agent.messages import AssistantMessage, Call, CallStatus, Reply, Stop, ToolResult, Usage


def reply(*calls: Call, stop: Stop = Stop.CALLS, usage: Usage | None = None) -> Reply:
    return Reply(
        message=AssistantMessage(text="", calls=calls), stop=stop, usage=usage or Usage(), model="test"
    )


def call(name: str = "bash", error: str | None = None, **arguments: object) -> Call:
    return Call(
        id="1", name=name, arguments=None if error else arguments, raw=json.dumps(arguments), error=error
    )


def result(text: str = "", status: CallStatus = CallStatus.OK) -> ToolResult:
    return ToolResult(call_id="1", name="bash", status=status, text=text)


def keeper(**limits: object) -> LimitKeeper:
    return LimitKeeper(EpisodeLimits(**limits), frozenset({"step_over"}))  # type: ignore[arg-type]


def take(limits: LimitKeeper, calls: Sequence[tuple[Call, ToolResult]]) -> list[Nudge | Exit | None]:
    found: list[Nudge | Exit | None] = []
    for one, its_result in calls:
        assert limits.after_reply(reply(one), Decimal(0)) is None
        found.append(limits.after_results([one], [its_result], edited=False))
    return found


def test_the_turn_after_the_last_one_is_refused():
    limits = keeper(turns=2)
    for _ in range(2):
        assert limits.before_turn(0) is None
        limits.after_reply(reply(call()), None)
    assert limits.before_turn(0) == Exit(reason=ExitReason.TURN_CAP, detail="2 turns")


def test_context_counts_what_the_provider_counted_and_estimates_the_rest():
    limits = keeper(context_tokens=1000)
    usage = Usage(input=100, cache_read=300, cache_write=50, output=50)
    limits.after_reply(reply(call(), usage=usage), None)
    assert limits.context_tokens == 500
    limits.said("x" * 600)
    assert limits.context_tokens == 700
    assert limits.room(4096) == 300
    assert limits.before_turn(0) is None
    limits.said("x" * 300)
    end = limits.before_turn(0)
    assert end is not None
    assert end.reason is ExitReason.CONTEXT
    assert limits.peak_context == 500


@pytest.mark.parametrize(
    ("limits", "usage", "cost", "reason"),
    [
        ({"output_tokens": 100}, Usage(output=100), Decimal(0), ExitReason.TOKEN_BUDGET),
        ({"cost": Decimal("0.50")}, Usage(), Decimal("0.50"), ExitReason.COST_BUDGET),
    ],
)
def test_budgets_end_an_episode_once_they_are_spent(limits, usage, cost, reason):
    limited = keeper(**limits)
    assert limited.before_turn(0) is None
    limited.after_reply(reply(call(), usage=usage), cost)
    end = limited.before_turn(0)
    assert end is not None
    assert end.reason is reason


def test_a_cost_that_nobody_knows_stays_unknown_and_ends_nothing():
    limits = keeper(cost=Decimal("0.01"))
    limits.after_reply(reply(call()), Decimal(1))
    limits.after_reply(reply(call()), None)
    assert limits.cost is None
    assert limits.before_turn(0) is None


def test_wall_time_is_looked_at_before_each_turn():
    limits = keeper(wall_seconds=10.0)
    assert limits.before_turn(9.9) is None
    assert limits.before_turn(10.0) == Exit(reason=ExitReason.WALL_TIME, detail="10 s")


def test_a_refusal_is_an_end_by_itself():
    assert keeper().after_reply(reply(stop=Stop.REFUSAL), None) == Exit(reason=ExitReason.REFUSAL)


def test_malformed_turns_in_a_row_end_an_episode_and_a_good_one_starts_the_count_anew():
    limits = keeper(format_errors=3)
    bad = reply(call(error="no JSON"))
    assert limits.after_reply(bad, None) is None
    assert limits.after_reply(bad, None) is None
    assert limits.after_reply(reply(call()), None) is None
    assert limits.after_reply(bad, None) is None
    assert limits.after_reply(reply(stop=Stop.MAX_TOKENS), None) is None
    end = limits.after_reply(bad, None)
    assert end == Exit(reason=ExitReason.FORMAT_LIMIT, detail="3 turns in a row")


def test_the_same_call_with_the_same_answer_is_nudged_once_and_then_ends():
    limits = keeper(repeats=3, idle_turns=50)
    found = take(limits, [(call(command="ls"), result("a.py"))] * 6)
    assert [type(one).__name__ for one in found[:3]] == ["NoneType", "NoneType", "Nudge"]
    assert found[3:5] == [None, None]
    assert found[5] == Exit(reason=ExitReason.GUARD, detail="repeat")


def test_the_same_call_with_another_answer_is_no_repetition():
    limits = keeper(repeats=3, idle_turns=50)
    assert take(limits, [(call(command="date"), result(str(n))) for n in range(9)]) == [None] * 9


def test_many_debugger_calls_in_a_row_are_a_treadmill_unless_something_else_comes_between():
    limits = keeper(debugger_streak=3)
    steps = [(call("step_over", count=n), result(str(n))) for n in range(9)]
    assert take(limits, [*steps[:2], (call("read_file"), result("x")), *steps[2:4]]) == [None] * 5
    (nudge,) = take(limits, [(call("step_over", count=99), result("99"))])
    assert isinstance(nudge, Nudge)
    assert nudge.guard == "debugger_streak"
    assert take(limits, steps[4:7])[-1] == Exit(reason=ExitReason.GUARD, detail="debugger_streak")


def test_turns_that_bring_nothing_new_end_and_an_edit_is_something_new():
    limits = keeper(idle_turns=3, repeats=99)
    seen = (call(command="ls"), result("a.py"))
    assert take(limits, [seen, seen, seen]) == [None] * 3
    limits.after_reply(reply(call()), None)
    assert limits.after_results([seen[0]], [seen[1]], edited=True) is None
    found = take(limits, [seen] * 3)
    assert isinstance(found[-1], Nudge)
    assert found[-1].guard == "idle"


def test_a_failed_call_is_nothing_new_even_the_first_time():
    limits = keeper(idle_turns=2, repeats=99)
    found = take(limits, [(call(command=str(n)), result("no", CallStatus.FAILED)) for n in range(2)])
    assert isinstance(found[-1], Nudge)


def test_room_shrinks_with_the_conversation_and_bounds_the_next_reply():
    limits = keeper(context_tokens=5000)
    assert limits.room(4096) == 4096
    limits.said("x" * 3000)
    assert limits.room(4096) == 4000
