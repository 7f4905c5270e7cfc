"""Groups are filled, and every episode leaves them exactly once, whatever happens and in whatever order."""

from collections import Counter
from dataclasses import replace

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule
from pdb_trainer.errors import ConfigError, RolloutError
from pdb_trainer.groups import (
    NEVER_FILLED,
    TOO_SLOW,
    Changes,
    Fate,
    Groups,
    GroupSettings,
    Left,
    SealedGroup,
)
from pdb_trainer.rollout import Rollout

from tests.pdb_trainer.strategies import rollout_of_turns

FOUR = GroupSettings(size=4, least=3, patience=2.0, requeues=1)


def ending(episode: str) -> Rollout:
    return rollout_of_turns([], episode=episode)


def filled(*episodes: str, at: float = 0.0) -> Groups:
    groups = Groups(FOUR)
    groups.open("g")
    for episode in episodes:
        groups.dispatch("g", episode, at)
    return groups


def finish(groups: Groups, episode: str, now: float) -> Changes:
    return groups.finish(episode, ending(episode), now)


def left(changes: Changes) -> list[tuple[str, Fate, str, bool]]:
    return [(one.episode, one.fate, one.cause, one.was_running) for one in changes.left]


def test_a_full_group_is_sealed_in_the_order_of_dispatch():
    groups = filled("a", "b", "c", "d")
    for episode in ("d", "b", "a"):
        assert finish(groups, episode, 10.0) == Changes()
    changes = finish(groups, "c", 12.0)
    (sealed,) = changes.sealed
    assert [one.episode for one in sealed.rollouts] == ["a", "b", "c", "d"]
    assert not sealed.is_partial
    assert {one.fate for one in changes.left} == {Fate.TRAINED}
    assert groups.wanted() == ()


def test_a_group_that_waits_for_its_last_is_sealed_without_it_after_two_median_episodes():
    groups = filled("a", "b", "c", "d")
    for episode, now in (("a", 10.0), ("b", 20.0), ("c", 10.0)):
        finish(groups, episode, now)
    assert groups.median_seconds == 10.0
    assert groups.tick(20.0) == Changes()
    changes = groups.tick(20.1)
    (sealed,) = changes.sealed
    assert [one.episode for one in sealed.rollouts] == ["a", "b", "c"]
    assert sealed.is_partial
    assert left(changes)[-1] == ("d", Fate.DROPPED, TOO_SLOW, True)
    assert finish(groups, "d", 30.0) == Changes()


def test_a_group_with_too_few_is_filled_up_again_and_dropped_the_next_time():
    groups = filled("a", "b", "c", "d")
    finish(groups, "a", 10.0)
    changes = groups.tick(21.0)
    assert changes.requeued == ("g",)
    assert left(changes) == [(name, Fate.DROPPED, TOO_SLOW, True) for name in "bcd"]
    assert [(one.group, one.missing) for one in groups.wanted()] == [("g", 3)]
    for episode in "efh":
        groups.dispatch("g", episode, 30.0)
    assert groups.tick(50.0) == Changes()
    changes = groups.tick(50.1)
    assert left(changes) == [
        ("a", Fate.DROPPED, NEVER_FILLED, False),
        *((name, Fate.DROPPED, NEVER_FILLED, True) for name in "efh"),
    ]
    assert groups.running == 0


def test_a_group_whose_episodes_wait_for_a_slot_is_not_late():
    groups = filled("a", "b", "c")
    finish(groups, "a", 10.0)
    assert groups.tick(1000.0) == Changes()
    groups.dispatch("g", "d", 1000.0)
    assert groups.tick(1019.0) == Changes()


def test_nothing_is_late_before_it_is_known_how_long_an_episode_takes():
    assert filled("a", "b", "c", "d").tick(1e9) == Changes()


def test_a_failed_episode_leaves_with_its_cause_and_another_takes_its_place():
    groups = filled("a", "b", "c", "d")
    assert left(groups.fail("b", "sandbox")) == [("b", Fate.FAILED, "sandbox", False)]
    broken = replace(ending("c"), infra_error=True, exit_reason="grader")
    assert left(groups.finish("c", broken, 5.0)) == [("c", Fate.FAILED, "grader", False)]
    assert [(one.group, one.missing) for one in groups.wanted()] == [("g", 2)]
    assert groups.median_seconds is None


def test_the_group_closest_to_full_comes_first_and_running_ones_count():
    groups = Groups(FOUR)
    for name, count in (("g1", 1), ("g2", 3), ("g3", 4), ("g4", 1)):
        groups.open(name)
        for number in range(count):
            groups.dispatch(name, f"{name}/{number}", 0.0)
    assert [(one.group, one.missing) for one in groups.wanted()] == [("g2", 1), ("g1", 3), ("g4", 3)]


def test_a_dropped_group_takes_all_its_episodes_with_it():
    groups = filled("a", "b")
    finish(groups, "a", 3.0)
    assert left(groups.drop("g", "stale")) == [
        ("a", Fate.DROPPED, "stale", False),
        ("b", Fate.DROPPED, "stale", True),
    ]
    with pytest.raises(RolloutError, match="Group g is not open"):
        groups.drop("g", "stale")


def test_what_was_not_asked_for_is_refused():
    groups = filled("a", "b", "c", "d")
    with pytest.raises(RolloutError, match="Group g is open already"):
        groups.open("g")
    with pytest.raises(RolloutError, match="Group g takes no more episodes"):
        groups.dispatch("g", "e", 0.0)
    with pytest.raises(RolloutError, match="Episode a was dispatched before"):
        groups.dispatch("g", "a", 0.0)
    with pytest.raises(RolloutError, match="Episode z was never dispatched"):
        finish(groups, "z", 0.0)
    with pytest.raises(ConfigError, match="A group of 4 cannot be sealed at 8"):
        GroupSettings(size=4)


class Filling(RuleBasedStateMachine):
    """Coordinator and world in any order; the books must balance at every moment."""

    def __init__(self) -> None:
        super().__init__()
        self.groups = Groups(FOUR)
        self.now = 0.0
        self.opened = 0
        self.dispatched: list[str] = []
        self.running: set[str] = set()
        self.finished: set[str] = set()
        self.left: list[Left] = []
        self.sealed: list[SealedGroup] = []

    def take(self, changes: Changes) -> None:
        gone = {one.episode for one in changes.left}
        assert {one.episode for one in changes.left if one.was_running} == gone & self.running
        self.running -= gone
        self.finished -= gone
        self.left += changes.left
        self.sealed += changes.sealed
        trained = {one.episode for one in changes.left if one.fate is Fate.TRAINED}
        assert trained == {one.episode for group in changes.sealed for one in group.rollouts}

    @rule()
    def open(self) -> None:
        self.groups.open(f"g{self.opened}")
        self.opened += 1

    @precondition(lambda self: self.groups.wanted())
    @rule(data=st.data())
    def dispatch(self, data: st.DataObject) -> None:
        wanted = data.draw(st.sampled_from(self.groups.wanted()))
        for _ in range(data.draw(st.integers(1, wanted.missing))):
            episode = f"e{len(self.dispatched)}"
            self.groups.dispatch(wanted.group, episode, self.now)
            self.dispatched.append(episode)
            self.running.add(episode)

    @precondition(lambda self: self.running)
    @rule(data=st.data())
    def finish(self, data: st.DataObject) -> None:
        episode = data.draw(st.sampled_from(sorted(self.running)))
        self.running.discard(episode)
        self.finished.add(episode)
        self.take(self.groups.finish(episode, ending(episode), self.now))

    @precondition(lambda self: self.running)
    @rule(data=st.data())
    def fail(self, data: st.DataObject) -> None:
        episode = data.draw(st.sampled_from(sorted(self.running)))
        self.running.discard(episode)
        self.take(self.groups.fail(episode, "sandbox"))

    @precondition(lambda self: self.left)
    @rule(data=st.data())
    def come_too_late(self, data: st.DataObject) -> None:
        episode = data.draw(st.sampled_from([one.episode for one in self.left]))
        assert self.groups.finish(episode, ending(episode), self.now) == Changes()
        assert self.groups.fail(episode, "late") == Changes()

    @rule(seconds=st.floats(0.1, 30))
    def wait(self, seconds: float) -> None:
        self.now += seconds
        self.take(self.groups.tick(self.now))

    @precondition(lambda self: self.groups.wanted())
    @rule(data=st.data())
    def drop(self, data: st.DataObject) -> None:
        wanted = data.draw(st.sampled_from(self.groups.wanted()))
        self.take(self.groups.drop(wanted.group, "stale"))

    @invariant()
    def every_episode_is_in_one_place(self) -> None:
        left = [one.episode for one in self.left]
        assert Counter([*left, *self.running, *self.finished]) == Counter(self.dispatched)
        assert self.groups.running == len(self.running)

    @invariant()
    def no_group_is_sealed_too_small_or_twice(self) -> None:
        assert all(3 <= len(group.rollouts) <= 4 for group in self.sealed)
        assert all(group.is_partial == (len(group.rollouts) < 4) for group in self.sealed)
        assert max(Counter(group.group for group in self.sealed).values(), default=1) == 1

    def teardown(self) -> None:
        self.take(self.groups.drop_all("end"))
        assert Counter(one.episode for one in self.left) == Counter(self.dispatched)


TestFilling = Filling.TestCase
TestFilling.settings = settings(max_examples=60, stateful_step_count=40, deadline=None)
