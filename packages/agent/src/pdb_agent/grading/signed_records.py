"""Read the signed records of a test run; whatever is unsigned or out of order is tampering."""

import hmac
import json
from dataclasses import dataclass
from typing import Any

from pdb_agent.grading.suite import PhaseRecord
from pdb_agent.grading.verdict import TamperKind


@dataclass(frozen=True, slots=True, kw_only=True)
class SignedReport:
    """The records of a run whose signature and place in the sequence are right."""

    started: bool
    failure: str | None
    """Why the run could not start, in the script's words."""
    phases: tuple[PhaseRecord, ...]
    finished: bool
    collection_errors: int
    """Test modules that could not be imported."""
    tamper: frozenset[TamperKind]


def read_signed(report: bytes, key: bytes) -> SignedReport:
    """Check and parse a report; never raises."""
    tamper: set[TamperKind] = set()
    records: list[dict[str, Any]] = []
    for line in report.split(b"\n"):
        if not line:
            continue
        signature, _, body = line.partition(b" ")
        if not hmac.compare_digest(signature, hmac.new(key, body, "sha256").hexdigest().encode()):
            tamper.add(TamperKind.UNSIGNED_RECORD)
            continue
        record = json.loads(body)
        if record["number"] != len(records):
            tamper.add(TamperKind.FORGED_RECORD)
            break
        records.append(record)
    return SignedReport(
        started=any("started" in record for record in records),
        failure=next((str(record["failed"]) for record in records if "failed" in record), None),
        phases=tuple(_phase(record) for record in records if "test" in record),
        finished=any("finish" in record for record in records),
        collection_errors=sum(int(record.get("collection_errors", 0)) for record in records),
        tamper=frozenset(tamper),
    )


def _phase(record: dict[str, Any]) -> PhaseRecord:
    return PhaseRecord(
        test=str(record["test"]),
        when=str(record["when"]),
        outcome=str(record["outcome"]),
        expected_failure=bool(record["expected_failure"]),
        by_assertion=bool(record["by_assertion"]),
    )
