"""Rows side by side: none is lost, none is cut, and every rank gets its share."""

from collections import Counter
from dataclasses import fields
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pdb_trainer.errors import LearnerError
from pdb_trainer.packing import Microbatch, deal, idle_microbatch, pack
from pdb_trainer.sequences import Row

from tests.pdb_trainer.strategies import rows, some_rows

PER_TOKEN = ("token_ids", "loss_mask", "old_logprobs", "version", "response_id", "weight")


def row_of(length: int) -> Row:
    mask = np.arange(length) > 0
    return Row(
        episode=f"of {length}",
        group="g0",
        token_ids=np.arange(length, dtype=np.uint32),
        loss_mask=mask,
        old_logprobs=np.where(mask, -1, 0).astype(np.float32),
        version=np.where(mask, 1, -1).astype(np.int32),
        response_id=np.where(mask, length, -1).astype(np.int32),
        weight=np.where(mask, 0.5, 0).astype(np.float32),
    )


def microbatches_of(*sizes: int) -> tuple[Microbatch, ...]:
    return tuple(pack([row_of(size)], max_tokens=size).microbatches[0] for size in sizes)


def test_the_longest_rows_find_their_places_first():
    packing = pack([row_of(length) for length in (3, 7, 2, 5, 3)], max_tokens=10)
    assert [one.rows for one in packing.microbatches] == [(1, 0), (3, 4, 2)]
    assert packing.fill == 1.0


def test_positions_start_again_in_every_row():
    (one,) = pack([row_of(3), row_of(2)], max_tokens=10).microbatches
    assert one.position_ids.tolist() == [0, 1, 2, 0, 1]
    assert one.row_index.tolist() == [0, 0, 0, 1, 1]
    assert one.tokens == 5


def test_a_row_that_fits_in_no_microbatch_is_dropped_whole_and_named():
    packing = pack([row_of(4), row_of(11), row_of(10)], max_tokens=10)
    assert [(one.row, one.episode, one.tokens) for one in packing.dropped] == [(1, "of 11", 11)]
    assert [one.rows for one in packing.microbatches] == [(2,), (0,)]
    assert packing.fill == pytest.approx(14 / 20)


def test_nothing_is_packed_into_nothing():
    packing = pack([])
    assert (packing.microbatches, packing.dropped, packing.fill) == ((), (), 0.0)


@given(rows(), st.integers(1, 20))
def test_packing_loses_no_token_and_cuts_no_row(many: list[Row], max_tokens: int):
    packing = pack(many, max_tokens=max_tokens)
    seen: list[int] = []
    for one in packing.microbatches:
        assert 0 < one.tokens <= max_tokens
        assert (np.diff(one.row_index) >= 0).all()
        for place, index in enumerate(one.rows):
            at = one.row_index == place
            assert one.position_ids[at].tolist() == list(range(len(many[index].token_ids)))
            for name in PER_TOKEN:
                assert getattr(one, name)[at].tolist() == getattr(many[index], name).tolist()
            seen.append(index)
    dropped = [one.row for one in packing.dropped]
    assert sorted(seen + dropped) == list(range(len(many)))
    assert all(len(many[index].token_ids) > max_tokens for index in dropped)


@given(rows(max_rows=12), st.integers(12, 40))
def test_first_fit_leaves_no_two_microbatches_that_would_fit_in_one(many: list[Row], max_tokens: int):
    sizes = sorted(one.tokens for one in pack(many, max_tokens=max_tokens).microbatches)
    assert all(small + large > max_tokens for small, large in pairwise(sizes))


@given(rows())
def test_packing_is_the_same_every_time_and_keeps_the_types(many: list[Row]):
    one, other = pack(many, max_tokens=16), pack(many, max_tokens=16)
    assert [batch.rows for batch in one.microbatches] == [batch.rows for batch in other.microbatches]
    idle = idle_microbatch()
    for batch in one.microbatches:
        for field in fields(batch):
            if field.name != "rows":
                assert getattr(batch, field.name).dtype == getattr(idle, field.name).dtype


def test_the_largest_microbatch_goes_to_the_rank_with_the_fewest_tokens():
    work = deal(microbatches_of(4, 9, 6, 5), ranks=2)
    assert [[one.tokens for one in rank.microbatches] for rank in work] == [[9, 4], [6, 5]]
    assert [rank.tokens for rank in work] == [13, 11]


def test_tokens_decide_before_the_number_of_microbatches():
    work = deal(microbatches_of(9, 3, 3, 3, 1, 1), ranks=2)
    assert [[one.tokens for one in rank.microbatches] for rank in work] == [[9, 1, 1], [3, 3, 3]]


def test_a_rank_is_passed_over_rather_than_given_two_more_than_another():
    work = deal(microbatches_of(10, 1, 1, 1), ranks=2)
    assert [[one.tokens for one in rank.microbatches] for rank in work] == [[10, 1], [1, 1]]


@given(st.lists(st.integers(1, 30), max_size=20), st.integers(1, 5))
def test_ranks_differ_by_one_microbatch_at_most_and_idle_where_they_are_short(sizes: list[int], ranks: int):
    work = deal(microbatches_of(*sizes), ranks=ranks)
    counts = [len(rank.microbatches) for rank in work]
    assert len(work) == ranks
    assert max(counts) - min(counts) <= 1
    assert {rank.idle_slots + count for rank, count in zip(work, counts, strict=True)} == {max(counts)}
    dealt = Counter(one.tokens for rank in work for one in rank.microbatches)
    assert dealt == Counter(sizes)


@given(st.lists(st.integers(1, 30), min_size=1, max_size=20), st.integers(1, 5))
def test_no_rank_has_more_above_another_than_the_largest_microbatch(sizes: list[int], ranks: int):
    loads = [rank.tokens for rank in deal(microbatches_of(*sizes), ranks=ranks)]
    assert max(loads) - min(loads) <= max(sizes)


def test_an_idle_microbatch_teaches_nothing():
    idle = idle_microbatch()
    assert not idle.loss_mask.any()
    assert not idle.weight.any()
    assert idle.rows == ()


def test_no_rank_is_refused():
    with pytest.raises(LearnerError, match="There are 0 ranks"):
        deal((), ranks=0)


def test_rows_of_real_conversations_come_back_out_of_their_microbatches():
    many = some_rows()
    (one,) = pack(many, max_tokens=100).microbatches
    assert int(one.loss_mask.sum()) == 4 + 3 + 5 + 2 + 2 + 6
    assert sorted(set(one.response_id.tolist())) == [-1, 0, 1, 2, 3, 4, 5]
