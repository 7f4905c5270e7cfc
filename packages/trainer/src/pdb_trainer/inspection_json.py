"""What a run learned from, as JSON for other programs."""

import json
from typing import Any

from pdb_trainer.inspecting import Batch, RowView, TokenView
from pdb_trainer.rollout import Rollout
from pdb_trainer.sequences import Break


def batch_as_json(batch: Batch) -> str:
    """One object: the groups with their episodes, and how well they were merged."""
    return json.dumps(
        {
            "step": batch.name,
            "tokens": batch.chains.tokens,
            "rows": len(batch.chains.rows),
            "merge_compression_ratio": batch.chains.merge_compression_ratio,
            "breaks": {cause.value: batch.chains.breaks[cause] for cause in Break},
            "bad_lines": [{"line": one.line, "reason": one.reason} for one in batch.bad_lines],
            "groups": [
                {
                    "group": name,
                    "task": members[0].task,
                    "episodes": [
                        _episode_json(one, batch.weighed.advantages.get(one.episode)) for one in members
                    ],
                }
                for name, members in batch.groups.items()
            ],
        },
        ensure_ascii=False,
    )


def row_as_json(view: RowView) -> str:
    """One object: the episode, and every token with all that is known of it."""
    return json.dumps(
        {
            **_episode_json(view.rollout, view.advantage),
            "group": view.rollout.group,
            "task": view.rollout.task,
            "row": view.row,
            "rows": view.rows,
            "tokens": [_token_json(one, view) for one in view.tokens],
        },
        ensure_ascii=False,
    )


def _episode_json(rollout: Rollout, advantage: float | None) -> dict[str, Any]:
    return {
        "episode": rollout.episode,
        "seed": rollout.seed,
        "solved": rollout.solved,
        "exit_reason": rollout.exit_reason,
        "turns": len(rollout.turns),
        "sampled_tokens": rollout.sampled_tokens,
        "reward": rollout.reward,
        "rewards": dict(rollout.rewards),
        "advantage": advantage,
    }


def _token_json(token: TokenView, view: RowView) -> dict[str, Any]:
    said: dict[str, Any] = {"id": token.id, "text": token.text, "trained": token.trained}
    if not token.trained:
        return said
    return said | {
        "logprob": token.logprob,
        "version": token.version,
        "response": token.response,
        "turn": view.turns[token.response],
        "weight": token.weight,
    }
