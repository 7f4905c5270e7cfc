"""Made-up rollouts and rows: whatever a policy and its harness may do to each other's tokens."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from hypothesis import strategies as st
from pdb_agent.episode import ExitReason
from pdb_trainer.reward_facts import RewardFacts
from pdb_trainer.rollout import Rollout, Turn, hash_of_ids
from pdb_trainer.sequences import Row, chains

STOP_ID = 2
IDS = st.integers(min_value=0, max_value=5)
"""Few, so that prompts which differ share long starts by chance."""
LOGPROBS = st.floats(min_value=-20.0, max_value=0.0, width=32)


@dataclass(frozen=True, kw_only=True)
class Exchange:
    """One request as a sampler sees it."""

    prompt: tuple[int, ...]
    sampled: tuple[int, ...]
    logprobs: tuple[float, ...] = ()
    version: str = "policy-v1"


def recorded(exchanges: Sequence[Exchange]) -> tuple[Turn, ...]:
    """The turns that a recording makes of requests."""
    before: tuple[int, ...] = ()
    turns: list[Turn] = []
    for number, one in enumerate(exchanges):
        continues = number > 0 and one.prompt[: len(before)] == before
        appended = one.prompt[len(before) :] if continues else one.prompt
        logprobs = one.logprobs or tuple(-0.5 - 0.01 * place for place in range(len(one.sampled)))
        turns.append(
            Turn(
                request_id=f"r{number}",
                version=one.version,
                appended_ids=np.array(appended, dtype=np.uint32),
                continues=continues,
                prompt_length=len(one.prompt),
                prompt_hash=hash_of_ids(one.prompt),
                sampled_ids=np.array(one.sampled, dtype=np.uint32),
                logprobs=np.array(logprobs, dtype=np.float32),
                finish="stop" if one.sampled[-1:] == (STOP_ID,) else "length",
                parse_error=None,
                calls=1,
                seconds=0.5,
            )
        )
        before = one.prompt + one.sampled
    return tuple(turns)


def rollout_of_turns(
    turns: Sequence[Turn],
    *,
    episode: str = "e0",
    group: str = "g0",
    reward: float = 0.0,
    solved: bool = False,
) -> Rollout:
    return Rollout(
        run="run",
        group=group,
        episode=episode,
        task="cart",
        task_hash="c0ffee",
        seed=7,
        turns=tuple(turns),
        solved=solved,
        exit_reason="done",
        infra_error=False,
        rewards={"outcome": reward},
        tests={"fail_to_pass": (int(solved), 1), "hidden": (3 * solved, 3)},
        hashes={"tokenizer": "aa", "template": "bb"},
    )


def conversation(
    *, first_prompt: int, sampled: Sequence[int], observed: Sequence[int], episode: str = "e0", seed: int = 0
) -> Rollout:
    """An episode that only ever appends: lengths of its first prompt, its replies and what follows each."""
    rng = np.random.default_rng(seed)

    def draw(length: int) -> tuple[int, ...]:
        return tuple(rng.integers(10, 1000, length).tolist())

    prompt, exchanges = draw(first_prompt), list[Exchange]()
    for length, answer in zip(sampled, [*observed, 0], strict=False):
        reply = (*draw(length - 1), STOP_ID)
        exchanges.append(Exchange(prompt=prompt, sampled=reply))
        prompt = prompt + reply + draw(answer)
    return rollout_of_turns(recorded(exchanges), episode=episode)


@st.composite
def exchanges(draw: st.DrawFn) -> list[Exchange]:
    """Requests of one episode; prompts go on, repeat themselves, are cut, or are rewritten somewhere."""
    prompt = tuple(draw(st.lists(IDS, min_size=1, max_size=6)))
    made: list[Exchange] = []
    for _ in range(draw(st.integers(0, 6))):
        sampled = tuple(draw(st.lists(IDS, max_size=4)))
        logprobs = tuple(draw(LOGPROBS) for _ in sampled)
        version = f"policy-v{draw(st.integers(0, 9))}"
        made.append(Exchange(prompt=prompt, sampled=sampled, logprobs=logprobs, version=version))
        prompt = draw(_next_prompt(made))
    return made


@st.composite
def _next_prompt(draw: st.DrawFn, made: list[Exchange]) -> tuple[int, ...]:
    whole = made[-1].prompt + made[-1].sampled
    more = tuple(draw(st.lists(IDS, max_size=3)))
    place = draw(st.integers(0, len(whole) - 1))
    earlier = draw(st.sampled_from(made))
    match draw(st.sampled_from(["goes on", "goes on", "rewritten", "cut", "goes back"])):
        case "rewritten":
            return (*whole[:place], (whole[place] + 1) % 6, *whole[place + 1 :], *more)
        case "cut":
            return whole[: place + 1]
        case "goes back":
            return earlier.prompt + earlier.sampled + more
        case _:
            return whole + more


@st.composite
def rollouts(draw: st.DrawFn, *, max_size: int = 4) -> list[Rollout]:
    """Episodes with names of their own, in one or two groups."""
    many = draw(st.lists(exchanges(), max_size=max_size))
    return [
        replace(
            rollout_of_turns(
                recorded(one),
                episode=f"e{number}",
                group=f"g{draw(st.integers(0, 1))}",
                reward=draw(st.floats(-3, 2)),
            ),
            seed=number,
        )
        for number, one in enumerate(many)
    ]


@st.composite
def rows(draw: st.DrawFn, *, max_rows: int = 8, max_length: int = 12) -> list[Row]:
    """Rows with weights, response ids that are unique among them, and nothing sampled first."""
    lengths = draw(st.lists(st.integers(1, max_length), max_size=max_rows))
    made: list[Row] = []
    response = 0
    for number, length in enumerate(lengths):
        mask = np.array([False, *(draw(st.booleans()) for _ in range(length - 1))], dtype=np.bool_)
        starts = np.diff(mask.astype(np.int8), prepend=np.int8(0)) == 1
        ids = np.where(mask, response - 1 + np.cumsum(starts), -1).astype(np.int32)
        response += int(starts.sum())
        logprobs = np.array([draw(LOGPROBS) for _ in range(length)], dtype=np.float32)
        weight = np.array([draw(st.floats(-2, 2, width=32)) for _ in range(length)], dtype=np.float32)
        made.append(
            Row(
                episode=f"e{number // 2}",
                group="g0",
                token_ids=np.array([draw(IDS) for _ in range(length)], dtype=np.uint32),
                loss_mask=mask,
                old_logprobs=np.where(mask, logprobs, 0).astype(np.float32),
                version=np.where(mask, draw(st.integers(0, 9)), -1).astype(np.int32),
                response_id=ids,
                weight=np.where(mask, weight, 0).astype(np.float32),
            )
        )
    return made


def some_rows() -> tuple[Row, ...]:
    """Three episodes' rows, the same every time."""
    return chains(
        [
            conversation(first_prompt=9, sampled=[4, 3, 5], observed=[6, 2], episode="e0", seed=0),
            conversation(first_prompt=7, sampled=[2, 2], observed=[3], episode="e1", seed=1),
            conversation(first_prompt=12, sampled=[6], observed=[], episode="e2", seed=2),
        ]
    ).rows


SCORED_EXITS = tuple(reason for reason in ExitReason if not reason.is_infrastructure)


@st.composite
def reward_facts(draw: st.DrawFn, *, solved: bool | None = None) -> RewardFacts:
    """Any facts that an episode may have, and some that none has."""
    few = st.integers(0, 12)
    return RewardFacts(
        solved=draw(st.booleans()) if solved is None else solved,
        exit=draw(st.sampled_from(SCORED_EXITS)),
        turns=draw(st.integers(1, 200)),
        progress=draw(st.floats(0, 1)),
        inspected_before_edit=draw(st.booleans()),
        debugger_fits=draw(st.booleans()),
        localised=draw(st.booleans()),
        code_changed=draw(st.booleans()),
        malformed_calls=draw(few),
        repeated_calls=draw(few),
        blind_steps=draw(few),
        test_edits=draw(few),
        idle_edits=draw(few),
        unverified=draw(st.booleans()),
    )
