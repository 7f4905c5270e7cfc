"""Turns become rows: nothing is lost, nothing is learned twice, nothing else is learned."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pdb_trainer.errors import RolloutError
from pdb_trainer.rollout import Rollout, Turn, hash_of_ids
from pdb_trainer.sequences import Break, Chains, chains, version_number, with_weights

from tests.pdb_trainer.strategies import (
    STOP_ID,
    Exchange,
    conversation,
    exchanges,
    recorded,
    rollout_of_turns,
    rollouts,
)


def one_episode(*many: Exchange) -> Chains:
    return chains([rollout_of_turns(recorded(many))])


def turns_of(many: list[Rollout]) -> list[Turn]:
    return [turn for rollout in many for turn in rollout.turns]


def test_two_turns_of_one_conversation_are_one_row_with_their_replies_masked():
    found = one_episode(
        Exchange(prompt=(9, 8), sampled=(5, STOP_ID), logprobs=(-0.25, -0.5), version="policy-v3"),
        Exchange(prompt=(9, 8, 5, STOP_ID, 7, 7), sampled=(6,), logprobs=(-1.0,), version="policy-v4"),
    )
    (row,) = found.rows
    assert row.token_ids.tolist() == [9, 8, 5, STOP_ID, 7, 7, 6]
    assert row.loss_mask.tolist() == [False, False, True, True, False, False, True]
    assert row.old_logprobs.tolist() == [0, 0, -0.25, -0.5, 0, 0, -1.0]
    assert row.version.tolist() == [-1, -1, 3, 3, -1, -1, 4]
    assert row.response_id.tolist() == [-1, -1, 0, 0, -1, -1, 1]
    assert row.weight.tolist() == [0.0] * 7
    assert (found.tokens, found.tokens_unmerged) == (7, 4 + 7)
    assert found.merge_compression_ratio == pytest.approx(11 / 7)


def test_the_sampled_stop_token_is_learned_and_what_the_template_adds_after_it_is_not():
    closer, tool_result = 40, 41
    found = one_episode(
        Exchange(prompt=(9,), sampled=(5, STOP_ID)),
        Exchange(prompt=(9, 5, STOP_ID, closer, tool_result), sampled=(6, STOP_ID)),
    )
    learned = found.rows[0].token_ids[found.rows[0].loss_mask]
    assert learned.tolist() == [5, STOP_ID, 6, STOP_ID]


def test_a_truncated_reply_keeps_its_tokens_and_its_closer_is_context():
    found = one_episode(
        Exchange(prompt=(9,), sampled=(5, 5, 5)),
        Exchange(prompt=(9, 5, 5, 5, STOP_ID, 40), sampled=(6, STOP_ID)),
    )
    (row,) = found.rows
    assert row.loss_mask.tolist() == [False, True, True, True, False, False, True, True]


@pytest.mark.parametrize(
    ("second", "cause"),
    [
        ((9, 8, 4, STOP_ID, 7), Break.REPLY_REWRITTEN),
        ((9, 3, 5, STOP_ID, 7), Break.CONTEXT_REWRITTEN),
        ((9, 8), Break.HISTORY_CUT),
        ((9, 8, 5), Break.HISTORY_CUT),
    ],
)
def test_a_break_opens_a_second_row_and_is_counted_by_its_cause(second: tuple[int, ...], cause: Break):
    found = one_episode(
        Exchange(prompt=(9, 8), sampled=(5, STOP_ID)), Exchange(prompt=second, sampled=(6, STOP_ID))
    )
    assert [row.token_ids.tolist() for row in found.rows] == [[9, 8, 5, STOP_ID], [*second, 6, STOP_ID]]
    assert found.breaks == {one: int(one is cause) for one in Break}
    assert [response.row for response in found.responses] == [0, 1]


def test_of_two_chains_that_a_prompt_starts_with_the_longer_goes_on():
    found = one_episode(
        Exchange(prompt=(9,), sampled=(5,)),
        Exchange(prompt=(9,), sampled=(5, 7)),
        Exchange(prompt=(9, 5, 7, 1), sampled=(4,)),
    )
    assert [row.token_ids.tolist() for row in found.rows] == [[9, 5], [9, 5, 7, 1, 4]]


def test_a_turn_may_go_on_from_a_chain_before_the_last():
    found = one_episode(
        Exchange(prompt=(9,), sampled=(5,)),
        Exchange(prompt=(9, 5, 7), sampled=(6,)),
        Exchange(prompt=(8,), sampled=(5,)),
        Exchange(prompt=(9, 5, 7, 6, 3), sampled=(4,)),
    )
    assert [row.token_ids.tolist() for row in found.rows] == [[9, 5, 7, 6, 3, 4], [8, 5]]
    assert [response.row for response in found.responses] == [0, 0, 1, 0]
    assert sum(found.breaks.values()) == 1


def test_chains_do_not_reach_from_one_episode_into_the_next():
    turns = recorded([Exchange(prompt=(9,), sampled=(5,))])
    more = recorded([Exchange(prompt=(9, 5, 1), sampled=(6,))])
    found = chains([rollout_of_turns(turns, episode="a"), rollout_of_turns(more, episode="b")])
    assert [row.episode for row in found.rows] == ["a", "b"]
    assert sum(found.breaks.values()) == 0


def test_thirty_turns_that_end_at_16k_are_computed_eighteen_times_cheaper():
    sampled = [130] * 30
    observed = [300] * 28 + [584]
    rollout = conversation(first_prompt=3500, sampled=sampled, observed=observed)
    found = chains([rollout])
    assert (found.tokens, len(found.rows)) == (16_384, 1)
    assert 18.0 < found.merge_compression_ratio < 19.0


@given(rollouts())
def test_every_sampled_token_is_in_exactly_one_row_and_learned_once_with_its_logprob(many: list[Rollout]):
    found = chains(many)
    turns = turns_of(many)
    assert len(found.responses) == len(turns)
    for number, (turn, response) in enumerate(zip(turns, found.responses, strict=True)):
        places = [(row, np.flatnonzero(row.response_id == number)) for row in found.rows]
        holding = [index for index, (_, at) in enumerate(places) if len(at)]
        assert holding == ([response.row] if len(turn.sampled_ids) else [])
        row, at = places[response.row]
        assert row.token_ids[at].tolist() == turn.sampled_ids.tolist()
        assert row.old_logprobs[at].tolist() == turn.logprobs.tolist()
        assert set(row.version[at].tolist()) <= {version_number(turn.version)}
        assert at.tolist() == list(range(at[0], at[0] + len(at))) if len(at) else True
    assert sum(int(row.loss_mask.sum()) for row in found.rows) == sum(len(turn.sampled_ids) for turn in turns)


@given(rollouts())
def test_what_is_not_sampled_is_masked_and_bears_nothing(many: list[Rollout]):
    for row in chains(many).rows:
        out = ~row.loss_mask
        assert out[0]
        assert (row.response_id[out] == -1).all()
        assert (row.response_id[row.loss_mask] >= 0).all()
        assert (row.version[out] == -1).all()
        assert (row.old_logprobs[out] == 0).all()
        assert len({len(part) for part in (row.token_ids, out, row.old_logprobs, row.weight)}) == 1


@given(exchanges())
def test_each_reply_follows_its_own_prompt_in_its_row(many: list[Exchange]):
    found = one_episode(*many)
    for response, one in zip(found.responses, many, strict=True):
        row = found.rows[response.row]
        expected = list(one.prompt + one.sampled)
        assert row.token_ids.tolist()[: len(expected)] == expected


@given(exchanges())
def test_a_break_costs_a_row_and_nothing_else(many: list[Exchange]):
    found = one_episode(*many)
    assert len(found.rows) == sum(found.breaks.values()) + bool(many)
    assert found.tokens <= found.tokens_unmerged
    assert found.merge_compression_ratio >= 1.0


@given(rollouts(), st.randoms(use_true_random=False))
def test_weights_go_to_the_replies_they_are_meant_for(many: list[Rollout], random):
    found = chains(many)
    weights = np.array([random.uniform(-1, 1) for _ in found.responses], dtype=np.float32)
    for row in with_weights(found.rows, weights):
        assert (row.weight[~row.loss_mask] == 0).all()
        assert row.weight[row.loss_mask].tolist() == weights[row.response_id[row.loss_mask]].tolist()


def test_an_episode_without_a_reply_has_no_row():
    found = chains([rollout_of_turns([])])
    assert (found.rows, found.responses, found.merge_compression_ratio) == ((), (), 1.0)


def test_a_prompt_that_was_recorded_wrongly_is_refused_by_its_place():
    first, second = recorded([Exchange(prompt=(9,), sampled=(5,)), Exchange(prompt=(9, 5, 7), sampled=(6,))])
    wrong = replace(second, appended_ids=np.array([8], dtype=np.uint32))
    with pytest.raises(RolloutError, match="Turn 2 of episode e0 was drawn from another prompt"):
        chains([rollout_of_turns([first, wrong])])
    with pytest.raises(RolloutError, match="3 tokens, here 1"):
        chains([rollout_of_turns([first, replace(second, continues=False)])])
    empty = replace(first, appended_ids=np.zeros(0, np.uint32), prompt_length=0, prompt_hash=hash_of_ids([]))
    with pytest.raises(RolloutError, match="Turn 1"):
        chains([rollout_of_turns([empty])])


def test_fewer_logprobs_than_tokens_are_refused():
    (turn,) = recorded([Exchange(prompt=(9,), sampled=(5, 6))])
    with pytest.raises(RolloutError, match="has 2 tokens and 1 finite log-prob"):
        chains([rollout_of_turns([replace(turn, logprobs=turn.logprobs[:1])])])
    not_a_number = np.array([-1.0, np.nan], dtype=np.float32)
    with pytest.raises(RolloutError, match="has 2 tokens and 1 finite log-prob"):
        chains([rollout_of_turns([replace(turn, logprobs=not_a_number)])])


def test_two_episodes_of_one_name_are_refused():
    rollout = rollout_of_turns(recorded([Exchange(prompt=(9,), sampled=(5,))]))
    with pytest.raises(RolloutError, match="e0 is there twice"):
        chains([rollout, rollout])


def test_weights_have_numbers():
    assert [version_number(name) for name in ("base", "policy-v0", "policy-v17", "v2")] == [0, 0, 17, 2]
    with pytest.raises(RolloutError, match="'latest'"):
        version_number("latest")
