"""A model of a few hundred thousand random parameters, with a tokenizer that suits this project's prompts.

For smoke runs and tests: everything is as with a real model but for what it says.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import torch
from pdb_agent.procedural.gym import LabFamily, generate
from pdb_agent.procedural.gym_tasks import as_task
from pdb_agent.prompt import first_message, system_prompt
from pdb_agent.serving.vllm_server import HERMES_CHATML
from pdb_agent.task import Split
from pdb_agent.toolsets import Toolset, ToolsetName
from safetensors.torch import save_file
from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import LlamaConfig, LlamaForCausalLM

from pdb_trainer.errors import ConfigError

SPECIAL = ("<|endoftext|>", "<|im_start|>", "<|im_end|>")
_PROGRAMS_PER_FAMILY = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class TinyModel:
    """Its size."""

    hidden: int = 64
    layers: int = 2
    heads: int = 4
    vocabulary: int = 1024
    context_tokens: int = 8192
    seed: int = 0


def make_tiny_model(folder: Path, size: TinyModel | None = None) -> None:
    """Write config, weights, tokenizer and chat template into a new or empty folder; same size, same bytes.

    Raises ConfigError for a folder that has something in it.
    """
    size = size or TinyModel()
    if folder.exists() and any(folder.iterdir()):
        raise ConfigError(f"{folder} is not empty: give a new folder.")
    folder.mkdir(parents=True, exist_ok=True)
    tokenizer = make_tokenizer(size.vocabulary)
    tokenizer.save(str(folder / "tokenizer.json"))
    described = {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "eos_token": SPECIAL[2],
        "pad_token": SPECIAL[0],
    }
    (folder / "tokenizer_config.json").write_text(json.dumps(described, indent=2) + "\n", "utf-8")
    (folder / "chat_template.jinja").write_bytes(HERMES_CHATML.read_bytes())
    config = _config(size, tokenizer)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(size.seed)
        network = LlamaForCausalLM(config)
    weights = {name: value for name, value in network.state_dict().items() if name != "lm_head.weight"}
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})
    config.architectures = ["LlamaForCausalLM"]
    config.save_pretrained(folder)


def _config(size: TinyModel, tokenizer: Tokenizer) -> LlamaConfig:
    return LlamaConfig(
        vocab_size=tokenizer.get_vocab_size(),
        hidden_size=size.hidden,
        intermediate_size=2 * size.hidden,
        num_hidden_layers=size.layers,
        num_attention_heads=size.heads,
        num_key_value_heads=size.heads // 2,
        max_position_embeddings=size.context_tokens,
        tie_word_embeddings=True,
        eos_token_id=tokenizer.token_to_id(SPECIAL[2]),
        pad_token_id=tokenizer.token_to_id(SPECIAL[0]),
        bos_token_id=None,
    )


def make_tokenizer(vocabulary: int) -> Tokenizer:
    """Byte-level BPE, trained on what a policy reads: prompts, programs, tests."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)  # pyright: ignore[reportAttributeAccessIssue]
    tokenizer.decoder = decoders.ByteLevel()  # pyright: ignore[reportAttributeAccessIssue]
    trainer = trainers.BpeTrainer(
        vocab_size=vocabulary - len(SPECIAL),
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator(_texts(), trainer)
    tokenizer.add_special_tokens([AddedToken(name, special=True, normalized=False) for name in SPECIAL])
    return tokenizer


def _texts() -> Iterator[str]:
    for family in LabFamily:
        for seed in range(_PROGRAMS_PER_FAMILY):
            task = as_task(generate(family, seed), Split.TRAIN)
            yield system_prompt(task, Toolset(name=ToolsetName.EDIT_MENU)) + first_message(task)
            yield from (content.decode() for content in task.workspace.values())
