"""Keys and values of a batch whose rows are at different places, and of what was computed before."""

from collections import OrderedDict
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import Any, cast

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from transformers.cache_utils import Cache, CacheLayerMixin

LENGTH_STEP = 64
"""Lengths are rounded up to a multiple of this: sums are then made in the same order whatever the batch."""
Ids = NDArray[np.int64]


@dataclass(slots=True, kw_only=True)
class _Place:
    """Where the next keys and values go."""

    rows: Tensor = field(default_factory=lambda: torch.zeros(1, dtype=torch.int64))
    """``[B]``, from the first row of the batch."""
    positions: Tensor = field(default_factory=lambda: torch.zeros(1, 1, dtype=torch.int64))
    """``[B, T]``."""
    first_row: int = 0
    length: int = 0
    """Of the keys that are looked at."""


class _RowsLayer(CacheLayerMixin):
    """One layer: ``[rows, heads, length, D]``, written at each row's own place."""

    def __init__(self, rows: int, place: _Place) -> None:
        super().__init__()
        self._rows = rows
        self._place = place

    def lazy_initialization(self, key_states: Tensor, value_states: Tensor) -> None:
        """Make room, or more room, for states like these."""
        length = -(-self._place.length // LENGTH_STEP) * LENGTH_STEP
        self.keys = _grown(self.keys, key_states, self._rows, length)
        self.values = _grown(self.values, value_states, self._rows, length)
        self.is_initialized = True

    def update(
        self, key_states: Tensor, value_states: Tensor, *args: Any, **kwargs: Any
    ) -> tuple[Tensor, Tensor]:
        """Write ``[B, heads, T, D]``, and return all that the rows may look at."""
        place = self._place
        if self.keys is None or self.values is None or self.keys.shape[2] < place.length:
            self.lazy_initialization(key_states, value_states)
        assert self.keys is not None
        assert self.values is not None
        index = (place.rows[:, None], slice(None), place.positions)
        self.keys[index] = key_states.transpose(1, 2)
        self.values[index] = value_states.transpose(1, 2)
        seen = (slice(place.first_row, place.first_row + len(place.rows)), slice(None), slice(place.length))
        return self.keys[seen], self.values[seen]

    def get_mask_sizes(self, query_length: int) -> tuple[int, int]:
        """Length of the keys, and where they begin."""
        return self._place.length, 0

    def get_seq_length(self) -> int:
        """Length of the keys."""
        return self._place.length

    def get_max_length(self) -> int:
        """No bound."""
        return -1


class RowsCache(Cache):
    """The cache of a batch of at most ``rows`` rows."""

    def __init__(self, rows: int) -> None:
        self.place = _Place()
        self._own: list[_RowsLayer] = []
        make = cast("type[CacheLayerMixin]", partial(self._layer, rows))
        super().__init__(layer_class_to_replicate=make)

    def at(self, first_row: int, positions: Tensor, length: int) -> "RowsCache":
        """Direct the next forward pass to ``positions [B, T]``, which sees ``length`` keys of each row."""
        self.place.rows = torch.arange(first_row, first_row + len(positions), device=positions.device)
        self.place.positions = positions
        self.place.first_row = first_row
        self.place.length = length
        return self

    def read(self, row: int, length: int) -> list[tuple[Tensor, Tensor]]:
        """Views of one row's keys and values, ``[heads, length, D]`` for each layer."""
        return [(keys[row, :, :length], values[row, :, :length]) for keys, values in self._tensors()]

    def write(self, row: int, states: list[tuple[Tensor, Tensor]]) -> None:
        """Put keys and values at the beginning of a row. ``states`` are of this cache's own making."""
        length = states[0][0].shape[1]
        self.place.length = length
        for layer, (keys, values) in zip(self._own, states, strict=True):
            if layer.keys is None or layer.keys.shape[2] < length:
                layer.lazy_initialization(keys[None], values[None])
        for (to_keys, to_values), (keys, values) in zip(self._tensors(), states, strict=True):
            to_keys[row, :, :length] = keys
            to_values[row, :, :length] = values

    def _layer(self, rows: int) -> _RowsLayer:
        self._own.append(_RowsLayer(rows, self.place))
        return self._own[-1]

    def _tensors(self) -> Iterator[tuple[Tensor, Tensor]]:
        for layer in self._own:
            assert layer.keys is not None
            assert layer.values is not None
            yield layer.keys, layer.values


def _grown(old: Tensor | None, like: Tensor, rows: int, length: int) -> Tensor:
    """Zeros for so many rows and keys, with what there was at the beginning."""
    new = torch.zeros(rows, like.shape[1], length, like.shape[3], dtype=like.dtype, device=like.device)
    if old is not None:
        new[:, :, : old.shape[2]] = old
    return new


@dataclass(frozen=True, slots=True, kw_only=True)
class _Kept:
    ids: Ids
    states: list[tuple[Tensor, Tensor]]
    bytes: int


class PrefixStore:
    """Keys and values of conversations, the longest unused ones forgotten first."""

    def __init__(self, most_bytes: int) -> None:
        self._most_bytes = most_bytes
        self.bytes = 0
        self._kept: OrderedDict[bytes, _Kept] = OrderedDict()

    def keep(self, ids: Ids, states: list[tuple[Tensor, Tensor]]) -> None:
        """Copy the states of ``ids``."""
        size = sum(tensor.numel() * tensor.element_size() for pair in states for tensor in pair)
        key = ids.tobytes()
        if size > self._most_bytes or key in self._kept:
            return
        copied = [(keys.clone(), values.clone()) for keys, values in states]
        self._kept[key] = _Kept(ids=ids, states=copied, bytes=size)
        self.bytes += size
        while self.bytes > self._most_bytes:
            self.bytes -= self._kept.popitem(last=False)[1].bytes

    def longest(self, ids: Ids) -> tuple[int, list[tuple[Tensor, Tensor]]]:
        """How much of the beginning of ``ids`` is there, and its states; what ends there is used up.

        Of a conversation that goes on only the longer one has to stay.
        """
        best, key = max(
            ((shared(kept.ids, ids), key) for key, kept in self._kept.items()),
            key=lambda found: found[0],
            default=(0, b""),
        )
        if not best:
            return 0, []
        kept = self._kept[key]
        self._kept.move_to_end(key)
        if best == len(kept.ids):
            self.bytes -= self._kept.pop(key).bytes
        return best, [(keys[:, :best], values[:, :best]) for keys, values in kept.states]

    def clear(self) -> None:
        """Forget everything: the weights have changed."""
        self._kept.clear()
        self.bytes = 0


def shared(one: Ids, other: Ids) -> int:
    """Length of the common beginning."""
    length = min(len(one), len(other))
    different = np.flatnonzero(one[:length] != other[:length])
    return int(different[0]) if len(different) else length
