"""Rollouts come back from the disk as they went there, whatever happened in between."""

import json
import resource
import signal
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import fields, replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from pdb_trainer.errors import RolloutError
from pdb_trainer.packing import pack
from pdb_trainer.rollout import Rollout, Turn
from pdb_trainer.rollout_store import LINES, TOKENS, BadLine, RolloutStore
from pdb_trainer.sequences import chains

from tests.pdb_trainer.strategies import conversation, rollouts

ROOT = Path(__file__).parents[2]
WRITER = """
import sys
from pathlib import Path
from pdb_trainer.rollout_store import RolloutStore
from tests.pdb_trainer.strategies import conversation
store = RolloutStore(Path(sys.argv[1]))
for number in range(100_000):
    one = conversation(first_prompt=20, sampled=[5, 6], observed=[7], episode=f"e{number}", seed=number)
    store.append(one)
    print(number, flush=True)
"""


def some(number: int = 0) -> Rollout:
    return conversation(first_prompt=20, sampled=[5, 6], observed=[7], episode=f"e{number}", seed=number)


def assert_equal(many: Sequence[Rollout], others: Sequence[Rollout]) -> None:
    assert [replace(one, turns=()) for one in many] == [replace(one, turns=()) for one in others]
    for one, other in zip(many, others, strict=True):
        for turn, again in zip(one.turns, other.turns, strict=True):
            for field in fields(Turn):
                value, back = getattr(turn, field.name), getattr(again, field.name)
                if isinstance(value, np.ndarray):
                    assert value.dtype == back.dtype
                    assert value.tolist() == back.tolist()
                else:
                    assert value == back


@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(rollouts())
def test_rollouts_come_back_equal_and_in_order(tmp_path_factory: pytest.TempPathFactory, many: list[Rollout]):
    store = RolloutStore(tmp_path_factory.mktemp("store"))
    for one in many:
        store.append(one)
    assert_equal(store.read() if many else [], many)


def test_a_line_tells_people_what_happened(tmp_path: Path):
    one = replace(some(), rewards={"outcome": -1.0, "turns": -0.28}, facts={"peak_context": 40.0})
    RolloutStore(tmp_path).append(one)
    (line,) = (tmp_path / LINES).read_text(encoding="utf-8").splitlines()
    told = json.loads(line)
    assert (told["format"], told["episode"], told["reward"]) == (1, "e0", -1.28)
    assert told["turns"][1]["sampled"] == 6
    assert (tmp_path / TOKENS / told["tokens"]).exists()


def test_what_was_read_back_trains_as_what_was_written(tmp_path: Path):
    many = [some(0), some(1), some(2)]
    store = RolloutStore(tmp_path)
    for one in many:
        store.append(one)
    now, then = (pack(chains(given).rows, max_tokens=64).microbatches for given in (many, store.read()))
    for one, other in zip(now, then, strict=True):
        for field in fields(one):
            assert np.array_equal(getattr(one, field.name), getattr(other, field.name))


def test_odd_names_and_texts_survive(tmp_path: Path):
    one = replace(some(), episode="run/α: 1", facts={"ratio": float("inf")})
    hostile = replace(one.turns[0], parse_error="no JSON: \ud800 \x00 “")
    store = RolloutStore(tmp_path)
    store.append(replace(one, turns=(hostile, *one.turns[1:])))
    (back,) = store.read()
    assert (back.episode, back.facts) == (one.episode, one.facts)
    assert back.turns[0].parse_error == "no JSON: \ufffd \x00 “"


def test_the_same_episode_run_again_keeps_the_tokens_of_both(tmp_path: Path):
    store = RolloutStore(tmp_path)
    again = replace(some(1), episode="e0")
    store.append(some(0))
    store.append(again)
    assert_equal(store.read(), [some(0), again])


@pytest.mark.parametrize(
    ("bad", "reason"),
    [
        ("{", "Invalid JSON"),
        ('{"format": 1}', "run: Field required"),
        (None, "format: Input should be 1"),
    ],
)
def test_a_bad_line_is_named_and_the_others_stay_readable(tmp_path: Path, bad: str | None, reason: str):
    store = RolloutStore(tmp_path)
    for number in range(3):
        store.append(some(number))
    lines = (tmp_path / LINES).read_text(encoding="utf-8").splitlines()
    lines[1] = lines[1].replace('"format":1', '"format":2') if bad is None else bad
    (tmp_path / LINES).write_text("\n".join(lines) + "\n", encoding="utf-8")
    with pytest.raises(RolloutError, match=f"line 2: {reason}"):
        store.read()
    assert_equal(store.read(skip_bad=True), [some(0), some(2)])
    (entry,) = [entry for entry in store.entries() if isinstance(entry, BadLine)]
    assert entry.line == 2


@pytest.mark.parametrize("harm", ["gone", "cut", "another's", "another's of as many turns"])
def test_tokens_that_are_not_the_line_s_make_it_a_bad_line(tmp_path: Path, harm: str):
    store = RolloutStore(tmp_path)
    store.append(some(0))
    sampled = [5, 7] if "turns" in harm else [3]
    store.append(conversation(first_prompt=20, sampled=sampled, observed=[7], episode="e1"))
    first, second = (
        tmp_path / TOKENS / json.loads(line)["tokens"]
        for line in (tmp_path / LINES).read_text(encoding="utf-8").splitlines()
    )
    match harm:
        case "gone":
            first.unlink()
        case "cut":
            first.write_bytes(first.read_bytes()[:200])
        case _:
            first.write_bytes(second.read_bytes())
    with pytest.raises(RolloutError, match="line 1"):
        store.read()
    assert [one.episode for one in store.read(skip_bad=True)] == ["e1"]


def test_a_line_that_was_cut_off_is_left_out_and_written_over(tmp_path: Path):
    store = RolloutStore(tmp_path)
    store.append(some(0))
    with (tmp_path / LINES).open("ab") as file:
        file.write(b'{"format":1,"run":"r' + b"x" * 70_000)
    assert_equal(store.read(), [some(0)])
    store.append(some(1))
    assert_equal(store.read(), [some(0), some(1)])


def test_a_full_disk_is_an_error_and_leaves_what_was_there(tmp_path: Path):
    store = RolloutStore(tmp_path)
    for number in range(4):
        store.append(some(number))
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, ((tmp_path / LINES).stat().st_size + 10, hard))
    try:
        with pytest.raises(RolloutError, match="Episode e4 cannot be written to"):
            store.append(some(4))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert_equal(store.read(), [some(number) for number in range(4)])
    store.append(some(4))
    assert_equal(store.read(), [some(number) for number in range(5)])


def test_a_folder_without_rollouts_says_so(tmp_path: Path):
    with pytest.raises(RolloutError, match="There are no rollouts in"):
        RolloutStore(tmp_path / "nowhere").read()


@pytest.mark.slow
@pytest.mark.parametrize("written", [1, 12])
def test_a_killed_writer_leaves_whole_rollouts_only_and_another_goes_on(tmp_path: Path, written: int):
    writer = subprocess.Popen(
        [sys.executable, "-c", WRITER, str(tmp_path)], cwd=ROOT, stdout=subprocess.PIPE, text=True
    )
    assert writer.stdout is not None
    for _ in range(written):
        writer.stdout.readline()
    writer.send_signal(signal.SIGKILL)
    writer.communicate(timeout=10)
    store = RolloutStore(tmp_path)
    found = store.read()
    assert len(found) >= written
    assert_equal(found, [some(number) for number in range(len(found))])
    store.append(some(99))
    assert_equal(store.read()[-1:], [some(99)])
