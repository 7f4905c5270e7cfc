"""Short words for calls and replies."""

import json
from collections.abc import Mapping
from typing import Any, cast

from pdb_agent.messages import Reply, Stop
from pdb_agent.viewer.records import CallView, Debugging
from pdb_agent.viewer.visible_text import visible

_TELLING = (
    "path",
    "file_path",
    "command",
    "at",
    "where",
    "code",
    "expression",
    "target",
    "tests",
    "op",
    "cursor",
)
"""Arguments that say best what a call is about, the best first."""
_SUMMARY_CHARS = 72


def summary_of(name: str, arguments: Mapping[str, Any]) -> str:
    """The call on one line: its name and the argument that says most."""
    telling = next((arguments[key] for key in _TELLING if arguments.get(key)), "")
    if isinstance(telling, list):
        telling = ", ".join(map(str, telling))  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType] - JSON
    line = " ".join(visible(f"{name} {telling}").split())
    return line if len(line) <= _SUMMARY_CHARS else f"{line[: _SUMMARY_CHARS - 1]}…"


def argument_texts(arguments: Mapping[str, Any]) -> tuple[tuple[str, str], ...]:
    """Each argument as text: a string as it is, strings on a line each, anything else as JSON."""
    return tuple((visible(name), visible(_text(value))) for name, value in arguments.items())


def label_of(title: str, call: CallView, state: Debugging | None) -> str:
    """One sentence for those who listen."""
    parts = [f"Turn {title}: {call.summary}"]
    if call.status != "ok":
        parts.append(call.status.replace("_", " "))
    if state is not None and state.where is not None:
        where = state.where
        parts.append(f"{state.state} at {where.path} line {where.line} in {where.function}")
    elif state is not None and state.state != "none":
        parts.append(state.state)
    return ", ".join(parts)


def notes_of(reply: Reply) -> tuple[str, ...]:
    """What is unusual about a reply."""
    notes = [
        f"asked again after {attempt.waited_seconds:g} s: {visible(attempt.error)}"
        for attempt in reply.attempts
    ]
    match reply.stop:
        case Stop.MAX_TOKENS:
            notes.append("The reply was cut off at its length limit.")
        case Stop.REFUSAL:
            notes.append("The model refused.")
        case Stop.CONTEXT:
            notes.append("The conversation was longer than the model takes.")
        case Stop.END | Stop.CALLS | Stop.PAUSE:
            pass
    if reply.parser_fallback:
        notes.append("Its calls were found in the text.")
    notes += [f"{visible(call.name)}: {visible(call.error)}" for call in reply.message.calls if call.error]
    return tuple(notes)


def _text(value: object) -> str:
    if isinstance(value, str) and value:
        return value
    if isinstance(value, list) and value and all(isinstance(one, str) for one in cast("list[Any]", value)):
        return "\n".join(cast("list[str]", value))
    return json.dumps(value, ensure_ascii=False, default=str)
