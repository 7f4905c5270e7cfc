"""Follows the program under the debugger through the answers of its tools, as the model could."""

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

from pdb_agent.messages import CallStatus, ToolResult
from pdb_agent.viewer import debugger_words as words
from pdb_agent.viewer.facts import BoundBreakpoint, Facts, read_facts
from pdb_agent.viewer.records import Breakpoint, Debugging, Look, Place, Value
from pdb_agent.viewer.visible_text import visible

READING_TOOLS = frozenset(
    {
        "add_breakpoint",
        "examine_locals",
        "list_breakpoints",
        "list_sessions",
        "print_variable",
        "read_output",
        "remove_breakpoint",
        "run_expression",
        "send_input",
        "set_variable",
        "watch",
        "where_am_i",
    }
)
"""Tools of the debugger after which the program stands where it stood."""
_ASKED = {"print_variable": "path", "run_expression": "code", "set_variable": "path"}
_LIBRARY = re.compile(r"/lib/python3\.\d+/|/site-packages/")
_FrameKey = tuple[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Heard:
    """What there is to see after a call, one entry per stop; ``is_debugger`` when it was the debugger's."""

    states: tuple[Debugging, ...]
    is_debugger: bool


class DebuggerFollower:
    """Takes each call of an episode in order."""

    def __init__(self, paths: Collection[str]) -> None:
        self._paths = paths
        self._forget()

    def hear(self, arguments: Mapping[str, Any], result: ToolResult) -> Heard:
        """What there is to see after this call."""
        if self._is_over:
            self._forget()
        facts = read_facts(result.facts)
        if result.name == "stop_debugger" and result.status is CallStatus.OK:
            self._forget()
            return Heard(states=(self._state,), is_debugger=True)
        if facts.session_id is None:
            return Heard(states=(self._state,), is_debugger=False)
        if result.name == "investigate":
            return Heard(states=self._table(arguments, result, facts), is_debugger=True)
        if facts.session_id != self._session:
            self._forget()
            self._session = facts.session_id
            self._folder = words.started_in(result.text)
        self._follow(arguments, result, facts)
        return Heard(states=(self._state,), is_debugger=True)

    def _forget(self) -> None:
        self._session: str | None = None
        self._folder = ""
        self._state = Debugging()
        self._conditions: dict[int, str] = {}
        self._values: dict[_FrameKey, dict[str, Value]] = {}
        self._callers: dict[_FrameKey, Place] = {}
        self._is_over = False

    def _follow(self, arguments: Mapping[str, Any], result: ToolResult, facts: Facts) -> None:
        text = visible(result.text)
        if (condition := words.condition_in(text)) is not None:
            self._conditions[condition[0]] = condition[1]
        where = self._place(facts)
        moves = result.name not in READING_TOOLS
        if moves:
            self._clear_marks()
        if where is not None:
            self._learn(where, arguments, result, text)
        looks = () if moves else self._state.looks
        self._state = Debugging(
            state=facts.state or "stopped",
            reason=facts.reason,
            where=where,
            notes=_notes(text) if moves else self._state.notes,
            breakpoints=self._breakpoints(facts),
            values=tuple(self._values.get(_key(where), {}).values()) if where else (),
            looks=looks + _looks(arguments, result, text),
            stack=self._stack(where) if where else (),
        )

    def _learn(self, where: Place, arguments: Mapping[str, Any], result: ToolResult, text: str) -> None:
        """Take in names and callers that the text tells of."""
        key = _key(where)
        if result.name == "examine_locals":
            if not arguments.get("frame"):
                known = self._values.get(key, {})
                listed = {
                    name: replace(known.get(name, Value(name=name, value="")), value=value)
                    for name, value in words.names_in(text)
                }
                self._values[key] = listed | {name: known[name] for name in known if name not in listed}
            return
        if result.name == "where_am_i":
            frames = tuple(self._inside(frame) for frame in words.frames_in(text))
            for inner, outer in pairwise(frames):
                self._callers[_key(inner)] = outer
            return
        if (caller := words.called_from(text)) is not None:
            self._callers[key] = self._inside(caller)
        self._change(key, words.changes_in(text))

    def _change(self, key: _FrameKey, changes: words.Changes) -> None:
        known = self._values.setdefault(key, {})
        if any(name in known for name, _ in changes.new):  # what is there cannot be new: another frame
            known.clear()
        for name, value in changes.new:
            known[name] = Value(name=name, value=value, mark="new")
        for name, old, new in changes.changed:
            known[name] = Value(name=name, value=new, was=old, mark="changed")
        for name in changes.gone:
            known.pop(name, None)

    def _clear_marks(self) -> None:
        for known in self._values.values():
            for name, value in known.items():
                known[name] = Value(name=name, value=value.value)

    def _table(self, arguments: Mapping[str, Any], result: ToolResult, facts: Facts) -> tuple[Debugging, ...]:
        """One state per stop of a table of values; the session is over with it."""
        self._is_over = True
        if condition := arguments.get("condition"):
            self._conditions = {one.id: visible(str(condition)) for one in facts.breakpoints}
        expressions = [str(one) for one in arguments.get("expressions") or ()]
        breakpoints = self._breakpoints(facts)
        states: list[Debugging] = []
        for stop in words.table_stops(visible(result.text), expressions):
            hit = next((one for one in breakpoints if one.line == stop.line), None)
            where = Place(path=hit.path, line=stop.line, function=stop.function) if hit else None
            states.append(
                Debugging(
                    state="stopped",
                    reason="breakpoint",
                    where=where,
                    breakpoints=tuple(replace(one, is_hit=one is hit) for one in breakpoints),
                    looks=stop.looks,
                    stack=(where,) if where else (),
                )
            )
        self._state = states[-1] if states else Debugging(state="exited", breakpoints=breakpoints)
        return tuple(states) or (self._state,)

    def _place(self, facts: Facts) -> Place | None:
        at = facts.location
        if at is None:
            return None
        return self._inside(Place(path=at.file, line=at.line, function=at.function))

    def _breakpoints(self, facts: Facts) -> tuple[Breakpoint, ...]:
        fared = {verdict.id: verdict.explanation for verdict in facts.verdicts}
        return tuple(
            Breakpoint(
                number=one.id,
                path=self._relative(one.file),
                line=one.line,
                condition=self._conditions.get(one.id, ""),
                note=_breakpoint_note(one, fared.get(one.id)),
                is_hit=one.id in facts.breakpoint_ids,
            )
            for one in facts.breakpoints
        )

    def _stack(self, where: Place) -> tuple[Place, ...]:
        stack, seen = [where], {_key(where)}
        while (caller := self._callers.get(_key(stack[-1]))) is not None and _key(caller) not in seen:
            seen.add(_key(caller))
            stack.append(caller)
        return tuple(stack)

    def _inside(self, place: Place) -> Place:
        return replace(place, path=self._relative(place.path), function=visible(place.function))

    def _relative(self, file: str) -> str:
        """The path in the workspace; a file of somewhere else keeps its name."""
        parts = file.lstrip("/").split("/")
        for count in range(len(parts)):
            path = "/".join(parts[count:])
            folder = file[: len(file) - len(path)].rstrip("/")
            if path in self._paths and self._is_around(folder, file):
                return path
        return visible(file)

    def _is_around(self, folder: str, file: str) -> bool:
        """Whether ``folder`` can be the workspace."""
        if self._folder and folder:
            return f"{self._folder}/".startswith(f"{folder}/")
        return not _LIBRARY.search(file)


def _key(place: Place) -> _FrameKey:
    return place.path, place.function


def _notes(text: str) -> tuple[str, ...]:
    titles = ("raised: ", "returned: ", "the program exited", "the program was ended", "its condition raised")
    return tuple(line for line in text.split("\n") if line.startswith(titles))


def _looks(arguments: Mapping[str, Any], result: ToolResult, text: str) -> tuple[Look, ...]:
    """What was asked to be seen: one expression, or the names of a frame further out."""
    asked = _ASKED.get(result.name)
    if asked is not None:
        failed = result.status is not CallStatus.OK
        expression = visible(str(arguments.get(asked, "")))
        answer = words.answer_of(text).removeprefix(f"{expression} = ")
        return (Look(expression=expression, value=answer, failed=failed),)
    if result.name == "examine_locals" and arguments.get("frame"):
        lines = [f"{name} = {value}" for name, value in words.names_in(text)]
        return (Look(expression=f"frame {arguments['frame']}", value="\n".join(lines)),)
    return ()


def _breakpoint_note(one: BoundBreakpoint, explanation: str | None) -> str:
    if explanation is not None:
        return f"never fired: {visible(explanation)}"
    return "moved to the next executable line" if one.is_moved else ""
