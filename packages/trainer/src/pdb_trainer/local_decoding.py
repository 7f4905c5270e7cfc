"""Decoding in this process: rows that come and go, each drawn by its own numbers.

A row's tokens depend on the weights, its prompt and its seed. Every random number is of (seed, place in the
reply); the batch is padded to a multiple of ROW_STEP rows and LENGTH_STEP keys, for which the kernels of
the CPU make each row's sums in the same order whatever stands in the other rows.
"""

import inspect
import secrets
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from pdb_trainer.local_cache import LENGTH_STEP, PrefixStore, RowsCache, shared
from pdb_trainer.sampler import SampleRequest

ROW_STEP = 8
_NO_TOKEN = -1
_SEED_BITS = 48
CausalModel = Callable[..., Any]
"""Called as transformers' causal language models are; its answer has ``logits [B, T, V]``."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Drawn:
    """A reply that is done."""

    key: int
    token_ids: tuple[int, ...]
    logprobs: tuple[float, ...]
    stopped: bool
    cached_tokens: int


@dataclass(frozen=True, slots=True, kw_only=True)
class _Row:
    key: int
    prompt: NDArray[np.int64]
    cached: int


class _Columns:
    """What is kept of every row, ``[rows]`` or ``[rows, room]``; a row's numbers move with it."""

    def __init__(self, rows: int) -> None:
        self.token = torch.zeros(rows, dtype=torch.int64)
        """The last one, which the model has not seen yet."""
        self.position = torch.zeros(rows, dtype=torch.int64)
        """Of that token."""
        self.drawn = torch.zeros(rows, dtype=torch.int64)
        self.most = torch.zeros(rows, dtype=torch.int64)
        self.temperature = torch.ones(rows, 1, dtype=torch.float64)
        self.greedy = torch.zeros(rows, dtype=torch.bool)
        self.stops = torch.full((rows, 1), _NO_TOKEN, dtype=torch.int64)
        self.noise = torch.zeros(rows, 0, dtype=torch.float64)
        """Uniform in [0, 1), one for each token that may be drawn."""
        self.ids = torch.zeros(rows, 0, dtype=torch.int64)
        self.logprobs = torch.zeros(rows, 0, dtype=torch.float64)

    def set(self, row: int, request: SampleRequest) -> None:
        """Begin a row."""
        seed = secrets.randbits(_SEED_BITS) if request.seed is None else request.seed
        noise = torch.rand(
            request.max_tokens, dtype=torch.float64, generator=torch.Generator().manual_seed(seed)
        )
        stops = torch.tensor(sorted(request.stop_ids), dtype=torch.int64)
        self.noise = _with_room(self.noise, len(noise), 0)
        self.ids = _with_room(self.ids, len(noise), 0)
        self.logprobs = _with_room(self.logprobs, len(noise), 0)
        self.stops = _with_room(self.stops, len(stops), _NO_TOKEN)
        self.stops[row] = _NO_TOKEN
        self.stops[row, : len(stops)] = stops
        self.noise[row, : len(noise)] = noise
        self.greedy[row] = request.temperature == 0
        self.temperature[row] = request.temperature or 1.0
        self.most[row] = request.max_tokens
        self.drawn[row] = 0
        self.position[row] = len(request.prompt) - 1

    def move(self, source: int, target: int) -> None:
        """Put a row's numbers in another's place, and leave harmless ones behind."""
        for name, column in vars(self).items():
            column[target] = column[source]
            if name in ("token", "position"):
                column[source] = 0


class Decoder:
    """A model with its batch. Not for several threads at once."""

    def __init__(self, model: CausalModel, *, rows: int, prefix_bytes: int) -> None:
        """``prefix_bytes`` bounds what is kept of conversations that may go on."""
        self._model = model
        room = -(-rows // ROW_STEP) * ROW_STEP
        self._cache = RowsCache(room)
        self._store = PrefixStore(prefix_bytes)
        self._columns = _Columns(room)
        self._rows: list[_Row] = []
        parameters = inspect.signature(getattr(model, "forward", model)).parameters
        self._can_choose_logits = "logits_to_keep" in parameters
        weights = next(iter(model.parameters()), None) if isinstance(model, nn.Module) else None
        self._dtype = torch.float32 if weights is None else weights.dtype
        self._device = torch.device("cpu") if weights is None else weights.device

    @property
    def active(self) -> int:
        """Rows that are being drawn."""
        return len(self._rows)

    @torch.no_grad()
    def run(self, new: Sequence[tuple[int, SampleRequest]], steps: int) -> list[Drawn]:
        """Begin the requests, each under its key, and draw up to ``steps`` tokens for every row."""
        finished: list[Drawn] = []
        with _evaluating(self._model):
            for key, request in new:
                finished += self._begin(key, request)
            for _ in range(steps):
                if not self._rows:
                    break
                finished += self._step()
        return finished

    def drop(self, keys: frozenset[int]) -> None:
        """Give up rows whose reply nobody waits for."""
        for index in reversed(range(len(self._rows))):
            if self._rows[index].key in keys:
                self._remove(index)

    def forget(self) -> None:
        """The weights have changed: nothing that was computed before holds."""
        self._store.clear()

    def _begin(self, key: int, request: SampleRequest) -> list[Drawn]:
        prompt = np.array(request.prompt, dtype=np.int64)
        row = len(self._rows)
        cached = self._reuse(row, prompt)
        self._rows.append(_Row(key=key, prompt=prompt, cached=cached))
        self._columns.set(row, request)
        new = len(prompt) - cached
        tokens = torch.zeros(1, _rounded(new, ROW_STEP), dtype=torch.int64)
        tokens[0, :new] = torch.from_numpy(prompt[cached:])
        positions = torch.arange(cached, cached + tokens.shape[1])[None]
        logits = self._forward(row, tokens, positions, torch.tensor([new - 1]))
        return self._take(slice(row, row + 1), logits)

    def _reuse(self, row: int, prompt: NDArray[np.int64]) -> int:
        """Copy what is known of the beginning of a prompt into the row; its last token is always computed."""
        found, states = self._store.longest(prompt)
        for index in range(len(self._rows)):
            common = shared(self._ids(index), prompt)
            if common > found:
                found, states = common, self._cache.read(index, common)
        found = min(found, len(prompt) - 1)
        if found:
            self._cache.write(row, [(keys[:, :found], values[:, :found]) for keys, values in states])
        return found

    def _step(self) -> list[Drawn]:
        rows = _rounded(len(self._rows), ROW_STEP)
        columns = self._columns
        logits = self._forward(0, columns.token[:rows, None], columns.position[:rows, None], None)
        active = slice(0, len(self._rows))
        return self._take(active, logits[active])

    def _forward(self, first_row: int, tokens: Tensor, positions: Tensor, at: Tensor | None) -> Tensor:
        """Logits ``[B, V]`` at one place of each row; the last where ``at`` is None."""
        length = _rounded(int(positions.max()) + 1, LENGTH_STEP)
        positions = positions.to(self._device)
        is_later = torch.arange(length, device=self._device) > positions[:, None, :, None]
        mask = torch.zeros(is_later.shape, dtype=self._dtype, device=self._device)
        choice = {"logits_to_keep": 1 if at is None else at} if self._can_choose_logits else {}
        logits = self._model(
            input_ids=tokens.to(self._device),
            attention_mask=mask.masked_fill_(is_later, float("-inf")),
            position_ids=positions,
            past_key_values=self._cache.at(first_row, positions, length),
            use_cache=True,
            **choice,
        ).logits
        return (logits[:, -1] if choice or at is None else logits[:, int(at)]).cpu()

    def _take(self, rows: slice, logits: Tensor) -> list[Drawn]:
        """Draw one token for each of ``rows``, and hand over the rows that are done with it."""
        columns = self._columns
        drawn = columns.drawn[rows]
        places = (torch.arange(rows.start, rows.stop), drawn)
        logprobs = torch.log_softmax(logits.double() / columns.temperature[rows], dim=-1)
        upto = logprobs.exp().cumsum(dim=-1)
        wanted = columns.noise[places][:, None] * upto[:, -1:]
        chosen = torch.searchsorted(upto, wanted, right=True)[:, 0].clamp_max(upto.shape[1] - 1)
        chosen = torch.where(columns.greedy[rows], logprobs.argmax(dim=-1), chosen)
        columns.ids[places] = chosen
        columns.logprobs[places] = logprobs.gather(1, chosen[:, None])[:, 0]
        columns.token[rows] = chosen
        columns.position[rows] += 1
        columns.drawn[rows] += 1
        stopped = (columns.stops[rows] == chosen[:, None]).any(dim=1)
        done = stopped | (columns.drawn[rows] >= columns.most[rows])
        ends = [(rows.start + int(index), bool(stopped[index])) for index in done.nonzero()[:, 0]]
        return [self._finish(row, stopped=has_stopped) for row, has_stopped in reversed(ends)]

    def _finish(self, index: int, *, stopped: bool) -> Drawn:
        row, columns = self._rows[index], self._columns
        drawn = int(columns.drawn[index])
        ids = self._ids(index)
        self._store.keep(ids, self._cache.read(index, len(ids)))
        result = Drawn(
            key=row.key,
            token_ids=tuple(columns.ids[index, :drawn].tolist()),
            logprobs=tuple(columns.logprobs[index, :drawn].tolist()),
            stopped=stopped,
            cached_tokens=row.cached,
        )
        self._remove(index)
        return result

    def _ids(self, index: int) -> NDArray[np.int64]:
        """All ids of a row whose keys and values are there: the last token's are not."""
        drawn = max(0, int(self._columns.drawn[index]) - 1)
        return np.concatenate([self._rows[index].prompt, self._columns.ids[index, :drawn].numpy()])

    def _remove(self, index: int) -> None:
        last = len(self._rows) - 1
        if index != last:
            length = int(self._columns.position[last])
            self._cache.write(index, self._cache.read(last, length))
            self._rows[index] = self._rows[last]
        self._columns.move(last, index)
        self._rows.pop()


def _rounded(number: int, step: int) -> int:
    return -(-number // step) * step


def _with_room(column: Tensor, room: int, fill: int) -> Tensor:
    """The column, wide enough."""
    if column.shape[1] >= room:
        return column
    wider = torch.full((len(column), room), fill, dtype=column.dtype)
    wider[:, : column.shape[1]] = column
    return wider


@contextmanager
def _evaluating(model: CausalModel) -> Generator[None]:
    """Without dropout, and with caches, which training with checkpoints switches off."""
    if not isinstance(model, nn.Module) or not model.training:
        yield
        return
    model.eval()
    try:
        yield
    finally:
        model.train()
