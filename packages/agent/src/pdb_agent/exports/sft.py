"""Messages to learn from by imitation: one conversation a line, for chat templates with tools.

Arguments are objects, as templates want them, reasoning travels as ``reasoning_content``, and each turn of
the model says by ``train`` whether to learn it: a turn with a call that does not parse is context only.
Where a policy has kept its tokens, ``tokens`` holds them for each turn, exact.
"""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from pdb_agent.episode import Episode
from pdb_agent.exports.conversation import Acted, Spoken, conversation_of, provenance, shown_tools
from pdb_agent.exports.writing import write_jsonl
from pdb_agent.messages import TokenIds
from pdb_agent.policies.call_parsing import replayable_arguments


def export(episode: Episode) -> dict[str, Any]:
    """One line. Raises ExportError for an episode without a turn."""
    messages: list[dict[str, Any]] = [{"role": "system", "content": episode.started.system}]
    tokens: list[dict[str, Any] | None] = []
    for part in conversation_of(episode):
        match part:
            case Spoken():
                messages.append({"role": "user", "content": part.text})
            case Acted():
                messages.extend(_turn(part))
                tokens.append(_tokens(part.tokens))
    line: dict[str, Any] = {"messages": messages, "tools": shown_tools(episode)}
    if any(tokens):
        line["tokens"] = tokens
    return line | {"metadata": provenance(episode)}


def export_files(paths: Iterable[Path], out: Path) -> int:
    """Write a line for each episode's file; how many."""
    return write_jsonl(paths, out, export)


def _turn(part: Acted) -> Sequence[dict[str, Any]]:
    message: dict[str, Any] = {"role": "assistant", "content": part.text}
    if part.reasoning:
        message["reasoning_content"] = part.reasoning
    if part.calls:
        message["tool_calls"] = [
            {
                "id": call.id,
                "type": "function",
                "function": {"name": call.name, "arguments": dict(replayable_arguments(call))},
            }
            for call in part.calls
        ]
    message["train"] = all(call.error is None and call.arguments is not None for call in part.calls)
    answers = [
        {"role": "tool", "tool_call_id": result.call_id, "name": result.name, "content": result.text}
        for result in part.results
    ]
    return [message, *answers]


def _tokens(tokens: TokenIds | None) -> dict[str, Any] | None:
    if tokens is None:
        return None
    return {
        "prompt": list(tokens.prompt),
        "sampled": list(tokens.sampled),
        "logprobs": list(tokens.logprobs),
        "version": tokens.version,
    }
