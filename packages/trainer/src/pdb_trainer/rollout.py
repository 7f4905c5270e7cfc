"""Token-exact records of episodes: what the sampler saw and drew, never tokenised again."""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
from numpy.typing import NDArray

IdArray = NDArray[np.uint32]
LogprobArray = NDArray[np.float32]


def hash_of_ids(token_ids: IdArray | Sequence[int]) -> str:
    """SHA-256 of ids as little-endian uint32, hexadecimal: what ``Turn.prompt_hash`` holds."""
    return hashlib.sha256(np.asarray(token_ids, dtype="<u4").tobytes()).hexdigest()


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """One reply of the policy, as the sampler drew it."""

    request_id: str
    version: str
    """Of the weights, e.g. ``policy-v17``; one for the whole reply."""
    appended_ids: IdArray
    """Ids of the prompt after those of the turn before (its prompt and reply); all of it where the prompt
    does not start with them, and for the first turn."""
    continues: bool
    """Whether the prompt starts with the turn before's prompt and reply, exactly."""
    prompt_length: int
    prompt_hash: str
    """SHA-256 of the whole prompt's ids as little-endian uint32, hexadecimal."""
    sampled_ids: IdArray
    logprobs: LogprobArray
    finish: Literal["stop", "length"]
    parse_error: str | None
    """Of the first malformed call; None when every call parses."""
    calls: int
    seconds: float
    cached_tokens: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Rollout:
    """One episode with its tokens, its verdict and its reward."""

    run: str
    group: str
    """Episodes of one task and one draw of it, compared with each other."""
    episode: str
    task: str
    task_hash: str
    seed: int
    turns: tuple[Turn, ...]
    solved: bool
    exit_reason: str
    infra_error: bool
    """Says nothing of the policy: run again, never scored."""
    rewards: Mapping[str, float]
    """By term; their sum is the reward."""
    tests: Mapping[str, tuple[int, int]]
    """Passed and total at the end, by group of tests."""
    hashes: Mapping[str, str]
    """Of tokenizer, chat template, tool schemas, base model, debugger server."""
    facts: Mapping[str, float] = field(default_factory=dict[str, float])
    """Numbers for logs: tool errors, seconds by part, peak context."""

    @property
    def reward(self) -> float:
        """The sum of all terms."""
        return float(sum(self.rewards.values()))

    @property
    def sampled_tokens(self) -> int:
        """Over all turns."""
        return sum(len(turn.sampled_ids) for turn in self.turns)
