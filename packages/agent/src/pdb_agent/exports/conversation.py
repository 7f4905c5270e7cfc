"""The conversation of an episode as exports want it: roles take turns, and every call has its result."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from pdb_agent.episode import Answered, Edited, Ended, Episode, Replied, Retried, Said, Started, Unlocked
from pdb_agent.errors import AgentError
from pdb_agent.messages import Call, Reply, Stop, TokenIds, ToolResult, ToolSpec, Usage


class ExportError(AgentError):
    """An episode or a run cannot be exported; the message says what can."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Spoken:
    """Words of the harness."""

    at: float
    text: str
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Acted:
    """One turn of the model with the answers to its calls, in the order of the calls."""

    at: float
    turn: int
    text: str
    reasoning: str
    calls: tuple[Call, ...]
    results: tuple[ToolResult, ...]
    model: str
    usage: Usage
    requests: int
    """More than one where the provider paused."""
    tokens: TokenIds | None


Part = Spoken | Acted


def conversation_of(episode: Episode) -> tuple[Part, ...]:
    """What was said, in order: no two turns of the model, and no two of the harness, follow each other.

    A last turn whose calls were never answered is left out. Raises ExportError when nothing is left.
    """
    builder = _Builder()
    for event in episode.events:
        match event:
            case Said():
                builder.said(event)
            case Replied():
                builder.replied(event)
            case Answered():
                builder.results.append(event.result)
            case Started() | Edited() | Unlocked() | Retried() | Ended():
                pass
    parts = builder.finish()
    if not any(isinstance(part, Acted) for part in parts):
        started = episode.started
        raise ExportError(
            f"{started.task} in {started.arm}, number {started.number}, has no turn of a model to export."
        )
    return parts


def function_tool(tool: ToolSpec) -> dict[str, Any]:
    """A tool as chat completions declare it."""
    function = {"name": tool.name, "description": tool.description, "parameters": dict(tool.schema)}
    return {"type": "function", "function": function}


def shown_tools(episode: Episode) -> list[dict[str, Any]]:
    """Every tool that the model had at some time, as chat completions declare them: once for the whole."""
    return [function_tool(tool) for tool in episode.tools]


def provenance(episode: Episode) -> dict[str, Any]:
    """Where an export comes from and how it came out: counts of tests, no text of a hidden one."""
    started, ended = episode.started, episode.ended
    about: dict[str, Any] = {
        "task": started.task,
        "task_hash": started.task_hash,
        "split": started.split,
        "family": started.family,
        "difficulty": started.difficulty,
        "preference": started.preference,
        "arm": started.arm,
        "toolset": started.toolset,
        "policy": started.policy,
        "number": started.number,
        "solved": episode.solved,
        "exit_reason": ended.reason.value if ended else None,
        "failure": ended.failure.value if ended and ended.failure else None,
    }
    if ended is not None and ended.graded is not None:
        about["tests"] = {group.name: [group.passed, group.total] for group in ended.graded.groups}
    return about


class _Builder:
    def __init__(self) -> None:
        self.results: list[ToolResult] = []
        self._parts: list[Part] = []
        self._replies: list[tuple[Replied, Reply]] = []

    def said(self, event: Said) -> None:
        """Words of the harness, added to those just before."""
        self._close()
        last = self._parts[-1] if self._parts else None
        if isinstance(last, Spoken):
            self._parts[-1] = replace(last, text=f"{last.text}\n\n{event.text}")
        else:
            self._parts.append(Spoken(at=event.at, text=event.text, why=event.why))

    def replied(self, event: Replied) -> None:
        """A reply; one that goes on after a pause is a part of the same turn."""
        if not self._replies or self._replies[-1][1].stop is not Stop.PAUSE:
            self._close()
        self._replies.append((event, event.reply))

    def finish(self) -> tuple[Part, ...]:
        """All parts."""
        self._close()
        return tuple(self._parts)

    def _close(self) -> None:
        """Add the turn at hand, unless its calls were not all answered."""
        replies, results = self._replies, tuple(self.results)
        self._replies, self.results = [], []
        if not replies:
            return
        first, last = replies[0][0], replies[-1][1]
        calls = tuple(call for _, reply in replies for call in reply.message.calls)
        answers = _in_order(calls, results)
        if answers is None:
            return
        acted = Acted(
            at=first.at,
            turn=replies[-1][0].turn,
            text="\n".join(reply.message.text for _, reply in replies if reply.message.text),
            reasoning="\n".join(reply.message.reasoning for _, reply in replies if reply.message.reasoning),
            calls=calls,
            results=answers,
            model=last.model,
            usage=sum((reply.usage for _, reply in replies), Usage()),
            requests=len(replies),
            tokens=last.tokens if len(replies) == 1 else None,
        )
        self._append(acted)

    def _append(self, acted: Acted) -> None:
        last = self._parts[-1] if self._parts else None
        if isinstance(last, Acted) and not last.results:  # nothing came between: one turn, said in two
            acted = replace(
                acted,
                at=last.at,
                text="\n".join(text for text in (last.text, acted.text) if text),
                reasoning="\n".join(text for text in (last.reasoning, acted.reasoning) if text),
                usage=last.usage + acted.usage,
                requests=last.requests + acted.requests,
                tokens=None,
            )
            self._parts.pop()
        self._parts.append(acted)


def _in_order(calls: Sequence[Call], results: Sequence[ToolResult]) -> tuple[ToolResult, ...] | None:
    """A result for each call, or None when one is missing; the loop answers in the order of the calls."""
    if len(results) != len(calls):
        return None
    return tuple(results)


def arguments_of(call: Call) -> Mapping[str, Any]:
    """The arguments of a call that parses; none for one that does not."""
    return call.arguments if call.arguments is not None and call.error is None else {}
