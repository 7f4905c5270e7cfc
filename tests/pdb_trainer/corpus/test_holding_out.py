from hypothesis import given
from hypothesis import strategies as st
from pdb_trainer.corpus.holding_out import held_out_groups

SIZES = st.dictionaries(st.text("abcdef", min_size=1, max_size=3), st.integers(1, 9), min_size=2)


@given(SIZES, st.floats(0.01, 0.9), st.integers(0, 3))
def test_whole_groups_are_held_out_and_no_more_than_the_share(sizes: dict[str, int], share: float, seed: int):
    away = held_out_groups(sizes, share, seed)
    count = sum(sizes[group] for group in away)
    assert away
    assert away < sizes.keys()
    smallest = min(sizes.values())
    assert count <= max(share * sum(sizes.values()), smallest)
    left = [sizes[group] for group in sizes.keys() - away]
    assert count + min(left) > share * sum(sizes.values()) or count == smallest


def test_a_seed_decides_which_and_equal_seeds_agree():
    sizes = {f"group{number}": 2 for number in range(30)}
    assert held_out_groups(sizes, 0.1, 0) == held_out_groups(dict(reversed(sizes.items())), 0.1, 0)
    assert len(held_out_groups(sizes, 0.1, 0)) == 3
    assert len({held_out_groups(sizes, 0.1, seed) for seed in range(5)}) > 1


def test_nothing_is_held_out_of_nothing_of_one_group_or_without_a_share():
    assert held_out_groups({}, 0.5, 0) == frozenset()
    assert held_out_groups({"only": 9}, 0.5, 0) == frozenset()
    assert held_out_groups({"a": 1, "b": 1}, 0.0, 0) == frozenset()
