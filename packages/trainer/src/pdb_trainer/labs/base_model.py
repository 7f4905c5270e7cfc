"""Makes a lab's base model: random weights that lean towards copying, then a minute of reading.

In each layer the value and output matrices are each other's transpose, and queries and keys use the same one
(after mimetic initialisation, arXiv 2305.09828): what attends finds its like, and hands it on as it is.
Without that, such a small model takes many times as many texts until it can copy a name.
"""

import json
import math
import random
from collections.abc import Callable, Sequence
from pathlib import Path

import torch
from pdb_agent.messages import ToolSpec
from pdb_agent.procedural.gym import GymTask
from pdb_agent.serving.vllm_server import HERMES_CHATML
from safetensors.torch import save_file
from torch import Tensor, nn
from torch.nn.functional import cross_entropy
from transformers import LlamaConfig, LlamaForCausalLM

from pdb_trainer.labs.primer import SPECIAL, make_tokenizer, special_ids, texts
from pdb_trainer.labs.settings import BaseConfig
from pdb_trainer.renderers.opening import open_renderer

_TOKENIZER_PROGRAMS = 300
_FEED_FORWARD = 3
"""Times the hidden size."""
_WARMUP_STEPS = 30
_ABOUT_TOKENS = 20
_CLIP_NORM = 1.0
_LOWEST_RATE = 0.1
"""Of the highest."""


def make_base(
    folder: Path,
    tasks: Sequence[GymTask],
    tools: Sequence[ToolSpec],
    config: BaseConfig,
    seed: int,
    tell: Callable[[int, int, float], None] = lambda step, steps, loss: None,
) -> dict[str, float]:
    """Write a model's folder, and return its numbers; ``tell`` is told the loss after every update.

    The configuration comes last: a folder that has config.json is whole.
    """
    folder.mkdir(parents=True, exist_ok=True)
    tokenizer = make_tokenizer(tasks[:_TOKENIZER_PROGRAMS], tools, config.vocabulary)
    tokenizer.save(str(folder / "tokenizer.json"))
    described = {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "eos_token": SPECIAL[2],
        "pad_token": SPECIAL[0],
    }
    (folder / "tokenizer_config.json").write_text(json.dumps(described, indent=2) + "\n", "utf-8")
    (folder / "chat_template.jinja").write_bytes(HERMES_CHATML.read_bytes())
    ids = texts(tasks, tools, open_renderer(None, folder), tokenizer, seed)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        network = random_network(config, special_ids(tokenizer))
        losses = read(network, ids, config, seed, tell)
    weights = {name: value for name, value in network.state_dict().items() if name != "lm_head.weight"}
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})
    network.config.architectures = ["LlamaForCausalLM"]
    network.config.save_pretrained(folder)
    return {
        "parameters": sum(each.numel() for each in network.parameters()),
        "texts": len(ids),
        "tokens": sum(map(len, ids)) * config.passes,
        "updates": len(losses),
        "first_loss": losses[0],
        "last_loss": losses[-1],
    }


def random_network(config: BaseConfig, special: Sequence[int]) -> LlamaForCausalLM:
    """Random weights; ``special`` are the ids of SPECIAL, which come last in the vocabulary."""
    pad, _, end = special
    settings = LlamaConfig(
        vocab_size=max(special) + 1,
        hidden_size=config.hidden,
        intermediate_size=_FEED_FORWARD * config.hidden,
        num_hidden_layers=config.layers,
        num_attention_heads=config.heads,
        num_key_value_heads=config.heads,
        max_position_embeddings=config.context_tokens,
        tie_word_embeddings=True,
        eos_token_id=end,
        pad_token_id=pad,
        bos_token_id=None,
    )
    network = LlamaForCausalLM(settings)
    with torch.no_grad():
        network.get_parameter("model.embed_tokens.weight").normal_(0.0, 1 / math.sqrt(config.hidden))
        for layer in range(config.layers):
            handed_on = nn.init.orthogonal_(torch.empty(config.hidden, config.hidden))
            alike = nn.init.orthogonal_(torch.empty(config.hidden, config.hidden))
            matrices = {"v": handed_on, "o": handed_on.T, "q": alike, "k": alike}
            for name, matrix in matrices.items():
                network.get_parameter(f"model.layers.{layer}.self_attn.{name}_proj.weight").copy_(matrix)
    return network


def read(
    network: LlamaForCausalLM,
    ids: Sequence[Sequence[int]],
    config: BaseConfig,
    seed: int,
    tell: Callable[[int, int, float], None],
) -> list[float]:
    """Predict every token of every text, all weights being trained; the losses in nats per token."""
    optimiser = torch.optim.AdamW(
        network.parameters(), lr=config.learning_rate, betas=(0.9, 0.95), weight_decay=0.0
    )
    draw = random.Random(f"{seed}/reading")
    batches = [batch for _ in range(config.passes) for batch in _batches(ids, config.batch, draw)]
    steps = len(batches)
    losses: list[float] = []
    for step, batch in enumerate(batches):
        for group in optimiser.param_groups:
            group["lr"] = config.learning_rate * _rate_at(step, steps)
        loss = _loss(network, batch)
        optimiser.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(network.parameters(), _CLIP_NORM)
        optimiser.step()
        losses.append(float(loss.detach()))
        tell(step + 1, steps, losses[-1])
    return losses


def _batches(ids: Sequence[Sequence[int]], size: int, draw: random.Random) -> list[list[Sequence[int]]]:
    """One pass in a random order of batches, each of texts of about the same length: little is filled up."""
    order = draw.sample(range(len(ids)), len(ids))
    order.sort(key=lambda index: len(ids[index]) // _ABOUT_TOKENS)
    batches = [[ids[index] for index in order[start : start + size]] for start in range(0, len(ids), size)]
    return draw.sample(batches, len(batches))


def _rate_at(step: int, steps: int) -> float:
    falling = 0.5 * (1 + math.cos(math.pi * step / steps))
    return min(1.0, (step + 1) / _WARMUP_STEPS) * (_LOWEST_RATE + (1 - _LOWEST_RATE) * falling)


def _loss(network: LlamaForCausalLM, batch: Sequence[Sequence[int]]) -> Tensor:
    """Mean over the tokens of all texts, filled up at their ends, where causal attention needs no mask."""
    length = max(map(len, batch))
    ids = torch.zeros(len(batch), length, dtype=torch.int64)
    there = torch.zeros(len(batch), length, dtype=torch.bool)
    for row, text in enumerate(batch):
        ids[row, : len(text)] = torch.tensor(text)
        there[row, : len(text)] = True
    logits = network(input_ids=ids).logits[:, :-1]
    return cross_entropy(logits[there[:, 1:]], ids[:, 1:][there[:, 1:]])
