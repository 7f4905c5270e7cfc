"""The chunked head is the full one, without its memory."""

from collections.abc import Callable

import pytest
import torch
from pdb_trainer.logprobs import chosen_logprobs
from torch import Tensor

from tests.pdb_trainer.largest_tensor import LargestTensor

PLACES, HIDDEN, VOCABULARY = 23, 8, 37


def operands(dtype: torch.dtype) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    generator = torch.Generator().manual_seed(3)
    hidden = torch.randn(PLACES, HIDDEN, generator=generator, dtype=torch.float64).to(dtype).requires_grad_()
    weight = torch.randn(VOCABULARY, HIDDEN, generator=generator, dtype=torch.float64).to(dtype)
    targets = torch.randint(0, VOCABULARY, (PLACES,), generator=generator)
    slopes = torch.randn(PLACES, generator=generator, dtype=torch.float64).to(dtype)
    return hidden, weight, targets, slopes


def full_logprobs(
    hidden: Tensor, weight: Tensor, targets: Tensor, temperature: float
) -> tuple[Tensor, Tensor]:
    table = torch.log_softmax(hidden @ weight.T / temperature, dim=-1)
    return table.gather(1, targets[:, None])[:, 0], -(table.exp() * table).sum(-1)


@pytest.mark.parametrize(("dtype", "tolerance"), [(torch.float32, 1e-5), (torch.float64, 1e-9)])
@pytest.mark.parametrize("temperature", [1.0, 0.6])
@pytest.mark.parametrize("rows", [1, 5, 100])
def test_values_and_gradients_are_those_of_full_logits(
    dtype: torch.dtype, tolerance: float, temperature: float, rows: int
):
    hidden, weight, targets, slopes = operands(dtype)
    ours, entropy = chosen_logprobs(hidden, weight, targets, temperature, chunk_logits=rows * VOCABULARY)
    (our_gradient,) = torch.autograd.grad((ours * slopes).sum(), hidden)
    theirs, their_entropy = full_logprobs(hidden, weight, targets, temperature)
    (their_gradient,) = torch.autograd.grad((theirs * slopes).sum(), hidden)
    torch.testing.assert_close(ours, theirs, rtol=0, atol=tolerance)
    torch.testing.assert_close(entropy, their_entropy, rtol=0, atol=tolerance)
    torch.testing.assert_close(our_gradient, their_gradient, rtol=0, atol=tolerance)


def test_the_gradient_is_that_of_finite_differences():
    hidden, weight, targets, _ = operands(torch.float64)

    def by_hidden(hidden: Tensor) -> Tensor:
        return chosen_logprobs(hidden, weight, targets, 0.8, chunk_logits=7 * VOCABULARY)[0]

    assert torch.autograd.gradcheck(by_hidden, (hidden,))


def test_a_known_distribution_gives_its_numbers():
    hidden = torch.tensor([[1.0]], dtype=torch.float64)
    weight = torch.tensor([[0.0], [0.6931471805599453]], dtype=torch.float64)  # odds 1 to 2
    logprobs, entropy = chosen_logprobs(hidden, weight, torch.tensor([1]))
    assert logprobs.item() == pytest.approx(-0.4054651081081644)  # ln 2/3
    assert entropy.item() == pytest.approx(0.6365141682948128)
    halved, _ = chosen_logprobs(hidden, weight, torch.tensor([1]), temperature=0.5)  # odds 1 to 4
    assert halved.item() == pytest.approx(-0.2231435513142097)  # ln 4/5


def largest_allocation(compute: Callable[[], Tensor]) -> int:
    with LargestTensor() as largest:
        compute().sum().backward()
    return largest.elements


def test_no_tensor_of_places_times_vocabulary_ever_exists():
    hidden, weight, targets, _ = operands(torch.float32)
    rows = 2
    chunked = largest_allocation(
        lambda: chosen_logprobs(hidden, weight, targets, chunk_logits=rows * VOCABULARY)[0]
    )
    full = largest_allocation(lambda: full_logprobs(hidden, weight, targets, 1.0)[0])
    assert full == PLACES * VOCABULARY  # the recorder sees what it is there for
    assert chunked == max(rows * VOCABULARY, VOCABULARY * HIDDEN)


def test_only_arguments_and_normalisers_are_kept_for_the_backward_pass():
    hidden, weight, targets, _ = operands(torch.float32)
    kept: list[int] = []

    def keep(tensor: Tensor) -> Tensor:
        kept.append(tensor.numel())
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(keep, lambda tensor: tensor):
        chosen_logprobs(hidden, weight, targets, chunk_logits=VOCABULARY)
    assert sorted(kept) == sorted([hidden.numel(), weight.numel(), PLACES, PLACES])


def test_no_place_gives_nothing_and_a_gradient_of_zero():
    hidden, weight, _, _ = operands(torch.float64)
    logprobs, entropy = chosen_logprobs(hidden[:0], weight, torch.zeros(0, dtype=torch.int64))
    assert logprobs.shape == entropy.shape == (0,)
    logprobs.sum().backward()
    assert hidden.grad is not None
    assert not hidden.grad.any()


def test_half_precision_gives_log_probabilities_in_single():
    hidden, weight, targets, _ = operands(torch.float64)
    exact, _ = chosen_logprobs(hidden, weight, targets)
    rounded = hidden.detach().bfloat16().requires_grad_()
    logprobs, entropy = chosen_logprobs(rounded, weight.bfloat16(), targets)
    assert logprobs.dtype == entropy.dtype == torch.float32
    torch.testing.assert_close(logprobs.double(), exact, rtol=0, atol=0.1)
    logprobs.sum().backward()
    assert rounded.grad is not None
    assert rounded.grad.dtype == torch.bfloat16
