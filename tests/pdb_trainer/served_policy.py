"""The small model behind a real vLLM, and the same replies computed by others."""

import math
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import anyio
import numpy as np
import torch
from anyio.from_thread import start_blocking_portal
from numpy.typing import NDArray
from pdb_agent.serving.vllm_server import VllmServer
from pdb_trainer.lora import LoraSettings
from pdb_trainer.model import PackedTensors, PolicyModel, load_policy
from pdb_trainer.packing import pack
from pdb_trainer.policy_server import PolicyServerSettings, start_policy_server
from pdb_trainer.sampler import Sampled, Sampler, SampleRequest
from pdb_trainer.sequences import Row
from torch import Tensor

from tests.pdb_agent.serving.local_vllm import MODEL, PYTHON

STOP = 2  # <|im_end|>
LORA = LoraSettings(rank=8, alpha=32.0)
LAG = 1
CONTEXT_TOKENS = 4096
QUESTIONS = (
    "What is the capital of France?",
    "Add 12 and 7.",
    "Write a function that reverses a list.",
    "Name three colours.",
    "Why is the sky blue?",
    "What does `x = [] * 3` make?",
    "Tell me a story about a fox.",
    "Fix: for i in range(len(a) + 1): print(a[i])",
)
Logprobs = NDArray[np.float64]
Drawn = Sequence[tuple[SampleRequest, Sampled]]


@contextmanager
def served_policy(folder: Path, dtype: str) -> Generator[VllmServer]:
    """A server for tests that share it; it ends with the block."""
    settings = PolicyServerSettings(
        lag=LAG, adapter_rank=LORA.rank, context_tokens=CONTEXT_TOKENS, dtype=dtype, kv_cache_gib=2
    )
    with (
        start_blocking_portal() as portal,
        portal.wrap_async_context_manager(
            start_policy_server(MODEL, PYTHON, log=folder / "vllm.log", settings=settings)
        ) as server,
    ):
        yield server


def learner(dtype: torch.dtype) -> PolicyModel:
    """The model as the learner has it, with an adapter that changes much."""
    torch.set_num_threads(1)
    model = load_policy(MODEL, lora=LORA, dtype=dtype)
    model.load_adapter(drawn_adapter(model.adapter(), seed=1))
    return model


def drawn_adapter(like: Mapping[str, Tensor], seed: int) -> dict[str, Tensor]:
    """Another adapter of the same shape, with no matrix of zeros."""
    generator = torch.Generator().manual_seed(seed)
    return {name: torch.randn(value.shape, generator=generator) * 0.02 for name, value in like.items()}


def asked(
    tokenizer: Any,
    question: str,
    *,
    max_tokens: int = 48,
    stop_ids: frozenset[int] = frozenset({STOP}),
    temperature: float = 1.0,
    seed: int | None = None,
) -> SampleRequest:
    said = [{"role": "user", "content": question}]
    ids = tokenizer.apply_chat_template(said, add_generation_prompt=True)["input_ids"]
    return SampleRequest(
        prompt=tuple(ids), max_tokens=max_tokens, stop_ids=stop_ids, temperature=temperature, seed=seed
    )


async def all_at_once(sampler: Sampler, requests: Sequence[SampleRequest]) -> Drawn:
    replies: dict[int, Sampled] = {}

    async def one(number: int, request: SampleRequest) -> None:
        replies[number] = await sampler.sample(request)

    async with anyio.create_task_group() as tasks:
        for number, request in enumerate(requests):
            tasks.start_soon(one, number, request)
    return [(request, replies[number]) for number, request in enumerate(requests)]


def sampled_logprobs(drawn: Drawn) -> Logprobs:
    """All of them in a row."""
    return np.concatenate([np.array(reply.logprobs) for _, reply in drawn])


@torch.inference_mode()
def reference_logprobs(network: Any, drawn: Drawn) -> Logprobs:
    """The same by transformers or peft, from all logits in float32."""
    found: list[Logprobs] = []
    for request, reply in drawn:
        ids = torch.tensor([[*request.prompt, *reply.token_ids]])
        logits = network(ids).logits[0, len(request.prompt) - 1 : -1].float() / (request.temperature or 1.0)
        chosen = torch.log_softmax(logits, -1).gather(1, torch.tensor(reply.token_ids)[:, None])
        found.append(chosen[:, 0].double().numpy())
    return np.concatenate(found)


@torch.inference_mode()
def learner_logprobs(model: PolicyModel, drawn: Drawn, adapter: str | None = "policy") -> Logprobs:
    """The same by the learner, packed."""
    rows = [_row(number, request, reply) for number, (request, reply) in enumerate(drawn)]
    by_row: dict[int, Logprobs] = {}
    for microbatch in pack(rows, max_tokens=1024).microbatches:
        packed = PackedTensors.of(microbatch, model.device)
        values = model.logprobs(packed, adapter, drawn[0][0].temperature)[0].double().numpy()
        owners = microbatch.row_index[packed.places.numpy()]
        for place, number in enumerate(microbatch.rows):
            by_row[number] = values[owners == place]
    return np.concatenate([by_row[number] for number in range(len(rows))])


def _row(number: int, request: SampleRequest, reply: Sampled) -> Row:
    prompt, sampled = len(request.prompt), len(reply.token_ids)
    mask = np.arange(prompt + sampled) >= prompt
    old = np.concatenate([np.zeros(prompt), reply.logprobs]).astype(np.float32)
    return Row(
        episode=str(number),
        group="",
        token_ids=np.array([*request.prompt, *reply.token_ids], np.uint32),
        loss_mask=mask,
        old_logprobs=old,
        version=np.where(mask, 0, -1).astype(np.int32),
        response_id=np.where(mask, number, -1).astype(np.int32),
        weight=mask.astype(np.float32),
    )


def kl(sampler: Logprobs, trainer: Logprobs) -> float:
    """Mean of k3, exp(d) - 1 - d with d = trainer - sampler: never negative, and without bias."""
    difference = trainer - sampler
    return float(np.mean(np.expm1(difference) - difference))


def told(name: str, sampler: Logprobs, trainer: Logprobs) -> None:
    """Print a comparison, for whoever runs with -s."""
    difference = np.abs(sampler - trainer)
    most, mean = float(difference.max()), float(difference.mean())
    assert math.isfinite(most)
    print(f"{name}: {len(difference)} tokens, max {most:.2e}, mean {mean:.2e}, KL {kl(sampler, trainer):.2e}")
