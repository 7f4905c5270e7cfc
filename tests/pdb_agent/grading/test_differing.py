from collections import deque
from datetime import date, datetime, timedelta
from decimal import Decimal
from fractions import Fraction
from pathlib import PurePosixPath

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pdb_agent.grading.differing import Unlike, differing

PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text() | st.binary(),
    lambda inner: st.lists(inner) | st.tuples(inner, inner) | st.dictionaries(st.text(), inner),
    max_leaves=8,
)


@given(PLAIN, st.integers(0, 1 << 30))
def test_a_differing_value_is_never_equal_and_always_the_same_for_a_seed(value: object, seed: int) -> None:
    changed = differing(value, seed)
    assert changed != value
    assert repr(differing(value, seed)) == repr(changed) or isinstance(changed, Unlike)


@pytest.mark.parametrize(
    "value",
    [
        Decimal("1.50"),
        Fraction(1, 3),
        date(2024, 2, 29),
        date.max,
        datetime(2024, 1, 1, 12),  # noqa: DTZ001
        timedelta(seconds=3),
        PurePosixPath("a/b"),
        deque([1, 2]),
        {1, 2},
        frozenset({"a"}),
    ],
)
def test_a_differing_value_of_the_standard_library_keeps_its_type(value: object) -> None:
    changed = differing(value, 1)
    assert type(changed) is type(value)
    assert changed != value


def test_a_text_keeps_its_length_and_look() -> None:
    changed = differing("2024-01-31", 3)
    assert len(changed) == 10
    assert changed.count("-") == 2


def test_a_float_moves_out_of_any_usual_tolerance() -> None:
    assert abs(differing(1e9, 1) - 1e9) > 1e7


def test_an_unknown_object_is_answered_by_one_equal_to_nothing_and_none_of_its_methods_run() -> None:
    class Trap:
        def __eq__(self, other: object) -> bool:
            raise AssertionError("was compared")

        __hash__ = None  # type: ignore[assignment]

    assert isinstance(differing(Trap(), 1), Unlike)
