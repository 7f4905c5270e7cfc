"""Validation reports as a table for people, and as JSON."""

import json
from collections.abc import Sequence
from dataclasses import asdict

from pdb_agent.validation.rules import RULES
from pdb_agent.validation.validating import TaskReport


def as_table(reports: Sequence[TaskReport]) -> str:
    """A line for each task, the complaints below it, and the rules that were breached."""
    width = max((len(report.id) for report in reports), default=0)
    lines: list[str] = []
    for report in reports:
        lines.append(f"{report.id:{width}}  {report.seconds:6.1f} s  {_outcome(report)}")
        lines += [f"  {complaint.rule}: {complaint.text}" for complaint in report.complaints]
    breached = {complaint.rule for report in reports for complaint in report.complaints}
    if breached:
        lines += ["", "The rules:", *(f"  {rule}: {RULES[rule]}" for rule in RULES if rule in breached)]
    valid = sum(report.is_valid for report in reports)
    lines.append(f"{valid} of {len(reports)} tasks are valid.")
    return "\n".join(lines) + "\n"


def as_json(reports: Sequence[TaskReport]) -> str:
    """A list of objects, one for each task."""
    return (
        json.dumps(
            [
                {
                    "id": report.id,
                    "valid": report.is_valid,
                    "seconds": round(report.seconds, 2),
                    "complaints": [asdict(complaint) for complaint in report.complaints],
                    "stamp": asdict(report.stamp) if report.stamp else None,
                }
                for report in reports
            ],
            indent=2,
        )
        + "\n"
    )


def _outcome(report: TaskReport) -> str:
    if report.is_valid:
        return f"valid, tier {report.stamp.tier}" if report.stamp else "valid"
    return f"{len(report.complaints)} complaints"
