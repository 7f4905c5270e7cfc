from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pdb_trainer.corpus.selection import alternate_ends, select

NUMBERS = st.lists(st.integers(0, 50), unique=True)


def same(item: int) -> int:
    return item


def test_the_shortest_and_the_longest_are_taken_in_turn_working_inward():
    assert alternate_ends([5, 1, 4, 2, 3], 4, same) == [1, 5, 2, 4]
    assert alternate_ends([5, 1, 4, 2, 3], 9, same) == [1, 5, 2, 4, 3]
    assert alternate_ends([7, 3], 1, same) == [3]
    assert alternate_ends([], 3, same) == []


@given(NUMBERS, st.integers(0, 12))
def test_as_many_are_taken_as_there_are_up_to_the_cap_and_none_twice(items: list[int], cap: int):
    taken = alternate_ends(items, cap, same)
    assert len(taken) == min(cap, len(items))
    assert len(set(taken)) == len(taken)
    assert set(taken) <= set(items)


@given(NUMBERS, st.integers(0, 12))
def test_what_is_left_lies_between_what_was_taken_from_both_ends(items: list[int], cap: int):
    taken = alternate_ends(items, cap, same)
    low, high = taken[::2], taken[1::2]
    assert low == sorted(low)
    assert high == sorted(high, reverse=True)
    assert len(low) - len(high) in (0, 1)
    left = set(items) - set(taken)
    assert all(max(low, default=-1) < item < min(high, default=51) for item in left)


@given(NUMBERS, st.integers(0, 12), st.randoms())
def test_the_order_in_which_items_come_decides_nothing(items: list[int], cap: int, random):
    shuffled = list(items)
    random.shuffle(shuffled)
    assert alternate_ends(items, cap, same) == alternate_ends(shuffled, cap, same)


@given(NUMBERS, st.integers(0, 6))
def test_a_larger_cap_only_adds(items: list[int], cap: int):
    assert alternate_ends(items, cap + 1, same)[:cap] == alternate_ends(items, cap, same)


@given(st.lists(st.tuples(st.sampled_from("abc"), st.integers(0, 9)), unique=True), st.integers(1, 4))
def test_the_cap_holds_for_each_key_and_the_given_order_stays(items: list[tuple[str, int]], cap: int):
    kept = select(items, lambda one: one[0], cap, lambda one: one[1])
    counts = Counter(key for key, _ in items)
    assert Counter(key for key, _ in kept) == {key: min(cap, count) for key, count in counts.items()}
    assert kept == [item for item in items if item in kept]


@pytest.mark.parametrize("cap", [1, 2, 3])
def test_each_key_keeps_its_own_ends(cap: int):
    items = [("a", n) for n in range(5)] + [("b", n) for n in range(5, 10)]
    kept = select(items, lambda one: one[0], cap, lambda one: one[1])
    wanted = {1: [0], 2: [0, 4], 3: [0, 1, 4]}[cap]
    assert [n for key, n in kept if key == "a"] == wanted
    assert [n - 5 for key, n in kept if key == "b"] == wanted
