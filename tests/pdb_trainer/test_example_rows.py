"""Examples as rows, and the replay pack of a step."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from pdb_trainer.corpus.example import Example, Provenance
from pdb_trainer.example_rows import replay_pack, row_of

from tests.pdb_trainer.tiny_models import a_row

_PROVENANCE = Provenance(
    policy="oracle/solution",
    generation=0,
    adapter_hash=None,
    run="r",
    arm="a",
    toolset="debug",
    number=0,
    turns=1,
    episode_hash="",
)


def example(length: int, number: int = 0) -> Example:
    return Example(
        id=f"e{number}",
        task="t",
        group="g",
        kind="full",
        part="train",
        token_ids=np.full(length, number, np.uint32),
        trained=np.ones(length, np.bool_),
        provenance=_PROVENANCE,
    )


def test_a_rows_first_token_is_never_trained_for_nothing_predicts_it() -> None:
    row = row_of(example(4, 7))
    assert row.loss_mask.tolist() == [False, True, True, True]
    assert row.response_id.tolist() == [-1, 0, 0, 0]
    assert row.version.tolist() == [-1, 0, 0, 0]
    assert row.token_ids.tolist() == [7, 7, 7, 7]


@given(
    st.lists(st.integers(2, 12), max_size=12),
    st.lists(st.integers(8, 12), max_size=4),
    st.integers(4, 40),
    st.sampled_from([0.0, 0.25]),
)
def test_a_pack_fits_its_weights_add_up_to_one_and_successes_have_their_share(
    lengths: list[int], successes: list[int], tokens: int, share: float
) -> None:
    examples = [example(length, number) for number, length in enumerate(lengths)]
    rows = [a_row(length, episode=f"s{number}") for number, length in enumerate(successes)]
    pack = replay_pack(examples, rows, tokens=tokens, share=share, seed="0/anchor/1")
    if pack is None:
        assert not lengths or min(lengths) > tokens
        return
    assert pack.tokens <= tokens
    assert pack.weight.sum() == np.float32(1.0) or abs(pack.weight.sum() - 1) < 1e-5
    assert (pack.weight > 0).tolist() == pack.loss_mask.tolist()
    again = replay_pack(examples, rows, tokens=tokens, share=share, seed="0/anchor/1")
    assert again is not None
    assert again.token_ids.tolist() == pack.token_ids.tolist()


def test_successes_take_no_more_than_their_share_and_steps_draw_anew() -> None:
    examples = [example(10, number) for number in range(30)]
    rows = [a_row(10, episode=f"s{number}") for number in range(30)]
    packs = [
        replay_pack(examples, rows, tokens=100, share=0.25, seed=f"0/anchor/{step}") for step in range(2)
    ]
    first, second = (set(pack.token_ids.reshape(-1, 10)[:, 0].tolist()) if pack else set() for pack in packs)
    assert first != second
    alone = replay_pack([], rows, tokens=100, share=0.25, seed="0")
    assert alone is not None
    assert alone.tokens == 20
