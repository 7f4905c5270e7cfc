"""One session with a debugger as its answers told it: what became of its breakpoints, how it ended."""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, cast

from pdb_agent.episode_steps import Step

_BOUND = re.compile(r"^(?:breakpoint|log point) (\d+) at ", re.MULTILINE)
_CONDITION_RAISED = re.compile(r"^its condition raised ", re.MULTILINE)
_LOGGED = re.compile(r"^log (\d+): ", re.MULTILINE)
_ROW_LINE = re.compile(r"^stop \d+: line (\d+) in ", re.MULTILINE)
_NEVER_LOADED = "never imported"
_RUNS_ON = frozenset({"continue_execution", "run_to", "investigate"})
_RUNS_ON_IF_ASKED = frozenset({"start_debugger", "restart_debugger"})


class Outcome(StrEnum):
    """What became of one request for a breakpoint."""

    REJECTED = "rejected"
    """No such file, line or function."""
    MOVED = "moved"
    """Bound to another line, and the program stopped there."""
    UNBOUND = "unbound"
    """Its module was never loaded."""
    UNREACHED = "unreached"
    """Bound, and not once stopped at."""
    CONDITION_ERROR = "condition_error"
    HIT = "hit"


@dataclass(slots=True, kw_only=True)
class _Request:
    number: int | None
    """The breakpoint's; None for a request that was rejected."""
    is_moved: bool = False


class Session:
    """Takes in the calls of one session, its start first."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.calls = -1  # the start is not counted
        self.empty_runs = 0
        self.is_closed = False
        self._requests: list[_Request] = []
        self._stopped_at: set[int] = set()
        self._fired: set[int] = set()
        self._condition_raised: set[int] = set()
        self._never_loaded: set[int] = set()
        self._has_stopped_in_run = False
        self._has_ended = False

    @property
    def has_stopped(self) -> bool:
        """Whether the program ever stopped at a breakpoint."""
        return bool(self._stopped_at)

    @property
    def moved(self) -> int:
        """Requests that were bound to another line."""
        return sum(request.is_moved for request in self._requests)

    def take(self, step: Step) -> None:
        """The next call."""
        self.calls += 1
        facts = step.result.facts
        self._note_requests(step)
        if step.name == "restart_debugger" and step.is_ok:
            self._has_ended = self._has_stopped_in_run = False
        self._note_stop(step, facts)
        self._note_end(step, facts)
        if step.name == "investigate" or (step.name == "stop_debugger" and step.is_ok):
            self.calls += step.name == "investigate"
            self.is_closed = True

    def outcomes(self) -> list[Outcome]:
        """Of each request, in order."""
        return [self._outcome(request) for request in self._requests]

    def _outcome(self, request: _Request) -> Outcome:
        number = request.number
        if number is None:
            return Outcome.REJECTED
        if number in self._condition_raised:
            return Outcome.CONDITION_ERROR
        if number in self._fired:
            return Outcome.MOVED if request.is_moved else Outcome.HIT
        return Outcome.UNBOUND if number in self._never_loaded else Outcome.UNREACHED

    def _note_requests(self, step: Step) -> None:
        bound = _records(step.result.facts.get("breakpoints"))
        if step.name == "add_breakpoint":
            found = _BOUND.match(step.result.text) if step.is_ok else None
            self._request(int(found[1]) if found else None, bound)
        elif step.name in ("start_debugger", "investigate"):
            free = list(bound)
            for at in texts_of(step.arguments.get("breakpoints")):
                match = next((one for one in free if one.get("at") == at), None)
                if match is not None:
                    free.remove(match)
                self._request(cast("int", match["id"]) if match else None, bound)

    def _request(self, number: int | None, bound: Sequence[Mapping[str, Any]]) -> None:
        is_moved = any(one.get("id") == number and one.get("is_moved") for one in bound)
        self._requests.append(_Request(number=number, is_moved=is_moved))

    def _note_stop(self, step: Step, facts: Mapping[str, Any]) -> None:
        numbers = {int(number) for number in facts.get("breakpoint_ids") or ()}
        if step.name == "investigate":
            lines = {int(line) for line in _ROW_LINE.findall(step.result.text)}
            numbers |= {
                int(one["id"]) for one in _records(facts.get("breakpoints")) if one.get("line") in lines
            }
        self._stopped_at |= numbers
        self._fired |= numbers
        if step.is_debugger and step.is_ok and step.name != "run_expression":
            self._fired |= {int(number) for number in _LOGGED.findall(step.result.text)}
        if numbers or facts.get("reason") in ("post_mortem", "exception"):
            self._has_stopped_in_run = True
        if _CONDITION_RAISED.search(step.result.text):
            self._condition_raised |= numbers

    def _note_end(self, step: Step, facts: Mapping[str, Any]) -> None:
        if facts.get("state") not in ("exited", "failed") or self._has_ended:
            return
        self._has_ended = True
        for verdict in _records(facts.get("verdicts")):
            if verdict.get("hit_count"):
                self._fired.add(int(verdict["id"]))
            elif _NEVER_LOADED in str(verdict.get("explanation")):
                self._never_loaded.add(int(verdict["id"]))
        ran_on = step.name in _RUNS_ON or (step.name in _RUNS_ON_IF_ASKED and _is_set(step, "run"))
        self.empty_runs += ran_on and not self._has_stopped_in_run


def texts_of(value: object) -> list[str]:
    """An argument that is a list of places or words, as models write it: a list, one text, or JSON.

    Of a place with arguments of its own, the place.
    """
    if isinstance(value, str):
        try:
            value = json.loads(value) if value.strip().startswith("[") else [value]
        except ValueError:
            value = [value]
    if not isinstance(value, list | tuple):
        return []
    items = cast("Sequence[object]", value)
    return [
        str(cast("Mapping[str, object]", item).get("at", "")) if isinstance(item, Mapping) else str(item)
        for item in items
    ]


def _is_set(step: Step, name: str) -> bool:
    return str(step.arguments.get(name, False)).lower() == "true"


def _records(value: object) -> list[Mapping[str, Any]]:
    if not isinstance(value, list | tuple):
        return []
    items = cast("Sequence[object]", value)
    return [cast("Mapping[str, Any]", item) for item in items if isinstance(item, Mapping)]
