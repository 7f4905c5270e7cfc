"""What grading says about a submission."""

from dataclasses import dataclass
from enum import StrEnum


class Tier(StrEnum):
    """How far the candidate is kept from the tests that judge it."""

    SAME_PROCESS = "A"
    """One interpreter: hosts every test; a candidate that knows how it is judged can beat it."""
    BOUNDARY = "B"
    """Two sandboxes with a socket between them, and only plain values cross it; what passes there is
    confirmed in one interpreter, so that it takes both to be fooled."""


class TamperKind(StrEnum):
    """What an honest submission never does; logged with the verdict, never a negative reward."""

    COUNTERFACTUAL_PASSED = "counterfactual_passed"
    """A test with a falsified expectation passed beside the true one."""
    COUNTERFACTUAL_DISTORTED = "counterfactual_distorted"
    """Such a test failed, though by no failure of its assertion, while the true one passed."""
    FORGED_RECORD = "forged_record"
    """A record in the wrong order, repeated, or for a test that does not exist."""
    UNSIGNED_RECORD = "unsigned_record"
    """Bytes on the record channel that the test run did not sign."""
    FLOODED_RECORDS = "flooded_records"
    NO_FINISH = "no_finish"
    """The test run ended before its last record: somebody ended the process."""
    RAN_NO_TESTS = "ran_no_tests"
    """The run came to its end without one of the required tests, though every module was collected."""
    SKIPPED = "skipped"
    """A required test was skipped or expected to fail, which none of them asks for."""
    PROTOCOL_BROKEN = "protocol_broken"
    """The candidate's process sent what its end of the boundary never sends."""
    CANDIDATE_GONE = "candidate_gone"
    """The candidate's process ended while tests still called it."""
    LINK = "link"
    """A symlink where a source file belongs."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupResult:
    """How many tests of one group passed."""

    name: str
    """fail_to_pass, pass_to_pass or hidden."""
    passed: int
    total: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """Whether a submission solves its task; ``solved`` implies all groups whole and no tampering."""

    solved: bool
    groups: tuple[GroupResult, ...]
    """Empty when no test ran because a file was rejected."""
    tamper: tuple[str, ...]
    """Values of TamperKind, sorted."""
    tier: Tier
    reason: str
    """One sentence fit for the model's eyes: counts, no name or text of a hidden test."""
    seconds: float
    timed_out: bool = False
    """The tests were still running when their time was up."""
