"""Examples of a corpus as rows for the learner, and a replay pack of them for a step."""

import random
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from pdb_trainer.advantage import weigh_equally
from pdb_trainer.corpus.commands import tokenizer_hashes
from pdb_trainer.corpus.example import Example, Part
from pdb_trainer.corpus.store import read_examples, read_manifest, refuse_other_hashes
from pdb_trainer.packing import Microbatch, pack
from pdb_trainer.sequences import Row


def examples_for(model: Path, corpus: Path, part: Part) -> list[Example]:
    """A part of a corpus that was tokenised for the model in a folder. Raises CorpusError, LeakageError."""
    refuse_other_hashes(read_manifest(corpus), tokenizer_hashes(model))
    return read_examples(corpus, part=part)


def row_of(example: Example) -> Row:
    """An example's tokens, all of one response; their weight is for a batch to say."""
    trained = example.trained.copy()
    trained[:1] = False  # nothing predicts a row's first token
    return Row(
        episode=example.id,
        group=example.task,
        token_ids=example.token_ids,
        loss_mask=trained,
        old_logprobs=np.zeros(len(trained), dtype=np.float32),
        version=np.where(trained, np.int32(0), np.int32(-1)),
        response_id=np.where(trained, np.int32(0), np.int32(-1)),
        weight=np.zeros(len(trained), dtype=np.float32),
    )


def replay_pack(
    examples: Sequence[Example], successes: Sequence[Row], *, tokens: int, share: float, seed: str
) -> Microbatch | None:
    """One microbatch of at most ``tokens`` to imitate: up to ``share`` of it successes, the rest examples.

    What is taken is drawn by ``seed``; weights add up to 1. None where nothing fits.
    """
    draw = random.Random(seed)
    chosen = _fitting(successes, int(tokens * share), draw)
    left = tokens - sum(len(row.token_ids) for row in chosen)
    chosen += _fitting([row_of(example) for example in examples], left, draw)
    packing = pack(weigh_equally(chosen), max_tokens=tokens)
    return packing.microbatches[0] if packing.microbatches else None


def _fitting(rows: Sequence[Row], room: int, draw: random.Random) -> list[Row]:
    """Rows in a random order, as long as they fit."""
    order = list(range(len(rows)))
    draw.shuffle(order)
    chosen: list[Row] = []
    for index in order:
        length = len(rows[index].token_ids)
        if length <= room and rows[index].loss_mask.any():
            chosen.append(rows[index])
            room -= length
    return chosen
