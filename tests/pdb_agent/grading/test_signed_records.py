import hmac
import json

from pdb_agent.grading.signed_records import read_signed
from pdb_agent.grading.suite import PhaseRecord, passed_tests
from pdb_agent.grading.verdict import TamperKind

KEY = b"k" * 64
PHASE = {"outcome": "passed", "expected_failure": False, "by_assertion": False}


def signed(*records: dict[str, object], first: int = 0, key: bytes = KEY) -> bytes:
    lines: list[bytes] = []
    for number, record in enumerate(records, first):
        body = json.dumps({"number": number, **record}).encode()
        lines.append(hmac.new(key, body, "sha256").hexdigest().encode() + b" " + body + b"\n")
    return b"".join(lines)


def test_a_run_is_read_from_its_start_to_its_finish() -> None:
    report = read_signed(
        signed(
            {"started": "9"}, {"test": "a", "when": "call", **PHASE}, {"finish": 0, "collection_errors": 2}
        ),
        KEY,
    )
    assert (report.started, report.finished, report.collection_errors) == (True, True, 2)
    assert [record.test for record in report.phases] == ["a"]
    assert report.tamper == frozenset()


def test_a_record_signed_with_another_key_is_no_record() -> None:
    report = read_signed(signed({"started": "9"}) + signed({"finish": 0}, first=1, key=b"x"), KEY)
    assert not report.finished
    assert report.tamper == {TamperKind.UNSIGNED_RECORD}


def test_a_changed_record_is_no_record() -> None:
    assert not read_signed(signed({"started": "9"}).replace(b'"9"', b'"8"'), KEY).started


def test_a_repeated_record_ends_the_reading() -> None:
    line = signed({"started": "9"})
    report = read_signed(line + line + signed({"finish": 0}, first=1), KEY)
    assert not report.finished
    assert report.tamper == {TamperKind.FORGED_RECORD}


def test_a_record_left_out_ends_the_reading() -> None:
    report = read_signed(signed({"started": "9"}) + signed({"finish": 0}, first=2), KEY)
    assert not report.finished
    assert report.tamper == {TamperKind.FORGED_RECORD}


def test_noise_and_an_unfinished_line_are_unsigned() -> None:
    assert read_signed(b"noise\n" + signed({"started": "9"})[:-30], KEY).tamper == {
        TamperKind.UNSIGNED_RECORD
    }


def test_a_test_passes_only_with_its_three_phases_in_order_and_each_once() -> None:
    def ran(*phases: str, outcome: str = "passed", expected: bool = False) -> bool:
        records = [
            PhaseRecord(test="t", when=when, outcome=outcome, expected_failure=expected) for when in phases
        ]
        return passed_tests(records)["t"]

    assert ran("setup", "call", "teardown")
    assert not ran("setup", "call")
    assert not ran("setup", "teardown")
    assert not ran("setup", "call", "call", "teardown")
    assert not ran("setup", "call", "teardown", outcome="skipped")
    assert not ran("setup", "call", "teardown", expected=True)
