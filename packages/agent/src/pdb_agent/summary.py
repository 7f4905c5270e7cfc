"""One episode in a record that is small enough to keep hundreds of."""

import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from decimal import Decimal

from pdb_agent.behaviour import Behaviour, measure
from pdb_agent.episode import Clock, Episode, ExitReason, FailureClass, Replied, Retried
from pdb_agent.episode_steps import Gold
from pdb_agent.messages import Reply, Usage

Price = Callable[[str, Reply], Decimal | None]
"""What a reply of a policy (``provider/model``) cost in US dollars, None when nobody knows."""
_NO_CLOCK = Clock(total=0.0, model=0.0, tools=0.0, sandbox=0.0, grading=0.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Conditions:
    """Under what an episode was run; equal for all episodes of one arm that can be compared."""

    policy: str
    """As asked for."""
    models: tuple[str, ...]
    """As the server named them."""
    toolset: str
    sampling: str
    """As asked for, JSON."""
    sent: tuple[str, ...]
    """Sampling settings as they were sent, JSON; there are several when a later turn had less room."""
    limits: str
    """JSON."""
    prompt_hash: str
    """Of what is the same for all tasks: with the names of editable files taken out."""
    tools_hash: str
    backend: str
    grading: str
    """The tier; empty without a verdict."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EpisodeSummary:
    """What metrics and reports need of an episode."""

    task: str
    task_hash: str
    group: str
    """Of tasks that are alike; the task itself where nothing else is known."""
    arm: str
    number: int
    preference: str
    difficulty: int
    family: str
    split: str
    began: str
    is_valid: bool
    """Whether it is scored: it ended, and not by infrastructure."""
    solved: bool
    reason: ExitReason | None
    """None for an episode that was cut off."""
    detail: str
    failure: FailureClass | None
    turns: int
    usage: Usage
    peak_context: int
    clock: Clock
    cost: Decimal | None
    """US dollars; None when a reply's price is unknown."""
    retries: int
    """Requests that had to be made again."""
    behaviour: Behaviour
    conditions: Conditions

    @property
    def ending(self) -> str:
        """The exit reason, a guard with its name."""
        if self.reason is None:
            return "cut_off"
        return f"guard({self.detail})" if self.reason is ExitReason.GUARD else self.reason.value

    @property
    def failure_name(self) -> str:
        """The failure class; ``infra`` for what is not scored, and ``solved``."""
        if not self.is_valid:
            return FailureClass.INFRA.value
        return "solved" if self.solved else (self.failure or FailureClass.BROKEN).value

    @property
    def tokens(self) -> int:
        """All tokens that were processed, of all requests."""
        return self.usage.context

    @property
    def has_debugger(self) -> bool:
        """Whether the toolset ever offered a debugger."""
        return self.conditions.toolset in ("debug", "unlock-after-k", "compound")


def summarise(episode: Episode, *, gold: Gold | None = None, price: Price | None = None) -> EpisodeSummary:
    """Measure an episode and keep what is needed of it."""
    started, ended = episode.started, episode.ended
    replies = [event.reply for event in episode.events if isinstance(event, Replied)]
    behaviour = measure(episode, gold)
    usage = ended.usage if ended else sum((reply.usage for reply in replies), Usage())
    retried = sum(isinstance(event, Retried) for event in episode.events)
    return EpisodeSummary(
        task=started.task,
        task_hash=started.task_hash,
        group=started.task,
        arm=started.arm,
        number=started.number,
        preference=started.preference,
        difficulty=started.difficulty,
        family=started.family,
        split=started.split,
        began=started.began,
        is_valid=episode.is_valid,
        solved=episode.is_valid and episode.solved,
        reason=ended.reason if ended else None,
        detail=ended.detail if ended else "",
        failure=ended.failure if ended else None,
        turns=behaviour.turns,
        usage=usage,
        peak_context=ended.peak_context if ended else 0,
        clock=ended.clock if ended else _NO_CLOCK,
        cost=_cost(started.policy, replies, price),
        retries=retried + sum(len(reply.attempts) for reply in replies),
        behaviour=behaviour,
        conditions=_conditions(episode, replies),
    )


def _cost(policy: str, replies: list[Reply], price: Price | None) -> Decimal | None:
    if price is None:
        return None
    total = Decimal(0)
    for reply in replies:
        cost = price(policy, reply)
        if cost is None:
            return None
        total += cost
    return total


def _conditions(episode: Episode, replies: list[Reply]) -> Conditions:
    started, ended = episode.started, episode.ended
    system = started.system
    tools = (*started.tools, *started.later_tools)
    for pattern in started.editable:
        system = system.replace(pattern, "*")
    return Conditions(
        policy=started.policy,
        models=tuple(sorted({reply.model for reply in replies})),
        toolset=started.toolset,
        sampling=json.dumps(asdict(started.sampling), sort_keys=True),
        sent=tuple(sorted({_sent(reply.sent) for reply in replies})),
        limits=json.dumps(dict(started.limits), sort_keys=True),
        prompt_hash=digest(system),
        tools_hash=digest(json.dumps([asdict(tool) for tool in tools], sort_keys=True, default=str)),
        backend=started.backend,
        grading=ended.graded.tier if ended and ended.graded else "",
    )


def _sent(sent: Mapping[str, object]) -> str:
    """What does not differ from turn to turn for lack of room."""
    kept = {name: value for name, value in sent.items() if "max" not in name or "token" not in name}
    return json.dumps(kept, sort_keys=True, default=str)


def digest(text: str) -> str:
    """A short hash that tells versions of a text apart."""
    return hashlib.sha256(text.encode()).hexdigest()[:12]
