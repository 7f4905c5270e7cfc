"""When an episode has to end: budgets and guards, as a state machine without clock or I/O."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, fields
from decimal import Decimal

from pdb_agent.episode import ExitReason
from pdb_agent.messages import Call, CallStatus, Reply, Stop, ToolResult, Usage

CHARS_PER_TOKEN = 3.0
"""For text that no provider has counted yet; few languages and little code are below."""
LEAST_OUTPUT_TOKENS = 256
"""Less room than this is no room for a turn."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EpisodeLimits:
    """What one episode may use; None is without bound."""

    turns: int = 50
    context_tokens: int = 30_000
    wall_seconds: float | None = 1800.0
    output_tokens: int | None = None
    """Of all turns together."""
    cost: Decimal | None = None
    """US dollars."""
    format_errors: int = 3
    """Turns in a row in which no call parses."""
    repeats: int = 4
    """Equal calls with equal results in a row, the one that nudges included."""
    debugger_streak: int = 20
    """Debugger calls in a row without a look at the source, a test or an edit."""
    idle_turns: int = 15
    """Turns in a row that bring nothing that was not seen before."""

    def as_numbers(self) -> dict[str, float | None]:
        """For the record."""
        values = {one.name: getattr(self, one.name) for one in fields(self)}
        return {name: None if value is None else float(value) for name, value in values.items()}


@dataclass(frozen=True, slots=True, kw_only=True)
class Exit:
    """The end, and why."""

    reason: ExitReason
    detail: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Nudge:
    """Something to tell the model before it goes on; the next time it is an end."""

    guard: str
    text: str


_NUDGES = {
    "repeat": "You made this exact call several times and the answer does not change. Try something else: "
    "look elsewhere, edit the program, or finish.",
    "debugger_streak": "You have made many debugger calls in a row. Say what they showed, then act on it: "
    "edit the program and run the tests.",
    "idle": "The last turns brought nothing new. Decide on the most likely cause, edit it, run the tests.",
}


class LimitKeeper:
    """Follows one episode and says when it has to end."""

    def __init__(self, limits: EpisodeLimits, debugger_tools: frozenset[str]) -> None:
        self._limits = limits
        self._debugger_tools = debugger_tools
        self.turns = 0
        self.usage = Usage()
        self.peak_context = 0
        self.cost: Decimal | None = Decimal(0)
        self._context = 0
        self._uncounted_chars = 0
        self._format_errors = 0
        self._last_call = ""
        self._repeats = 0
        self._debugger_streak = 0
        self._seen: set[str] = set()
        self._idle_turns = 0
        self._nudged: set[str] = set()

    @property
    def context_tokens(self) -> int:
        """Tokens that the conversation holds, the newest results estimated."""
        return self._context + int(self._uncounted_chars / CHARS_PER_TOKEN)

    def room(self, max_output_tokens: int) -> int:
        """Tokens that the next reply may have."""
        return min(max_output_tokens, self._limits.context_tokens - self.context_tokens)

    def said(self, text: str) -> None:
        """Something was added to the conversation that no reply has counted yet."""
        self._uncounted_chars += len(text)

    def before_turn(self, elapsed_seconds: float) -> Exit | None:
        """Why there can be no further turn, or None."""
        limits = self._limits
        if self.turns >= limits.turns:
            return Exit(reason=ExitReason.TURN_CAP, detail=f"{limits.turns} turns")
        if self.room(LEAST_OUTPUT_TOKENS) < LEAST_OUTPUT_TOKENS:
            return Exit(reason=ExitReason.CONTEXT, detail=f"{self.context_tokens} tokens")
        if limits.wall_seconds is not None and elapsed_seconds >= limits.wall_seconds:
            return Exit(reason=ExitReason.WALL_TIME, detail=f"{limits.wall_seconds:g} s")
        if limits.output_tokens is not None and self.usage.output >= limits.output_tokens:
            return Exit(reason=ExitReason.TOKEN_BUDGET, detail=f"{self.usage.output} output tokens")
        if limits.cost is not None and self.cost is not None and self.cost >= limits.cost:
            return Exit(reason=ExitReason.COST_BUDGET, detail=f"{self.cost} USD")
        return None

    def after_reply(self, reply: Reply, cost: Decimal | None) -> Exit | None:
        """Take in a reply; an end if it is one by itself."""
        self.turns += 1
        self.spend(reply, cost)
        if reply.stop is Stop.REFUSAL:
            return Exit(reason=ExitReason.REFUSAL)
        if reply.stop is Stop.CONTEXT:
            return Exit(reason=ExitReason.CONTEXT, detail="the model's own limit")
        calls = reply.message.calls
        is_malformed = (bool(calls) and all(call.error for call in calls)) or (
            not calls and reply.stop is Stop.MAX_TOKENS
        )
        self._format_errors = self._format_errors + 1 if is_malformed else 0
        if self._format_errors >= self._limits.format_errors:
            return Exit(reason=ExitReason.FORMAT_LIMIT, detail=f"{self._format_errors} turns in a row")
        return None

    def spend(self, reply: Reply, cost: Decimal | None) -> None:
        """Count what a reply used, also one that is no turn of its own."""
        self.usage += reply.usage
        self.cost = None if self.cost is None or cost is None else self.cost + cost
        self._context, self._uncounted_chars = reply.usage.context, 0
        self.peak_context = max(self.peak_context, self._context)

    def after_results(
        self, calls: Sequence[Call], results: Sequence[ToolResult], *, edited: bool
    ) -> Nudge | Exit | None:
        """Take in the results of a turn; a guard that sees a degenerate episode nudges once, then ends it."""
        is_new = edited
        for call, result in zip(calls, results, strict=True):
            self.said(result.text)
            key = json.dumps([call.name, call.raw, result.text])
            self._repeats = self._repeats + 1 if key == self._last_call else 1
            self._last_call = key
            is_new |= key not in self._seen and result.status is CallStatus.OK
            self._seen.add(key)
            if call.name in self._debugger_tools:
                self._debugger_streak += 1
            else:
                self._debugger_streak = 0
        self._idle_turns = 0 if is_new else self._idle_turns + 1
        return self._guard()

    def _guard(self) -> Nudge | Exit | None:
        limits = self._limits
        states = (
            ("repeat", self._repeats >= limits.repeats),
            ("debugger_streak", self._debugger_streak >= limits.debugger_streak),
            ("idle", self._idle_turns >= limits.idle_turns),
        )
        for guard, is_on in states:
            if not is_on:
                continue
            if guard in self._nudged:
                return Exit(reason=ExitReason.GUARD, detail=guard)
            self._nudged.add(guard)
            self._repeats = self._debugger_streak = self._idle_turns = 0
            self.said(_NUDGES[guard])
            return Nudge(guard=guard, text=_NUDGES[guard])
        return None
