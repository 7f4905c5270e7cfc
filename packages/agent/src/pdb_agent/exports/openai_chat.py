"""OpenAI chat JSONL: one conversation a line, with its tools, as chat completions and fine-tuning take it."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from pdb_agent.episode import Episode
from pdb_agent.exports.conversation import Acted, Spoken, conversation_of, shown_tools
from pdb_agent.exports.writing import write_jsonl
from pdb_agent.messages import Call
from pdb_agent.policies.call_parsing import replayable_arguments
from pdb_agent.policies.wire import as_json


def export(episode: Episode) -> dict[str, Any]:
    """One line. Raises ExportError for an episode without a turn."""
    messages: list[dict[str, Any]] = [{"role": "system", "content": episode.started.system}]
    for part in conversation_of(episode):
        match part:
            case Spoken():
                messages.append({"role": "user", "content": part.text})
            case Acted():
                messages.extend(_turn(part))
    return {"messages": messages, "tools": shown_tools(episode), "parallel_tool_calls": True}


def export_files(paths: Iterable[Path], out: Path) -> int:
    """Write a line for each episode's file; how many."""
    return write_jsonl(paths, out, export)


def _turn(part: Acted) -> Sequence[dict[str, Any]]:
    message: dict[str, Any] = {"role": "assistant", "content": part.text or (None if part.calls else "")}
    if part.calls:
        message["tool_calls"] = [
            {
                "id": call.id,
                "type": "function",
                "function": {"name": call.name, "arguments": _arguments(call)},
            }
            for call in part.calls
        ]
    answers = [
        {"role": "tool", "tool_call_id": result.call_id, "content": result.text} for result in part.results
    ]
    return [message, *answers]


def _arguments(call: Call) -> str:
    """The model's own text where it parses."""
    if call.arguments is not None and call.raw.strip():
        return call.raw
    return as_json(replayable_arguments(call))
