"""Packed rows are computed exactly as if each were alone."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch
from pdb_trainer.errors import LearnerError
from pdb_trainer.lora import LoraSettings
from pdb_trainer.model import PackedTensors, PolicyModel, load_policy, prepared
from pdb_trainer.packing import Microbatch, idle_microbatch
from pdb_trainer.sequences import Row
from torch import Tensor
from transformers import GenerationConfig, Qwen3MoeConfig, Qwen3MoeForCausalLM

from tests.pdb_trainer.largest_tensor import LargestTensor
from tests.pdb_trainer.tiny_models import Family, a_row, one_microbatch, tiny_network, tiny_policy

ROWS = (
    a_row(9, seed=1, responses=((2, 5), (7, 9))),
    a_row(4, seed=2, responses=((1, 4),), first_response=2),
    a_row(17, seed=3, responses=((5, 6), (11, 16)), first_response=3),
)


def tensors(microbatch: Microbatch) -> PackedTensors:
    return PackedTensors.of(microbatch, torch.device("cpu"))


def logprobs_and_gradients(model: PolicyModel, microbatches: list[Microbatch]) -> tuple[Tensor, list[Tensor]]:
    parameters = model.adapters.parameters()
    for each in parameters:
        each.grad = None
    parts: list[Tensor] = []
    for microbatch in microbatches:
        logprobs, _ = model.logprobs(tensors(microbatch))
        (logprobs * torch.from_numpy(microbatch.weight[microbatch.loss_mask])).sum().backward()
        parts.append(logprobs.detach())
    return torch.cat(parts), [each.grad for each in parameters if each.grad is not None]


@pytest.mark.parametrize(("dtype", "tolerance"), [(torch.float64, 1e-6), (torch.float32, 1e-5)])
@pytest.mark.parametrize("family", ["qwen3", "llama"])
def test_packed_rows_have_the_log_probabilities_and_gradients_of_rows_alone(
    family: Family, dtype: torch.dtype, tolerance: float
):
    model = tiny_policy(family, dtype)
    packed = one_microbatch(ROWS)
    together, gradients = logprobs_and_gradients(model, [packed])
    order = [ROWS[index] for index in packed.rows]
    alone, their_gradients = logprobs_and_gradients(model, [one_microbatch([row]) for row in order])
    torch.testing.assert_close(together, alone, rtol=0, atol=tolerance)
    assert len(gradients) == len(model.adapters.parameters())
    assert max(float(each.abs().max()) for each in gradients) > 0.01
    for ours, theirs in zip(gradients, their_gradients, strict=True):
        torch.testing.assert_close(ours, theirs, rtol=0, atol=tolerance)


@pytest.mark.parametrize("family", ["qwen3", "llama"])
def test_rows_have_the_log_probabilities_of_transformers_own_forward_pass(family: Family):
    model = tiny_policy(family, noise=0.0)
    plain = tiny_network(family)
    packed = one_microbatch(ROWS)
    logprobs, _ = model.logprobs(tensors(packed))
    expected: list[Tensor] = []
    for index in packed.rows:
        row = ROWS[index]
        ids = torch.from_numpy(row.token_ids.astype(np.int64))
        table = torch.log_softmax(plain(input_ids=ids[None]).logits[0], dim=-1)
        places = torch.from_numpy(np.flatnonzero(row.loss_mask))
        expected.append(table[places - 1, ids[places]])
    torch.testing.assert_close(logprobs, torch.cat(expected), rtol=0, atol=1e-9)


def test_a_row_sees_nothing_of_its_neighbour():
    model = tiny_policy()
    first, other = a_row(8, seed=1), a_row(8, seed=2)
    with torch.no_grad():
        beside, alone = (
            model.hidden(tensors(one_microbatch(rows))) for rows in ([first, other], [first, first])
        )
    assert torch.equal(beside[:8], alone[:8])
    assert not torch.equal(beside[8:], alone[8:])


def test_no_mask_of_all_tokens_by_all_tokens_is_ever_made():
    model = tiny_policy()
    packed = one_microbatch([a_row(20, seed=seed) for seed in range(40)])
    with LargestTensor() as largest:
        model.logprobs(tensors(packed))[0].sum().backward()
    assert 20 * 16 * 40 <= largest.elements < packed.tokens**2 / 8


def test_checkpointing_changes_no_gradient():
    packed = one_microbatch(ROWS)
    _, plain = logprobs_and_gradients(tiny_policy(), [packed])
    model = tiny_policy(checkpointing=True)
    _, again = logprobs_and_gradients(model, [packed])
    assert all(torch.equal(a, b) for a, b in zip(plain, again, strict=True))


def test_a_backward_pass_after_the_reference_was_used_is_still_the_policys():
    packed = one_microbatch(ROWS)
    _, plain = logprobs_and_gradients(tiny_policy(), [packed])
    model = tiny_policy(checkpointing=True)
    model.adapters.freeze_reference()
    logprobs, _ = model.logprobs(tensors(packed))
    with torch.no_grad():
        reference, _ = model.logprobs(tensors(packed), "reference")
    (logprobs * torch.from_numpy(packed.weight[packed.loss_mask])).sum().backward()
    assert torch.equal(reference, logprobs)
    for parameter, gradient in zip(model.adapters.parameters(), plain, strict=True):
        assert parameter.grad is not None
        assert torch.equal(parameter.grad, gradient)


def test_adapters_are_switched_inside_a_block_only():
    model = tiny_policy()
    packed = tensors(one_microbatch(ROWS))
    with torch.no_grad():
        model.adapters.freeze_reference()
        as_reference = model.hidden(packed)
        for each in model.adapters.parameters():
            each += 0.1
        policy = model.hidden(packed)
        with model.with_adapter("reference"):
            assert torch.equal(model.hidden(packed, "reference"), as_reference)
        assert torch.equal(model.hidden(packed), policy)
        base = model.hidden(packed, None)
    assert not torch.equal(policy, as_reference)
    assert not torch.equal(base, as_reference)


def test_the_same_network_samples_with_a_cache_and_padding():
    model = tiny_policy()
    ids = torch.tensor([[0, 0, 7, 9], [5, 6, 7, 8]])
    mask = torch.tensor([[0, 0, 1, 1], [1, 1, 1, 1]])
    settings = GenerationConfig(max_new_tokens=6, do_sample=False, pad_token_id=0, eos_token_id=None)
    generate: Callable[..., Tensor] = model.network.generate  # pyright: ignore[reportAssignmentType]
    both = generate(input_ids=ids, attention_mask=mask, generation_config=settings)
    alone = generate(input_ids=ids[:1, 2:], generation_config=settings)
    assert both[0, 2:].tolist() == alone[0].tolist()


def test_a_saved_folder_is_loaded_with_a_fresh_adapter_that_changes_nothing(tmp_path: Path):
    network = tiny_network(tied=False)
    network.save_pretrained(tmp_path)
    packed = tensors(one_microbatch(ROWS))
    for checkpointing in (False, True):
        model = load_policy(tmp_path, lora=LoraSettings(rank=2), dtype="float64", checkpointing=checkpointing)
        with torch.no_grad():
            assert torch.equal(model.hidden(packed), model.hidden(packed, None))
            plain = PolicyModel(prepared(tiny_network(tied=False), checkpointing=False), LoraSettings())
            assert torch.equal(model.hidden(packed), plain.hidden(packed))
    assert model.head_weight.shape == (61, 16)
    assert [each.requires_grad for each in model.network.parameters()].count(True) == len(
        model.adapters.parameters()
    )


def test_half_precision_computes_in_half_with_adapters_kept_in_single():
    model = tiny_policy(dtype=torch.bfloat16)
    assert {each.dtype for each in model.adapters.parameters()} == {torch.float32}
    assert model.hidden(tensors(one_microbatch(ROWS))).dtype == torch.bfloat16
    _, gradients = logprobs_and_gradients(model, [one_microbatch(ROWS)])
    assert {each.dtype for each in gradients} == {torch.float32}


def test_experts_are_left_alone_and_that_is_said(caplog: pytest.LogCaptureFixture):
    config = Qwen3MoeConfig(
        vocab_size=61,
        hidden_size=16,
        intermediate_size=24,
        moe_intermediate_size=8,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        num_experts=4,
        num_experts_per_tok=2,
        initializer_range=0.3,
        pad_token_id=0,
    )
    network = Qwen3MoeForCausalLM(config)
    model = PolicyModel(prepared(network, checkpointing=False), LoraSettings(rank=2))
    assert "Experts are not adapted yet" in caplog.text
    assert model.adapters.targets == ["k_proj", "o_proj", "q_proj", "v_proj"]
    packed = one_microbatch(ROWS)
    together, _ = logprobs_and_gradients(model, [packed])
    alone, _ = logprobs_and_gradients(model, [one_microbatch([ROWS[index]]) for index in packed.rows])
    torch.testing.assert_close(together, alone, rtol=0, atol=1e-5)


def test_an_idle_microbatch_has_a_gradient_of_zero():
    model = tiny_policy()
    logprobs, gradients = logprobs_and_gradients(model, [idle_microbatch()])
    assert len(logprobs) == 0
    assert not any(each.any() for each in gradients)


def test_a_row_whose_first_token_is_trained_is_refused():
    with pytest.raises(LearnerError, match="first token"):
        tensors(one_microbatch([a_row(4, responses=((0, 2),))]))


def test_positions_that_do_not_count_up_are_refused():
    packed = one_microbatch([a_row(4), a_row(5)])
    packed.position_ids[6] = 9
    with pytest.raises(LearnerError, match="count their positions"):
        tensors(packed)


def test_a_folder_without_a_model_is_refused(tmp_path: Path):
    with pytest.raises(LearnerError, match="holds no model"):
        load_policy(tmp_path, lora=LoraSettings())


def test_a_head_that_is_more_than_a_matrix_is_refused():
    network = tiny_network()
    network.config.logits_scaling = 4.0
    with pytest.raises(LearnerError, match="logits_scaling"):
        PolicyModel(network, LoraSettings())


def test_a_row_longer_than_the_attention_window_is_refused():
    network = tiny_network()
    for layer in network.model.layers:
        layer.self_attn.sliding_window = 5
    model = PolicyModel(prepared(network, checkpointing=False), LoraSettings())
    short: list[Row] = [a_row(5), a_row(4)]
    model.hidden(tensors(one_microbatch(short)))
    with pytest.raises(LearnerError, match="window of 5"):
        model.hidden(tensors(one_microbatch([a_row(6)])))
