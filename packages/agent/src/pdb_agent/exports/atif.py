"""Trajectories in the Agent Trajectory Interchange Format (ATIF), version 1.7, as Harbor defines it."""

import json
from collections.abc import Iterable, Iterator
from datetime import datetime, timedelta
from importlib.metadata import version
from pathlib import Path
from typing import Any

from pdb_agent.episode import Episode
from pdb_agent.exports.conversation import (
    Acted,
    Part,
    Spoken,
    arguments_of,
    conversation_of,
    provenance,
    shown_tools,
)
from pdb_agent.exports.writing import episodes_of
from pdb_agent.messages import Call, TokenIds, ToolResult, Usage

SCHEMA_VERSION = "ATIF-v1.7"
SUFFIX = ".trajectory.json"


def export(episode: Episode) -> dict[str, Any]:
    """The trajectory. Raises ExportError for an episode without a turn."""
    started = episode.started
    steps = list(_steps(episode))
    for number, step in enumerate(steps, start=1):
        step["step_id"] = number
    name = f"{started.task}/{started.arm}/{started.number}"
    return {
        "schema_version": SCHEMA_VERSION,
        "session_id": name,
        "trajectory_id": name,
        "agent": {
            "name": "pdb-agent",
            "version": version("pdb-agent"),
            "model_name": started.policy,
            "tool_definitions": shown_tools(episode),
        },
        "steps": steps,
        "final_metrics": _final_metrics(episode, len(steps)),
        "extra": provenance(episode),
    }


def export_files(paths: Iterable[Path], out: Path) -> int:
    """Write a file for each episode's file into the folder ``out``, by arm and task; how many."""
    count = 0
    for episode in episodes_of(paths):
        started = episode.started
        file = out / started.arm / started.task / f"{started.number}{SUFFIX}"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(json.dumps(export(episode), indent=1) + "\n", encoding="utf-8")
        count += 1
    return count


def _steps(episode: Episode) -> Iterator[dict[str, Any]]:
    began = datetime.fromisoformat(episode.started.began)
    yield {"timestamp": began.isoformat(), "source": "system", "message": episode.started.system}
    for part in conversation_of(episode):
        yield {"timestamp": (began + timedelta(seconds=part.at)).isoformat(), **_step(part)}


def _step(part: Part) -> dict[str, Any]:
    match part:
        case Spoken():
            return {"source": "user", "message": part.text, "extra": {"why": part.why}}
        case Acted():
            step: dict[str, Any] = {
                "source": "agent",
                "model_name": part.model,
                "message": part.text,
                "llm_call_count": part.requests,
                "metrics": _metrics(part.usage, part.tokens),
            }
            if part.reasoning:
                step["reasoning_content"] = part.reasoning
            if part.calls:
                step["tool_calls"] = [_call(call) for call in part.calls]
                step["observation"] = {"results": [_result(result) for result in part.results]}
            return step


def _call(call: Call) -> dict[str, Any]:
    shown: dict[str, Any] = {
        "tool_call_id": call.id,
        "function_name": call.name,
        "arguments": dict(arguments_of(call)),
    }
    if call.error is not None:
        shown["extra"] = {"raw": call.raw, "error": call.error}
    return shown


def _result(result: ToolResult) -> dict[str, Any]:
    return {
        "source_call_id": result.call_id,
        "content": result.text,
        "extra": {"status": result.status.value, "seconds": result.seconds},
    }


def _metrics(usage: Usage, tokens: TokenIds | None) -> dict[str, Any]:
    metrics: dict[str, Any] = {
        "prompt_tokens": usage.input + usage.cache_read + usage.cache_write,
        "completion_tokens": usage.output,
        "cached_tokens": usage.cache_read,
        "extra": {"cache_write_tokens": usage.cache_write, "reasoning_tokens": usage.reasoning},
    }
    if tokens is not None:
        metrics |= {
            "prompt_token_ids": list(tokens.prompt),
            "completion_token_ids": list(tokens.sampled),
            "logprobs": list(tokens.logprobs),
        }
    return metrics


def _final_metrics(episode: Episode, steps: int) -> dict[str, Any]:
    """Totals over the turns that are exported."""
    turns = [part for part in conversation_of(episode) if isinstance(part, Acted)]
    usage = sum((turn.usage for turn in turns), Usage())
    return {
        "total_prompt_tokens": usage.input + usage.cache_read + usage.cache_write,
        "total_completion_tokens": usage.output,
        "total_cached_tokens": usage.cache_read,
        "total_steps": steps,
    }
