"""What happened in an episode: events, appended to a file as they happen, and read back.

``metrics``, ``behaviour``, ``report``, ``viewer`` and a trainer's corpus read only these.
One episode is one JSONL file: ``Started`` first, ``Ended`` last. A file without an end is
an episode that was cut off, and is run again.
"""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import Field, TypeAdapter, ValidationError

from pdb_agent.errors import AgentError
from pdb_agent.messages import Reply, ToolResult, ToolSpec, Usage
from pdb_agent.policy import Sampling


class EpisodeFileError(AgentError):
    """A file is no episode; the message names the line."""


class ExitReason(StrEnum):
    """Why an episode ended; exactly one."""

    DONE = "done"
    NO_CALL_END = "no_call_end"
    TURN_CAP = "turn_cap"
    CONTEXT = "context"
    TOKEN_BUDGET = "token_budget"
    COST_BUDGET = "cost_budget"
    WALL_TIME = "wall_time"
    GUARD = "guard"
    """A process guard, named in the detail."""
    REFUSAL = "refusal"
    FORMAT_LIMIT = "format_limit"
    PROVIDER_FATAL = "provider_fatal"
    SANDBOX = "sandbox"
    GRADER = "grader"

    @property
    def is_infrastructure(self) -> bool:
        """True for ends that say nothing of the model: run again, never scored."""
        return self in (ExitReason.PROVIDER_FATAL, ExitReason.SANDBOX, ExitReason.GRADER)


class FailureClass(StrEnum):
    """What is the matter with an episode that did not solve its task; the first that fits."""

    INFRA = "infra"
    NEVER_EDIT = "never_edit"
    """No editable file was ever changed in content."""
    BROKEN = "broken"
    """The final sources do not import or do not parse."""
    TEST_TIMEOUT = "test_timeout"
    VISIBLE_FAIL = "visible_fail"
    REGRESSION = "regression"
    HIDDEN_FAIL = "hidden_fail"


@dataclass(frozen=True, slots=True, kw_only=True)
class Started:
    """The first event: what was to be done, with what."""

    task: str
    task_hash: str
    preference: str
    difficulty: int
    family: str
    split: str
    fail_to_pass: tuple[str, ...]
    editable: tuple[str, ...]
    arm: str
    toolset: str
    policy: str
    number: int
    """Of the repetition, from 0."""
    sampling: Sampling
    limits: Mapping[str, float | None]
    system: str
    tools: tuple[ToolSpec, ...]
    """Those that there are from the start."""
    backend: str
    began: str
    """UTC, ISO 8601."""
    files: Mapping[str, str]
    """The workspace as the model finds it."""
    later_tools: tuple[ToolSpec, ...] = ()
    """Those that may appear in the course of the episode: ``Unlocked`` says when they did."""
    event: Literal["started"] = "started"
    format: Literal[1] = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """The harness said something to the model: the task, or a nudge."""

    at: float
    """Seconds since the start, here and below."""
    text: str
    why: str
    """task, or the guard or rule that nudges."""
    event: Literal["said"] = "said"


@dataclass(frozen=True, slots=True, kw_only=True)
class Replied:
    """The model replied: one turn."""

    at: float
    turn: int
    """From 1."""
    reply: Reply
    event: Literal["replied"] = "replied"


@dataclass(frozen=True, slots=True, kw_only=True)
class Answered:
    """A call was answered."""

    at: float
    turn: int
    arguments: Mapping[str, Any] | None
    result: ToolResult
    event: Literal["answered"] = "answered"


@dataclass(frozen=True, slots=True, kw_only=True)
class Edited:
    """A file of the workspace changed in content, by whatever tool."""

    at: float
    turn: int
    call_id: str
    path: str
    is_editable: bool
    """Whether grading takes this file from the workspace."""
    diff: str
    """Unified."""
    event: Literal["edited"] = "edited"


@dataclass(frozen=True, slots=True, kw_only=True)
class Unlocked:
    """Tools appeared, by the call that is answered next."""

    at: float
    turn: int
    tools: tuple[str, ...]
    """Their names; what they are is in ``Started``."""
    event: Literal["unlocked"] = "unlocked"


@dataclass(frozen=True, slots=True, kw_only=True)
class Retried:
    """A request to the provider failed and is made again."""

    at: float
    turn: int
    error: str
    wait_seconds: float
    event: Literal["retried"] = "retried"


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupCount:
    """Tests of one group that passed in grading."""

    name: str
    passed: int
    total: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Graded:
    """What grading said; absent for an episode that ended by infrastructure."""

    solved: bool
    groups: tuple[GroupCount, ...]
    tamper: tuple[str, ...]
    tier: str
    reason: str
    seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Clock:
    """Where the time of an episode went, in seconds."""

    total: float
    model: float
    tools: float
    sandbox: float
    """Starting and ending it."""
    grading: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Ended:
    """The last event."""

    at: float
    reason: ExitReason
    detail: str
    turns: int
    failure: FailureClass | None
    """None when the task is solved."""
    graded: Graded | None
    usage: Usage
    peak_context: int
    """Most tokens that the conversation held."""
    clock: Clock
    final: Mapping[str, str] = field(default_factory=dict[str, str])
    """Editable files as they were at the end."""
    event: Literal["ended"] = "ended"


Event = Started | Said | Replied | Answered | Edited | Unlocked | Retried | Ended
_EVENT: TypeAdapter[Event] = TypeAdapter(Annotated[Event, Field(discriminator="event")])


@dataclass(frozen=True, slots=True, kw_only=True)
class Episode:
    """An episode, whole: read from its file."""

    started: Started
    events: tuple[Event, ...]
    """All but the first and the last."""
    ended: Ended | None

    @property
    def tools(self) -> tuple[ToolSpec, ...]:
        """Every tool that the model had at some time."""
        appeared = {name for event in self.events if isinstance(event, Unlocked) for name in event.tools}
        later = (tool for tool in self.started.later_tools if tool.name in appeared)
        return (*self.started.tools, *later)

    @property
    def solved(self) -> bool:
        """Whether grading said so."""
        return self.ended is not None and self.ended.graded is not None and self.ended.graded.solved

    @property
    def is_valid(self) -> bool:
        """Whether it counts: it came to an end that says something of the model."""
        return self.ended is not None and not self.ended.reason.is_infrastructure


class EpisodeLog:
    """Appends events to a file, each whole and at once; ``path`` None keeps them in memory only."""

    def __init__(self, path: Path | None) -> None:
        self._file = None if path is None else path.open("xb", buffering=0)
        self.events: list[Event] = []

    def append(self, event: Event) -> None:
        """Append one event. Raises OSError, a full disk for instance."""
        self.events.append(event)
        if self._file is not None:
            line = _EVENT.dump_json(event) + b"\n"
            written = 0
            while written < len(line):
                written += self._file.write(line[written:])

    def close(self, *, durable: bool = False) -> None:
        """Close the file; ``durable`` waits until it is on the disk. Idempotent."""
        if self._file is not None and not self._file.closed:
            if durable:
                os.fsync(self._file.fileno())
            self._file.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()


def read_episode(path: Path) -> Episode:
    """Read an episode's file; a last line that was cut off is left out. Raises EpisodeFileError."""
    lines = path.read_bytes().split(b"\n")
    whole = lines[:-1]  # what follows the last newline was cut off
    events: list[Event] = []
    for number, line in enumerate(whole, start=1):
        try:
            events.append(_EVENT.validate_json(line))
        except ValidationError as error:
            raise EpisodeFileError(
                f"{path}, line {number} is no event of an episode ({error.errors()[0]['msg']}): "
                "delete the file to run the episode again."
            ) from error
    return assemble(events, path)


def assemble(events: Sequence[Event], source: Path | str) -> Episode:
    """An episode of its events. Raises EpisodeFileError when the first one is no start."""
    first = events[0] if events else None
    if not isinstance(first, Started):
        raise EpisodeFileError(f"{source} does not begin with a start: it is no episode.")
    last = events[-1]
    ended = last if isinstance(last, Ended) else None
    return Episode(started=first, events=tuple(events[1:-1] if ended else events[1:]), ended=ended)
