"""The benchmark's session on our own server: what it must tell, within which budgets."""

import sys
from pathlib import Path

import pytest

from bench.floor import Floor, best_rules
from bench.measurements import fresh_program, interpreter, play_workload
from bench.peers.adapter import Place
from bench.peers.ours import Ours, OursOnDebugpy
from bench.raw_client import RawClient
from bench.results import BUDGETS
from bench.shared_workload import BIG_STOP, FIRST_STOP, STEPS, SessionRecord

FRUGAL_CHARACTERS = 20_000
"""A tenth under the most frugal peer measured; the benchmark holds the real ratio."""


@pytest.fixture(scope="module", params=[Ours, OursOnDebugpy], ids=["pdb", "debugpy"])
def record(request: pytest.FixtureRequest) -> SessionRecord:
    if not interpreter("3.11").exists():
        pytest.skip("no Python 3.11 on this machine")
    return play_workload(request.param, "3.11")


def test_every_fact_of_the_shared_session_is_told_without_a_second_question(record: SessionRecord):
    assert record.broken is None
    assert [fact for fact, told in record.facts.items() if not told] == []
    assert record.follow_ups == 0
    assert len(record.step_seconds) == STEPS


def test_every_answer_of_the_shared_session_is_within_its_budget(record: SessionRecord):
    assert {part: size for part, size in record.largest_answer.items() if size > BUDGETS[part]} == {}
    assert record.total_characters < FRUGAL_CHARACTERS


def test_standard_output_of_the_server_carries_protocol_only(record: SessionRecord):
    assert record.stray_lines == 0


@pytest.mark.parametrize("version", ["3.11", "3.12"])
def test_the_floor_agent_visits_the_lines_a_debugger_visits(version: str):
    if not interpreter(version).exists():
        pytest.skip(f"no Python {version} on this machine")
    with fresh_program(version) as program:
        floor = Floor(program, best_rules(version))
        floor.start([FIRST_STOP, BIG_STOP])
        entered, _ = floor.ask("into")
        lines = [floor.ask("over")[0]["line"] for _ in range(9)]
        at_report, _ = floor.ask("continue")
        floor.ask("continue")
        floor.close()
    assert (entered["in"], entered["line"]) == ("handling_charge", 26)
    assert lines == [27, 28, 30, 11, 12, 13, 14, 15, 16]
    assert Place(file=Path(at_report["file"]).name, line=at_report["line"]) == Place(
        file="report.py", line=23
    )


def test_lines_that_are_no_protocol_are_counted_and_skipped(tmp_path: Path):
    server = tmp_path / "chatty.py"
    server.write_text(
        "import json, sys\n"
        "print('a banner', flush=True)\n"
        "for line in sys.stdin:\n"
        "    request = json.loads(line)\n"
        "    if 'id' in request:\n"
        "        print('thinking', flush=True)\n"
        "        print(json.dumps({'jsonrpc': '2.0', 'id': request['id'], 'result': {}}), flush=True)\n",
        encoding="utf-8",
    )
    client = RawClient([sys.executable, str(server)], cwd=tmp_path)
    client.start(10)
    client.close()
    assert client.stray_lines == 2
