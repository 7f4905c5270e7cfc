"""The recorded groups that every way of learning is measured on, and the small model that learns.

Long episodes of short turns: each prompt is the whole conversation so far, as an agent's are.
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from pdb_trainer.advantage import AdvantageSettings, weigh
from pdb_trainer.rollout import Rollout, Turn, hash_of_ids
from pdb_trainer.sequences import Row, chains
from transformers import PreTrainedTokenizerFast, Qwen3Config, Qwen3ForCausalLM

RANK = 8
ALPHA = 16.0
VERSION = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    """How much there is to learn from. The prompt, replies and tool results count tokens."""

    groups: int = 1
    episodes: int = 4
    turns: int = 30
    prompt: int = 200
    reply: int = 20
    result: int = 40
    vocabulary: int = 4096
    hidden: int = 128
    layers: int = 3
    microbatch: int = 4096

    @property
    def merged_tokens(self) -> int:
        """Of all episodes, each computed once; nothing follows the last reply."""
        one = self.prompt + self.turns * self.reply + (self.turns - 1) * self.result
        return self.groups * self.episodes * one

    @property
    def unmerged_tokens(self) -> int:
        """With each reply behind its whole prompt."""
        before = sum(self.prompt + turn * (self.reply + self.result) for turn in range(self.turns))
        return self.groups * self.episodes * (before + self.turns * self.reply)


def rollouts(shape: Shape, seed: int = 0) -> list[Rollout]:
    """Episodes of random tokens; every other one is solved."""
    rng = np.random.default_rng(seed)
    return [
        _rollout(shape, rng, group=str(group), episode=f"{group}-{number}", solved=number % 2 == 0)
        for group in range(shape.groups)
        for number in range(shape.episodes)
    ]


def weighed_rows(recorded: Sequence[Rollout]) -> tuple[Row, ...]:
    """Chains with their weights: mean over the tokens of the batch, as TRL's default loss takes it."""
    settings = AdvantageSettings(aggregation="token", length_alpha=0.0)
    return weigh(chains(recorded).rows, recorded, version=VERSION, settings=settings).rows


def per_response(rows: Sequence[Row]) -> list[Row]:
    """A row for each reply: its whole prompt, and nothing else to learn from."""
    result: list[Row] = []
    for row in rows:
        for response in np.unique(row.response_id[row.loss_mask]):
            own = row.response_id == response
            end = int(np.flatnonzero(own)[-1]) + 1
            result.append(
                replace(
                    row,
                    token_ids=row.token_ids[:end],
                    loss_mask=own[:end],
                    old_logprobs=np.where(own, row.old_logprobs, 0)[:end].astype(np.float32),
                    version=np.where(own, row.version, -1)[:end].astype(np.int32),
                    response_id=np.where(own, row.response_id, -1)[:end].astype(np.int32),
                    weight=np.where(own, row.weight, 0)[:end].astype(np.float32),
                )
            )
    return result


def save_model(shape: Shape, folder: Path) -> None:
    """A random Qwen3 and a tokenizer that knows its ids, which TRL asks for."""
    torch.manual_seed(0)
    config = Qwen3Config(
        vocab_size=shape.vocabulary,
        hidden_size=shape.hidden,
        intermediate_size=3 * shape.hidden,
        num_hidden_layers=shape.layers,
        num_attention_heads=4,
        num_key_value_heads=2,
        head_dim=shape.hidden // 4,
        max_position_embeddings=32_768,
        tie_word_embeddings=True,
        bos_token_id=0,
        eos_token_id=1,
        pad_token_id=0,
    )
    Qwen3ForCausalLM(config).save_pretrained(folder)
    _tokenizer(shape.vocabulary).save_pretrained(folder)


def save_rows(rows: Sequence[Row], path: Path) -> None:
    """All rows in one file without pickles, which TRL's environment can read."""
    arrays: dict[str, NDArray[np.generic]] = {
        "lengths": np.array([len(row.token_ids) for row in rows], np.int64),
        "prompts": np.array([int(np.flatnonzero(row.loss_mask)[0]) for row in rows], np.int64),
    }
    for name in ("token_ids", "loss_mask", "old_logprobs", "version", "response_id", "weight"):
        arrays[name] = np.concatenate([getattr(row, name) for row in rows])
    np.savez(path, allow_pickle=False, **arrays)


def load_rows(path: Path) -> list[Row]:
    """What ``save_rows`` wrote; episodes and groups are not told apart any more."""
    with np.load(path) as file:
        ends = np.cumsum(file["lengths"])[:-1]
        names = ("token_ids", "loss_mask", "old_logprobs", "version", "response_id", "weight")
        columns = {name: np.split(file[name], ends) for name in names}
    count = len(columns["weight"])
    return [
        Row(episode="", group="", **{name: each[index] for name, each in columns.items()})
        for index in range(count)
    ]


def described(shape: Shape) -> str:
    """In one line."""
    sizes = asdict(shape)
    return ", ".join(f"{name} {value:,}" for name, value in sizes.items())


def _rollout(shape: Shape, rng: np.random.Generator, *, group: str, episode: str, solved: bool) -> Rollout:
    turns: list[Turn] = []
    conversation = np.zeros(0, np.uint32)
    for number in range(shape.turns):
        appended = _ids(rng, shape, shape.result if number else shape.prompt)
        prompt = np.concatenate([conversation, appended])
        sampled = _ids(rng, shape, shape.reply)
        turns.append(
            Turn(
                request_id=f"{episode}-{number}",
                version=f"policy-v{VERSION}",
                appended_ids=appended,
                continues=number > 0,
                prompt_length=len(prompt),
                prompt_hash=hash_of_ids(prompt),
                sampled_ids=sampled,
                logprobs=np.full(shape.reply, -np.log(shape.vocabulary), np.float32),
                finish="stop",
                parse_error=None,
                calls=1,
                seconds=0.0,
            )
        )
        conversation = np.concatenate([prompt, sampled])
    return Rollout(
        run="bench",
        group=group,
        episode=episode,
        task="task",
        task_hash="",
        seed=0,
        turns=tuple(turns),
        solved=solved,
        exit_reason="done",
        infra_error=False,
        rewards={"outcome": float(solved)},
        tests={},
        hashes={},
    )


def _ids(rng: np.random.Generator, shape: Shape, count: int) -> NDArray[np.uint32]:
    return rng.integers(2, shape.vocabulary, count).astype(np.uint32)


def _tokenizer(vocabulary: int) -> PreTrainedTokenizerFast:
    from tokenizers import Tokenizer
    from tokenizers.models import WordLevel

    words = {f"t{number}": number for number in range(vocabulary)}
    fast = PreTrainedTokenizerFast(tokenizer_object=Tokenizer(WordLevel(words, unk_token="t0")))
    fast.pad_token, fast.eos_token = "t0", "t1"
    return fast
