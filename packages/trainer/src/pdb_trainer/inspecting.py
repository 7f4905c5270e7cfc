"""What a run learned from, as data: its groups with rewards and advantages, and single rows token by token.

Everything is computed anew from the stored rollouts, by the same functions that the learner's batch comes
from; ``inspection_pages`` shows it to people, ``inspection_json`` to programs.
"""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from pydantic import ValidationError

from pdb_trainer.advantage import Weighed, weigh
from pdb_trainer.config import AlgorithmConfig, GrpoConfig
from pdb_trainer.config_reading import RUN_FILE
from pdb_trainer.errors import RolloutError
from pdb_trainer.grpo_settings import advantage_settings
from pdb_trainer.renderers.text_tokenizer import TextTokenizer
from pdb_trainer.rollout import Rollout
from pdb_trainer.rollout_store import LINES, BadLine, RolloutStore
from pdb_trainer.sequences import Chains, Row, chains

Decode = Callable[[Sequence[int]], str]
TOKENIZER = "tokenizer.json"
_MOST_BYTES = 4
"""Of one character: so many tokens may share it."""
_HALF_CHARACTER = "\ufffd"
_NUMBER = re.compile(r"\d+")


@dataclass(frozen=True, slots=True, kw_only=True)
class Batch:
    """The rollouts of one step."""

    name: str
    """The folder that holds them."""
    rollouts: tuple[Rollout, ...]
    chains: Chains
    weighed: Weighed
    bad_lines: tuple[BadLine, ...]

    @property
    def groups(self) -> Mapping[str, tuple[Rollout, ...]]:
        """Episodes of each group, in the order in which they were stored."""
        found: dict[str, tuple[Rollout, ...]] = {}
        for one in self.rollouts:
            found[one.group] = (*found.get(one.group, ()), one)
        return found


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenView:
    """One token of a row."""

    id: int
    text: str
    """Empty where the next token completes the character."""
    trained: bool
    logprob: float
    version: int
    response: int
    """-1 for what was not sampled."""
    weight: float


@dataclass(frozen=True, slots=True, kw_only=True)
class RowView:
    """One row of an episode."""

    rollout: Rollout
    advantage: float | None
    """None for an episode that was compared with none: infrastructure, or a group that was too small."""
    row: int
    """In the episode, from 0."""
    rows: int
    """So many has the episode."""
    tokens: tuple[TokenView, ...]
    turns: Mapping[int, int]
    """Turn of the episode, from 0, by response."""


def look_at_batch(run: Path, step: str | None = None) -> Batch:
    """The rollouts of a step, named as its folder or by its number; None is the newest.

    Raises RolloutError when there are none, or no such step.
    """
    stores = _stores(run)
    if step is None:
        return _batch(stores[-1], run)
    for store in stores:
        if store.folder.name == step or _numbers(store.folder.name) == _numbers(step) != []:
            return _batch(store, run)
    names = ", ".join(store.folder.name for store in (stores[0], stores[-1]))
    raise RolloutError(f"{run} has no rollouts of step {step}: the first and the last are {names}.")


def look_at_row(
    run: Path, *, episode: str | None = None, row: int | None = None, step: str | None = None
) -> RowView:
    """A row of an episode; without an episode, of all the step's rows. Raises RolloutError."""
    batch = look_at_batch(run, step) if step is not None or episode is None else _with_episode(run, episode)
    rows = [one for one in batch.chains.rows if episode in (None, one.episode)]
    if not rows:
        raise RolloutError(f"{batch.name} has no episode {episode} with a reply: look for it without --row.")
    number = row or 0
    if not 0 <= number < len(rows):
        raise RolloutError(f"There is no row {number}: there are {len(rows)}, counted from 0.")
    return _row_view(batch, rows[number], decoder_of(run) or _as_numbers)


def decoder_of(run: Path) -> Decode | None:
    """From the run's own tokenizer.json or its base model's; None when neither is there."""
    config = _config(run)
    for folder in (run, *(() if config is None else (config.model.path,))):
        if (folder / TOKENIZER).exists():
            return TextTokenizer(folder / TOKENIZER).decode
    return None


def pieces(token_ids: Sequence[int], decode: Decode) -> list[str]:
    """The text of each token; of tokens that share a character, the last one has it."""
    found: list[str] = []
    waiting: list[int] = []
    for token in token_ids:
        waiting.append(token)
        text = decode(waiting)
        if text.endswith(_HALF_CHARACTER) and len(waiting) < _MOST_BYTES:
            found.append("")
            continue
        found.append(text or f"⟨{token}⟩")
        waiting = []
    if waiting and decode(waiting):
        found[-1] = decode(waiting)
    return found


def _stores(run: Path) -> list[RolloutStore]:
    folders = sorted((path.parent for path in run.rglob(LINES)), key=lambda path: _numbers(path.name))
    if not folders:
        raise RolloutError(
            f"{run} holds no rollouts: give the folder of a GRPO run with run.keep_rollouts, or one with a "
            f"{LINES}."
        )
    return [RolloutStore(folder) for folder in folders]


def _numbers(name: str) -> list[int]:
    return [int(digits) for digits in _NUMBER.findall(name)]


def _with_episode(run: Path, episode: str) -> Batch:
    """The newest step that has an episode; only one step's tokens are in memory at a time."""
    for store in reversed(_stores(run)):
        if any(isinstance(one, Rollout) and one.episode == episode for one in store.entries()):
            return _batch(store, run)
    raise RolloutError(f"{run} has no episode {episode}: pdb-trainer inspect {run} lists those of a step.")


def _batch(store: RolloutStore, run: Path) -> Batch:
    entries = list(store.entries())
    rollouts = tuple(one for one in entries if isinstance(one, Rollout))
    merged = chains(rollouts)
    scored = [one for one in rollouts if not one.infra_error]
    names = {one.episode for one in scored}
    config = _config(run)
    return Batch(
        name=store.folder.name,
        rollouts=rollouts,
        chains=merged,
        weighed=weigh(
            [row for row in merged.rows if row.episode in names],
            scored,
            version=max((one.version for one in merged.responses), default=0),
            settings=advantage_settings(AlgorithmConfig() if config is None else config.algorithm),
        ),
        bad_lines=tuple(one for one in entries if isinstance(one, BadLine)),
    )


def _config(run: Path) -> GrpoConfig | None:
    """The run's settings, where there are any of GRPO."""
    try:
        written = json.loads((run / RUN_FILE).read_text(encoding="utf-8"))
        return GrpoConfig.model_validate(written["config"])
    except (OSError, ValueError, KeyError, TypeError, ValidationError):
        return None


def _row_view(batch: Batch, row: Row, decode: Decode) -> RowView:
    (rollout,) = (one for one in batch.rollouts if one.episode == row.episode)
    siblings = [one for one in batch.chains.rows if one.episode == row.episode]
    weights = _weights(batch, row)
    texts = pieces(row.token_ids.tolist(), decode)
    return RowView(
        rollout=rollout,
        advantage=batch.weighed.advantages.get(row.episode),
        row=next(number for number, one in enumerate(siblings) if one is row),
        rows=len(siblings),
        tokens=tuple(
            TokenView(
                id=int(row.token_ids[place]),
                text=text,
                trained=bool(row.loss_mask[place]),
                logprob=float(row.old_logprobs[place]),
                version=int(row.version[place]),
                response=int(row.response_id[place]),
                weight=float(weights[place]),
            )
            for place, text in enumerate(texts)
        ),
        turns={
            number: response.turn
            for number, response in enumerate(batch.chains.responses)
            if response.episode == row.episode
        },
    )


def _weights(batch: Batch, row: Row) -> np.ndarray[Any, np.dtype[np.float32]]:
    """A row without weight is not among those that were weighed."""
    for one in batch.weighed.rows:
        if one.episode == row.episode and np.array_equal(one.token_ids, row.token_ids):
            return one.weight
    return row.weight


def _as_numbers(token_ids: Sequence[int]) -> str:
    return "".join(f"⟨{one}⟩" for one in token_ids)
