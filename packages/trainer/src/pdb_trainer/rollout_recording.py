"""An episode's events as a rollout: the ids that were seen and drawn, and what came of them."""

from collections.abc import Iterator, Mapping

import numpy as np
from pdb_agent.episode import Answered, Ended, Episode, Replied
from pdb_agent.messages import CallStatus, Reply, Stop, TokenIds

from pdb_trainer.errors import RolloutError
from pdb_trainer.rollout import IdArray, Rollout, Turn, hash_of_ids

_CUT_OFF = "cut_off"
"""Exit reason of an episode without an end."""


def rollout_of(
    episode: Episode,
    *,
    run: str,
    group: str,
    seed: int,
    rewards: Mapping[str, float],
    hashes: Mapping[str, str],
) -> Rollout:
    """The rollout of an episode whose policy gave the ids of its replies.

    Raises RolloutError where a reply came without its ids.
    """
    started, ended = episode.started, episode.ended
    graded = ended.graded if ended else None
    turns = tuple(_turns(episode))
    return Rollout(
        run=run,
        group=group,
        episode=f"{group}-e{started.number:02d}",
        task=started.task,
        task_hash=started.task_hash,
        seed=seed,
        turns=turns,
        solved=episode.solved,
        exit_reason=ended.reason.value if ended else _CUT_OFF,
        infra_error=not episode.is_valid,
        rewards=dict(rewards),
        tests={each.name: (each.passed, each.total) for each in graded.groups} if graded else {},
        hashes=dict(hashes),
        facts={**_facts(episode), "chain_breaks": float(sum(not turn.continues for turn in turns[1:]))},
    )


def _turns(episode: Episode) -> Iterator[Turn]:
    before: IdArray | None = None
    for event in episode.events:
        if not isinstance(event, Replied):
            continue
        tokens = event.reply.tokens
        if tokens is None:
            raise RolloutError(
                f"Turn {event.turn} of {episode.started.task} has no token ids: record rollouts with a "
                "policy that samples token by token, such as LivePolicy."
            )
        prompt = np.array(tokens.prompt, dtype=np.uint32)
        yield _turn(event.reply, tokens, prompt, before)
        before = np.concatenate([prompt, np.array(tokens.sampled, dtype=np.uint32)])


def _turn(reply: Reply, tokens: TokenIds, prompt: IdArray, before: IdArray | None) -> Turn:
    continues = before is not None and np.array_equal(prompt[: len(before)], before)
    calls = reply.message.calls
    return Turn(
        request_id=reply.request_id,
        version=tokens.version,
        appended_ids=prompt[len(before) :] if before is not None and continues else prompt,
        continues=continues,
        prompt_length=len(prompt),
        prompt_hash=hash_of_ids(prompt),
        sampled_ids=np.array(tokens.sampled, dtype=np.uint32),
        logprobs=np.array(tokens.logprobs, dtype=np.float32),
        finish="length" if reply.stop in (Stop.MAX_TOKENS, Stop.CONTEXT) else "stop",
        parse_error=next((call.error for call in calls if call.error is not None), None),
        calls=len(calls),
        seconds=reply.seconds,
        cached_tokens=reply.usage.cache_read,
    )


def _facts(episode: Episode) -> dict[str, float]:
    statuses = [event.result.status for event in episode.events if isinstance(event, Answered)]
    replies = [event.reply for event in episode.events if isinstance(event, Replied)]
    facts = {
        "tool_calls": float(len(statuses)),
        "tool_errors": float(sum(status is not CallStatus.OK for status in statuses)),
        "malformed_calls": float(statuses.count(CallStatus.MALFORMED)),
        "cut_replies": float(sum(reply.stop in (Stop.MAX_TOKENS, Stop.CONTEXT) for reply in replies)),
        "retries": float(sum(len(reply.attempts) for reply in replies)),
    }
    return facts if episode.ended is None else {**facts, **_measured(episode.ended)}


def _measured(ended: Ended) -> dict[str, float]:
    clock = ended.clock
    return {
        "peak_context": float(ended.peak_context),
        "seconds": clock.total,
        "model_seconds": clock.model,
        "tool_seconds": clock.tools,
        "sandbox_seconds": clock.sandbox,
        "grading_seconds": clock.grading,
    }
