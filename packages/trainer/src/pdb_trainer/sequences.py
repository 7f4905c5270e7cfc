"""Rows for the learner: turns that continue each other are one row, computed once."""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

from pdb_trainer.errors import RolloutError
from pdb_trainer.rollout import IdArray, Rollout, Turn, hash_of_ids

NO_ADAPTER = "base"
"""Name of weights without adapter; counted as version 0."""
_VERSION = re.compile(r"(?:.*-)?v(\d{1,9})")
_NONE = -1


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One chain of turns. All arrays have shape ``[T]``; a token's entry speaks of its own prediction."""

    episode: str
    group: str
    token_ids: NDArray[np.uint32]
    loss_mask: NDArray[np.bool_]
    """True for sampled tokens; the first token of a row is never one."""
    old_logprobs: NDArray[np.float32]
    """Of the sampler; 0 where the mask is False."""
    version: NDArray[np.int32]
    """Number of the weights that drew the token; -1 where the mask is False."""
    response_id: NDArray[np.int32]
    """Unique in the batch of rows; -1 where the mask is False."""
    weight: NDArray[np.float32]
    """What the token's loss is multiplied by: advantage, trajectory weight and every denominator of the whole
    batch (over all ranks and microbatches), so that a loss is a plain sum; 0 where the mask is False."""


class Break(StrEnum):
    """Why a prompt does not start with the conversation before it, told by the first token that differs."""

    HISTORY_CUT = "history_cut"
    """The prompt ends before the conversation does: something was taken back, or asked again."""
    REPLY_REWRITTEN = "reply_rewritten"
    """A sampled token differs: a reply was tokenised anew, or a part of it was left out."""
    CONTEXT_REWRITTEN = "context_rewritten"
    """Another token differs: other tools or another system prompt, or a result that was shortened."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Response:
    """One reply in a batch of rows."""

    episode: str
    group: str
    turn: int
    """Of the episode, from 0."""
    row: int
    """Index of the row that holds it."""
    tokens: int
    version: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Chains:
    """The rows of a batch of episodes."""

    rows: tuple[Row, ...]
    """Chains of an episode in the order of their first turns, episodes in the order given; weights are 0."""
    responses: tuple[Response, ...]
    """By response id; a reply without a token has an id and no place in its row."""
    breaks: Mapping[Break, int]
    """New chains that an episode needed after its first, by cause."""
    tokens: int
    """Of all rows."""
    tokens_unmerged: int
    """Of as many rows as there are replies, each with its whole prompt."""

    @property
    def merge_compression_ratio(self) -> float:
        """How many times fewer tokens are computed than with a row per reply; 1 for none at all."""
        return self.tokens_unmerged / self.tokens if self.tokens else 1.0


def chains(rollouts: Sequence[Rollout]) -> Chains:
    """The rows of episodes, every sampled token in exactly one of them, once.

    A turn joins the chain whose ids its prompt starts with, exactly; the longest where there are several.
    If there is none, it opens one, and why is counted. Raises RolloutError when a prompt does not have the
    hash that was recorded with it, for log-probabilities that are not a number for each token, and for
    two episodes of one name.
    """
    names = Counter(rollout.episode for rollout in rollouts)
    if twice := [name for name, count in names.items() if count > 1]:
        raise RolloutError(f"Episode {twice[0]} is there twice: give every episode a name of its own.")
    rows: list[Row] = []
    responses: list[Response] = []
    breaks: Counter[Break] = Counter()
    unmerged = 0
    for rollout in rollouts:
        merged = _Episode(rollout, first_response=len(responses), first_row=len(rows))
        for index, turn in enumerate(rollout.turns):
            merged.take(index, turn)
            unmerged += turn.prompt_length + len(turn.sampled_ids)
        rows += [chain.as_row(rollout) for chain in merged.chains]
        responses += merged.responses
        breaks.update(merged.breaks)
    return Chains(
        rows=tuple(rows),
        responses=tuple(responses),
        breaks={cause: breaks[cause] for cause in Break},
        tokens=sum(len(row.token_ids) for row in rows),
        tokens_unmerged=unmerged,
    )


def with_weights(rows: Sequence[Row], weights: NDArray[np.float32]) -> tuple[Row, ...]:
    """The rows, each sampled token with the weight ``weights[response_id]``."""
    return tuple(
        replace(row, weight=np.where(row.loss_mask, weights[row.response_id], 0).astype(np.float32))
        if row.loss_mask.any()
        else row
        for row in rows
    )


def version_number(name: str) -> int:
    """The number in a name such as ``policy-v17``; 0 for ``base``. Raises RolloutError."""
    if name == NO_ADAPTER:
        return 0
    found = _VERSION.fullmatch(name)
    if found is None:
        raise RolloutError(f"Weights are called {name!r}: name them like policy-v17, or {NO_ADAPTER}.")
    return int(found[1])


@dataclass(slots=True)
class _Chain:
    """A row in the making; the lists hold a piece per prompt and reply."""

    end: IdArray
    """All ids so far."""
    masks: list[NDArray[np.bool_]] = field(default_factory=list[NDArray[np.bool_]])
    logprobs: list[NDArray[np.float32]] = field(default_factory=list[NDArray[np.float32]])
    versions: list[NDArray[np.int32]] = field(default_factory=list[NDArray[np.int32]])
    responses: list[NDArray[np.int32]] = field(default_factory=list[NDArray[np.int32]])

    def add(self, prompt: IdArray, turn: Turn, response: int, version: int) -> None:
        """A turn whose prompt starts with this chain."""
        new, sampled = len(prompt) - len(self.end), len(turn.sampled_ids)
        for length, is_sampled in ((new, False), (sampled, True)):
            self.masks.append(np.full(length, is_sampled))
            self.versions.append(np.full(length, version if is_sampled else _NONE, dtype=np.int32))
            self.responses.append(np.full(length, response if is_sampled else _NONE, dtype=np.int32))
        self.logprobs += [np.zeros(new, dtype=np.float32), np.asarray(turn.logprobs, dtype=np.float32)]
        self.end = np.concatenate([prompt, np.asarray(turn.sampled_ids, dtype=np.uint32)])

    def is_start_of(self, prompt: IdArray) -> bool:
        """Whether a prompt continues this chain."""
        return bool(np.array_equal(prompt[: len(self.end)], self.end))

    def break_at(self, prompt: IdArray) -> Break:
        """Why a prompt does not."""
        common = min(len(prompt), len(self.end))
        differing = np.flatnonzero(prompt[:common] != self.end[:common])
        if not len(differing):
            return Break.HISTORY_CUT
        return Break.REPLY_REWRITTEN if np.concatenate(self.masks)[differing[0]] else Break.CONTEXT_REWRITTEN

    def as_row(self, rollout: Rollout) -> Row:
        """The row, with weights of 0."""
        return Row(
            episode=rollout.episode,
            group=rollout.group,
            token_ids=self.end,
            loss_mask=np.concatenate(self.masks),
            old_logprobs=np.concatenate(self.logprobs),
            version=np.concatenate(self.versions),
            response_id=np.concatenate(self.responses),
            weight=np.zeros(len(self.end), dtype=np.float32),
        )


class _Episode:
    """The chains of one episode, turn by turn."""

    def __init__(self, rollout: Rollout, *, first_response: int, first_row: int) -> None:
        self._rollout = rollout
        self._first_response = first_response
        self._first_row = first_row
        self._last: _Chain | None = None
        self.chains: list[_Chain] = []
        self.responses: list[Response] = []
        self.breaks: Counter[Break] = Counter()

    def take(self, index: int, turn: Turn) -> None:
        """The next turn."""
        prompt = self._prompt(index, turn)
        chain = max(
            (chain for chain in self.chains if chain.is_start_of(prompt)),
            key=lambda chain: len(chain.end),
            default=None,
        )
        if chain is None:
            if self._last is not None:
                self.breaks[self._last.break_at(prompt)] += 1
            chain = _Chain(end=np.zeros(0, dtype=np.uint32))
            self.chains.append(chain)
        version = version_number(turn.version)
        chain.add(prompt, turn, self._first_response + index, version)
        self._last = chain
        self.responses.append(
            Response(
                episode=self._rollout.episode,
                group=self._rollout.group,
                turn=index,
                row=self._first_row + next(i for i, one in enumerate(self.chains) if one is chain),
                tokens=len(turn.sampled_ids),
                version=version,
            )
        )

    def _prompt(self, index: int, turn: Turn) -> IdArray:
        """A turn's whole prompt, checked. Raises RolloutError."""
        prompt = np.asarray(turn.appended_ids, dtype=np.uint32)
        if turn.continues and self._last is not None:
            prompt = np.concatenate([self._last.end, prompt])
        place = f"Turn {index + 1} of episode {self._rollout.episode}"
        numbers = int(np.isfinite(turn.logprobs).sum())
        if not len(turn.logprobs) == numbers == len(turn.sampled_ids):
            raise RolloutError(
                f"{place} has {len(turn.sampled_ids)} tokens and {numbers} finite log-probabilities: "
                "leave the episode out."
            )
        if not len(prompt) or len(prompt) != turn.prompt_length or hash_of_ids(prompt) != turn.prompt_hash:
            raise RolloutError(
                f"{place} was drawn from another prompt than the one that is recorded "
                f"({turn.prompt_length} tokens, here {len(prompt)}): leave the episode out."
            )
        return prompt
