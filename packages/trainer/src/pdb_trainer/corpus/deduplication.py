"""Examples that say nothing new: the same tokens, or the same edits once more."""

import hashlib
import json

import numpy as np
from numpy.typing import NDArray
from pdb_agent.episode import Edited

from pdb_trainer.corpus.gates import Conduct


def token_key(token_ids: NDArray[np.uint32], trained: NDArray[np.bool_]) -> str:
    """Tells examples apart by their tokens and by what of them is trained."""
    digest = hashlib.sha256(np.asarray(token_ids, dtype="<u4").tobytes())
    digest.update(np.packbits(trained).tobytes())
    return digest.hexdigest()


def edits_key(conduct: Conduct) -> str:
    """Tells whole episodes apart by what they change, in order: nearly equal ones share it.

    Layout does not count, nor what was looked at or said in between.
    """
    started = conduct.episode.started
    changes = [_change(edit) for step in conduct.steps for edit in step.effective_edits]
    told = json.dumps([started.task_hash, started.toolset, changes])
    return hashlib.sha256(told.encode()).hexdigest()


def _change(edit: Edited) -> list[str]:
    lines = [line for line in edit.diff.splitlines() if not line.startswith(("---", "+++", "@@"))]
    changed = [line[0] + " ".join(line[1:].split()) for line in lines if line.startswith(("-", "+"))]
    return [edit.path, *changed]
