"""A report's numbers for programs: one JSON document, and a CSV line for each episode."""

import csv
import io
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from pdb_agent.comparison import Comparison
from pdb_agent.debugger_sessions import Outcome
from pdb_agent.metrics import ArmMetrics
from pdb_agent.report.tables import Table
from pdb_agent.summary import EpisodeSummary

FORMAT = 1


def as_json(arms: Sequence[ArmMetrics], comparisons: Sequence[Comparison], conditions: Table) -> str:
    """All metrics; a number that is not defined is null."""
    run = {
        arm: {row[0]: row[place] for row in conditions.rows}
        for place, arm in enumerate(conditions.columns[1:], start=1)
    }
    document: dict[str, Any] = {
        "format": FORMAT,
        "arms": [asdict(arm) for arm in arms],
        "comparisons": [asdict(one) for one in comparisons],
        "conditions": run,
    }
    return json.dumps(document, indent=1, default=str, allow_nan=False) + "\n"


def as_csv(arms: Mapping[str, Sequence[EpisodeSummary]]) -> str:
    """A header and a line for each episode, those that are not scored too."""
    file = io.StringIO()
    writer: csv.DictWriter[str] | None = None
    for arm, many in arms.items():
        for one in many:
            row = _row(arm, one)
            if writer is None:
                writer = csv.DictWriter(file, list(row), lineterminator="\n")
                writer.writeheader()
            writer.writerow({name: _cell(value) for name, value in row.items()})
    return file.getvalue()


def _row(arm: str, one: EpisodeSummary) -> dict[str, Any]:
    return {
        "arm": arm,
        "task": one.task,
        "number": one.number,
        "policy": one.conditions.policy,
        "toolset": one.conditions.toolset,
        "family": one.family,
        "preference": one.preference,
        "difficulty": one.difficulty,
        "split": one.split,
        "scored": one.is_valid,
        "solved": one.solved,
        "ending": one.ending,
        "failure": "" if one.solved else one.failure_name,
        "turns": one.turns,
        "input_tokens": one.usage.input,
        "cache_read_tokens": one.usage.cache_read,
        "cache_write_tokens": one.usage.cache_write,
        "output_tokens": one.usage.output,
        "reasoning_tokens": one.usage.reasoning,
        "peak_context": one.peak_context,
        "cost": one.cost,
        "seconds": round(one.clock.total, 3),
        "model_seconds": round(one.clock.model, 3),
        "tool_seconds": round(one.clock.tools, 3),
        "retries": one.retries,
        **_debugger(one),
        **_discipline(one),
    }


def _debugger(one: EpisodeSummary) -> dict[str, Any]:
    use, behaviour = one.behaviour.debugger, one.behaviour
    return {
        "debugger_from_turn": behaviour.debugger_from_turn,
        "opened": use.opened,
        "first_open_turn": use.first_open_turn,
        "sessions": use.sessions,
        "debugger_calls": use.calls,
        "targeted_starts": use.targeted_starts,
        "sessions_with_stop": use.sessions_with_stop,
        "empty_runs": use.empty_runs,
        **{f"breakpoints_{outcome}": use.breakpoints[outcome] for outcome in Outcome},
        "inspections": len(use.inspections),
        "undefined_reads": use.undefined_reads,
        "blind_step_runs": use.blind_step_runs,
        "inspection_led_to_edit": behaviour.inspection_led_to_edit,
        "inspection_led_to_edit_strictly": behaviour.inspection_led_to_edit_strictly,
        "witness_before_edit": behaviour.witness_before_edit,
    }


def _discipline(one: EpisodeSummary) -> dict[str, Any]:
    habits, tools = one.behaviour.discipline, one.behaviour.tools.values()
    return {
        "first_edit_turn": habits.first_edit_turn,
        "effective_edits": habits.effective_edits,
        "reverted_edits": habits.reverted_edits,
        "no_change_edits": habits.no_change_edits,
        "reproduced_before_edit": habits.reproduced_before_edit,
        "edited_after_reading": habits.edited_after_reading,
        "retested": habits.retested,
        "false_done": habits.false_done,
        "test_runs": habits.test_runs,
        "repeats": habits.repeats,
        "test_edit_attempts": habits.test_edit_attempts,
        "calls": sum(tool.calls for tool in tools),
        "malformed_calls": sum(tool.malformed for tool in tools),
        "failed_calls": sum(tool.failed for tool in tools),
        "timed_out_calls": sum(tool.timed_out for tool in tools),
        "parser_fallbacks": one.behaviour.parser_fallbacks,
    }


def _cell(value: object) -> object:
    if isinstance(value, bool):
        return int(value)
    return "" if value is None else value
