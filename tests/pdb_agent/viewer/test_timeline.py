from dataclasses import replace

from pdb_agent.episode import Replied, Retried, Said
from pdb_agent.messages import CallStatus, Stop
from pdb_agent.viewer.records import EpisodeView, Focus, Look, Moment, Place, Value
from pdb_agent.viewer.timeline import view_of

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
from tests.pdb_agent.viewer.scenes import BREAKPOINT, CART, FILES, REPAIRED, TEST, debugged, stop


def moment(view: EpisodeView, turn: int, call: int = 0) -> Moment:
    return next(one for one in view.moments if (one.turn, one.call) == (turn, call))


def text_at(view: EpisodeView, one: Moment, path: str) -> str:
    lines = view.sources[path][one.versions[path]]
    return "\n".join("".join(view.lines[index][1::2]) for index in lines) + "\n"


def test_every_turn_has_a_moment_per_call_between_the_task_and_the_end():
    view = view_of(debugged())
    assert [one.title for one in view.turns] == ["0", *map(str, range(1, 12)), "end"]
    assert [(one.turn, one.call) for one in view.moments if one.turn in (0, 3, 4, 12)] == [
        (0, None),
        (3, 0),
        (3, 1),
        (4, 0),
        (12, None),
    ]
    assert view.turns[0].text == "This test fails: repair it."


def test_a_page_opens_at_the_test_that_fails():
    first = view_of(debugged()).moments[0]
    assert (first.path, first.line) == ("tests/test_cart.py", 4)


def test_the_current_line_moves_as_the_model_steps():
    view = view_of(debugged())
    places = [moment(view, turn).debugging.where for turn in (2, 3, 4, 5, 8)]
    at_sum = Place(path="shop/cart.py", line=11, function="Cart.total")
    at_start = Place(path="tests/test_cart.py", line=5, function="test_total")
    assert places == [None, at_start, at_sum, at_sum, None]
    assert (moment(view, 4).path, moment(view, 4).line) == ("shop/cart.py", 11)


def test_a_breakpoint_is_in_the_gutter_with_its_condition_and_is_hit_where_the_program_stops():
    view = view_of(debugged())
    assert moment(view, 3, 0).debugging.breakpoints == ()
    [bound] = moment(view, 3, 1).debugging.breakpoints
    assert (bound.path, bound.line, bound.condition, bound.is_hit) == ("shop/cart.py", 11, "price > 1", False)
    assert moment(view, 4).debugging.breakpoints[0].is_hit
    assert moment(view, 8).debugging.breakpoints == ()


def test_values_say_what_the_last_step_changed():
    view = view_of(debugged())
    assert moment(view, 4).debugging.values == (
        Value(name="self", value="Cart", mark="new"),
        Value(name="result", value="0", mark="new"),
        Value(name="price", value="9", mark="new"),
    )
    assert moment(view, 5).debugging.values == (
        Value(name="self", value="Cart"),
        Value(name="result", value="9", was="0", mark="changed"),
        Value(name="price", value="20", was="9", mark="changed"),
    )
    names = [one.name for one in moment(view, 6).debugging.values]
    assert names == ["self", "self.prices", "result", "price"]


def test_another_call_of_a_function_begins_with_its_own_names():
    first = debugging("continue_execution", "new: self = Cart; result = 0; price = 9", facts=stop(11))
    second = debugging("continue_execution", "new: self = Cart; result = 0", facts=stop(11))
    view = view_of(episode([[first], [second]], files=FILES))
    assert [value.name for value in moment(view, 2).debugging.values] == ["self", "result"]


def test_names_that_are_gone_are_not_shown():
    first = debugging("continue_execution", "new: self = Cart; price = 9", facts=stop(11))
    second = debugging("step_over", "gone: price", facts=stop(11))
    view = view_of(episode([[first], [second]], files=FILES))
    assert [value.name for value in moment(view, 2).debugging.values] == ["self"]


def test_what_is_looked_at_is_kept_until_the_program_moves():
    view = view_of(debugged())
    assert moment(view, 6, 1).debugging.looks == ()
    assert moment(view, 7).debugging.looks == (Look(expression="self.prices", value="[10, 9, 20]"),)
    assert moment(view, 8).debugging.looks == ()


def test_the_stack_is_known_as_far_as_it_was_told():
    view = view_of(debugged())
    assert [place.line for place in moment(view, 4).debugging.stack] == [11, 5]
    assert [place.function for place in moment(view, 6, 1).debugging.stack] == ["Cart.total", "test_total"]


def test_an_edit_changes_the_text_from_its_moment_on_and_shows_its_lines():
    view = view_of(debugged())
    assert text_at(view, moment(view, 8), "shop/cart.py") == CART
    edited = moment(view, 9)
    assert text_at(view, edited, "shop/cart.py") == REPAIRED
    assert edited.focus == Focus(first=10, last=10, kind="edit")
    [diff] = view.turns[9].calls[0].diffs
    assert ("-", "        for price in self.prices[1:]:") in diff.lines
    assert text_at(view, view.moments[-1], "shop/cart.py") == REPAIRED


def test_lines_that_were_read_are_in_focus():
    assert moment(view_of(debugged()), 2).focus == Focus(first=1, last=12, kind="read")


def test_runs_of_tests_are_kept_before_and_after():
    view = view_of(debugged())
    assert [(run.turn, run.counts) for run in view.test_runs] == [(1, (0, 1)), (10, (1, 0))]
    assert [moment(view, turn).test_run for turn in (1, 9, 10)] == [0, 0, 1]
    assert view.targets == (TEST,)


def test_a_run_of_tests_in_a_shell_gives_its_counts():
    view = view_of(
        episode([[shell("python -m pytest -q", "..F\n=== 1 failed, 2 passed in 0.10s ===", 1)], [done()]])
    )
    assert view.test_runs[0].counts == (2, 1)
    assert view.turns[1].kind == "tests"


def test_turns_say_what_was_chiefly_done():
    kinds = [turn.kind for turn in view_of(debugged()).turns]
    assert kinds == [
        "task",
        "tests",
        "look",
        *["debugger"] * 6,
        "edit",
        "tests",
        "done",
        "end",
    ]


def test_the_verdict_tells_counts_of_hidden_tests_only():
    view = view_of(debugged())
    assert view.outcome.solved is True
    assert ("hidden tests", 3, 3) in view.outcome.groups


def test_an_episode_that_was_cut_off_is_shown_as_far_as_it_went():
    whole = debugged()
    view = view_of(replace(whole, events=whole.events[:4], ended=None))
    assert view.outcome.solved is None
    assert [turn.title for turn in view.turns] == ["0", "1", "2", "end"]


def test_words_without_a_call_are_a_moment_and_a_nudge_stands_before_the_reply_it_brings_about():
    made = episode([[act("bash")], []], end=ended(solved=False, turns=2))
    nudge = Said(at=1.5, text="You made no tool call.", why="no_call")
    retry = Retried(at=1.6, turn=2, error="529 overloaded", wait_seconds=2.0)
    view = view_of(replace(made, events=(*made.events[:2], nudge, retry, *made.events[2:])))
    assert view.turns[2].said == ("You made no tool call.",)
    assert view.turns[2].notes == ("asked again after 2 s: 529 overloaded",)
    assert view.moments[2].label == "Turn 2: words, no call"


def test_tools_that_appeared_are_noted_at_the_reply_that_can_call_them():
    view = view_of(unlocking([[edit()], [act("start_debugger")], [done()]], turn=1))
    assert [turn.notes for turn in view.turns[1:4]] == [
        (),
        ("new tools: start_debugger, add_breakpoint",),
        (),
    ]


def test_a_reply_that_pauses_is_no_turn_of_its_own():
    made = debugged()
    first = next(event for event in made.events if isinstance(event, Replied))
    message = replace(first.reply.message, text="Thinking on.", calls=())
    paused = replace(first, turn=0, reply=replace(first.reply, stop=Stop.PAUSE, message=message))
    view = view_of(replace(made, events=(made.events[0], paused, *made.events[1:])))
    assert len(view.turns) == len(view_of(made).turns)
    assert view.turns[1].text == "Thinking on.\nLet me see it fail."


def test_a_table_of_values_gives_a_moment_per_stop():
    table = debugging(
        "investigate",
        "stop 1: line 11 in Cart.total\n  price = 9\n  result = 0\n"
        "stop 2: line 11 in Cart.total\n  price = 20\n"
        "  result = 9\nthe program exited with code 1\noutput:\n| 1 failed",
        facts={"state": "exited", "location": None, "breakpoints": stop(11)["breakpoints"]},
        expressions=["price", "result"],
        condition="price > 1",
    )
    view = view_of(episode([[table], [done()]], files=FILES))
    stops = [one for one in view.moments if one.turn == 1]
    assert [[look.value for look in one.debugging.looks] for one in stops] == [["9", "0"], ["20", "9"]]
    assert {(one.path, one.line) for one in stops} == {("shop/cart.py", 11)}
    assert {bound.condition for one in stops for bound in one.debugging.breakpoints} == {"price > 1"}
    assert dict(view.turns[1].calls[0].arguments)["expressions"] == "price\nresult"
    assert view.moments[-2].debugging.state == "none"


def test_a_program_that_has_ended_says_why_a_breakpoint_stayed_silent():
    over = debugging(
        "continue_execution",
        "the program exited with code 0\nbreakpoint 1 (shop/cart.py:11) never fired",
        facts={
            "state": "exited",
            "location": None,
            "breakpoints": [BREAKPOINT],
            "verdicts": [{**BREAKPOINT, "hit_count": 0, "explanation": "total() was never called"}],
        },
    )
    state = view_of(episode([[over]], files=FILES)).moments[1].debugging
    assert (state.state, state.where, state.notes) == ("exited", None, ("the program exited with code 0",))
    assert state.breakpoints[0].note == "never fired: total() was never called"


def test_a_call_that_failed_leaves_the_program_where_it_was():
    view = view_of(
        episode(
            [
                [debugging("step_over", "stepped: shop/cart.py:11 in Cart.total", facts=stop(11))],
                [act("nothing", "There is no tool nothing.", CallStatus.MALFORMED)],
            ],
            files=FILES,
        )
    )
    assert moment(view, 2).debugging == moment(view, 1).debugging
    assert view.turns[2].calls[0].status == "malformed"


def test_a_file_outside_the_workspace_keeps_its_name_and_is_not_taken_for_one_inside():
    facts = stop(3) | {"location": {"file": "/usr/lib/python3.11/shop/cart.py", "line": 3, "function": "f"}}
    begin = f"session dbg-1: pytest {TEST} in /tmp/pdb-x1/project"
    view = view_of(episode([[debugging("start_debugger", begin, facts=facts)]], files=FILES))
    assert moment(view, 1).debugging.where == Place(
        path="/usr/lib/python3.11/shop/cart.py", line=3, function="f"
    )
    assert moment(view, 1).path == "tests/test_cart.py"


def test_facts_that_are_not_as_expected_are_as_if_they_were_not_there():
    strange = replace(act("mystery", "hm"), facts={"session_id": ["no"], "location": 7, "passed": "x"})
    view = view_of(episode([[strange]], files=FILES))
    assert moment(view, 1).debugging.state == "none"


def test_an_edit_whose_diff_does_not_fit_leaves_the_text_and_shows_the_diff():
    view = view_of(episode([[edit("shop/cart.py", gone="no such line", new="x")]], files=FILES))
    assert text_at(view, view.moments[-1], "shop/cart.py") == CART
    assert view.turns[1].calls[0].diffs[0].lines == (("@", "1"), ("-", "no such line"), ("+", "x"))


def test_an_edit_in_several_places_moves_the_lines_below():
    diff = (
        "--- a/shop/cart.py\n+++ b/shop/cart.py\n"
        '@@ -1,2 +1,4 @@\n """A cart."""\n+\n+import math\n \n'
        "@@ -11,2 +13,2 @@\n             result += price\n"
        "-        return result\n+        return math.ceil(result)\n"
    )
    made = Act(name="bash", changes=("shop/cart.py",), diff=diff)
    view = view_of(episode([[made]], files=FILES))
    expected = CART.replace('cart."""\n', 'cart."""\n\nimport math\n').replace(
        "return result", "return math.ceil(result)"
    )
    assert text_at(view, moment(view, 1), "shop/cart.py") == expected
    assert moment(view, 1).focus == Focus(first=2, last=14, kind="edit")


def test_a_new_file_is_there_from_the_call_that_made_it():
    made = Act(
        name="bash",
        changes=("shop/tax.py",),
        diff="--- a/shop/tax.py\n+++ b/shop/tax.py\n@@ -0,0 +1,2 @@\n+A = 1\n+B = 2\n",
    )
    view = view_of(episode([[made]], files=FILES))
    assert "shop/tax.py" not in view.moments[0].versions
    assert text_at(view, moment(view, 1), "shop/tax.py") == "A = 1\nB = 2\n"


def test_signs_that_act_in_a_browser_or_terminal_are_made_visible():
    text = "\x1b[31mred\x1b[0m \x07 \u202egnp.exe \ud800"
    call = view_of(episode([[act("bash", text, command="x\x00")]])).turns[1].calls[0]
    assert call.text == "red ␇ ⟨U+202E⟩gnp.exe \ufffd"
    assert call.arguments == (("command", "x␀"),)
