"""Microbatches: rows side by side in one sequence, and microbatches dealt out to ranks."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pdb_trainer.errors import LearnerError
from pdb_trainer.sequences import Row

MAX_TOKENS = 16_384


@dataclass(frozen=True, slots=True, kw_only=True)
class Microbatch:
    """Whole rows, one after the other. Arrays have shape ``[N]``, and attention never crosses rows."""

    rows: tuple[int, ...]
    """Which rows, by their index in what was packed."""
    token_ids: NDArray[np.uint32]
    position_ids: NDArray[np.int32]
    """From 0 in every row."""
    row_index: NDArray[np.int32]
    """Of the token's row in this microbatch, from 0; never falls."""
    loss_mask: NDArray[np.bool_]
    old_logprobs: NDArray[np.float32]
    version: NDArray[np.int32]
    response_id: NDArray[np.int32]
    weight: NDArray[np.float32]

    @property
    def tokens(self) -> int:
        """How many."""
        return len(self.token_ids)


@dataclass(frozen=True, slots=True, kw_only=True)
class DroppedRow:
    """A row that is longer than a microbatch may be."""

    row: int
    episode: str
    group: str
    tokens: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Packing:
    """All rows in microbatches, but for those that fit in none."""

    microbatches: tuple[Microbatch, ...]
    dropped: tuple[DroppedRow, ...]
    max_tokens: int

    @property
    def fill(self) -> float:
        """Tokens by those that there would be room for; 0 without a microbatch."""
        room = self.max_tokens * len(self.microbatches)
        return sum(one.tokens for one in self.microbatches) / room if room else 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class RankWork:
    """What one rank computes in a step."""

    microbatches: tuple[Microbatch, ...]
    idle_slots: int
    """1 where the rank has one microbatch fewer than others: it computes ``idle_microbatch()`` then, since
    collectives need every rank."""

    @property
    def tokens(self) -> int:
        """Of all its microbatches."""
        return sum(one.tokens for one in self.microbatches)


def pack(rows: Sequence[Row], *, max_tokens: int = MAX_TOKENS) -> Packing:
    """First fit, longest rows first; no row is cut, and one of more than ``max_tokens`` is dropped whole.

    The same rows give the same microbatches.
    """
    lengths = [len(row.token_ids) for row in rows]
    order = sorted(range(len(rows)), key=lambda index: -lengths[index])
    bins: list[list[int]] = []
    room: list[int] = []
    dropped: list[DroppedRow] = []
    for index in order:
        length, row = lengths[index], rows[index]
        if length > max_tokens:
            dropped.append(DroppedRow(row=index, episode=row.episode, group=row.group, tokens=length))
            continue
        place = next((one for one, free in enumerate(room) if free >= length), None)
        if place is None:
            place = len(bins)
            bins.append([])
            room.append(max_tokens)
        bins[place].append(index)
        room[place] -= length
    return Packing(
        microbatches=tuple(_side_by_side(rows, indexes) for indexes in bins),
        dropped=tuple(dropped),
        max_tokens=max_tokens,
    )


def deal(microbatches: Sequence[Microbatch], *, ranks: int) -> tuple[RankWork, ...]:
    """Microbatches for each rank: largest first to the rank with the fewest tokens, then the fewest of them.

    No rank has over one more than another, so a full one is passed over. Raises LearnerError.
    """
    if ranks < 1:
        raise LearnerError(f"There are {ranks} ranks: give at least 1.")
    least, longer = divmod(len(microbatches), ranks)  # as many ranks as `longer` have one more
    dealt: list[list[Microbatch]] = [[] for _ in range(ranks)]
    loads = [0] * ranks
    for one in sorted(microbatches, key=lambda one: -one.tokens):
        above = sum(len(many) > least for many in dealt)
        allowed = least + (above < longer)
        rank = min(
            (rank for rank in range(ranks) if len(dealt[rank]) < allowed),
            key=lambda rank: (loads[rank], len(dealt[rank])),
        )
        dealt[rank].append(one)
        loads[rank] += one.tokens
    most = max(map(len, dealt))
    return tuple(RankWork(microbatches=tuple(many), idle_slots=most - len(many)) for many in dealt)


def idle_microbatch() -> Microbatch:
    """Two tokens of which nothing is learned: forward and backward happen, and the loss is 0."""
    return Microbatch(
        rows=(),
        token_ids=np.zeros(2, dtype=np.uint32),
        position_ids=np.arange(2, dtype=np.int32),
        row_index=np.zeros(2, dtype=np.int32),
        loss_mask=np.zeros(2, dtype=np.bool_),
        old_logprobs=np.zeros(2, dtype=np.float32),
        version=np.full(2, -1, dtype=np.int32),
        response_id=np.full(2, -1, dtype=np.int32),
        weight=np.zeros(2, dtype=np.float32),
    )


def _side_by_side(rows: Sequence[Row], indexes: Sequence[int]) -> Microbatch:
    packed = [rows[index] for index in indexes]
    lengths = [len(row.token_ids) for row in packed]
    return Microbatch(
        rows=tuple(indexes),
        token_ids=np.concatenate([row.token_ids for row in packed]),
        position_ids=np.concatenate([np.arange(length, dtype=np.int32) for length in lengths]),
        row_index=np.repeat(np.arange(len(packed), dtype=np.int32), lengths),
        loss_mask=np.concatenate([row.loss_mask for row in packed]),
        old_logprobs=np.concatenate([row.old_logprobs for row in packed]),
        version=np.concatenate([row.version for row in packed]),
        response_id=np.concatenate([row.response_id for row in packed]),
        weight=np.concatenate([row.weight for row in packed]),
    )
