"""What a run of a suite in one of the tiers comes to."""

from collections.abc import Mapping
from dataclasses import dataclass

from pdb_agent.grading.verdict import TamperKind


@dataclass(frozen=True, slots=True, kw_only=True)
class TierRun:
    """Which tests passed, by their ids in the suite, and what was tampered with."""

    passed: Mapping[str, bool]
    tamper: frozenset[TamperKind]
    timed_out: bool
